#!/usr/bin/env python3
"""Checks the house rules of docs/internals/style.md: layers, sizes, bans, formatting.

    tools/tidy.py            all tracked and new files; a line a finding, exit 1 if there are any
    tools/tidy.py --layers   prints the table of layers as a Mermaid diagram

The rules are tested on small texts by tools/tidy_test.py.
"""

import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINES_MAX, LINES_REASON, FUNCTION_LINES_MAX, COLUMNS_MAX = 700, 400, 70, 100

# Exceptions: (file, rule) with a reason. May only shrink.
EXCEPTIONS = {}

# Pattern, what to use instead, folders (under src/) where it is allowed.
BANS = [
    (r"\bthrow\b(?!\s*\()", "return fail(...): weir throws nothing", ()),
    (r"\busing namespace\b", "name what you use", ()),
    (r"\bstd::(cout|cerr)\b", "os/log.h, or std::fputs in cmd/", ()),
    (r"\bstd::regex\b", "PCRE2 with limits (tokenizer/), never a backtracking engine without", ()),
    (r"\b(rand|srand)\s*\(|std::random_device|std::mt19937", "base/random.h", ()),
    (r"\bgetenv\s*\(", "os/environment.h, and pass the value on", ("os", "base")),
    (
        r"\bstd::this_thread::sleep|\b(usleep|nanosleep|sleep)\s*\(",
        "wait for the event",
        ("threads",),
    ),
    (
        r"\bsystem_clock::now|\bsteady_clock::now|\bclock_gettime\s*\(|\bgettimeofday\s*\(",
        "os/clock.h, and pass the time on",
        ("os", "net"),
    ),
    (r"\bassert\s*\(", "CHECK, which stays on in release builds", ()),
    (r"-ffast-math", "it drops NaN checks and flushes denormals of the whole process", ()),
    (
        r"\bstd::(thread|jthread|mutex|condition_variable|shared_mutex)\b",
        "threads/ (os/ for signals)",
        ("threads", "os", "engine", "net", "metrics", "cmd", "api", "bench"),
    ),
    (r"\bTODO\b(?!\(#\d+\))", "TODO(#issue), or do it", ()),
    (r"\bgoto\b", "a function", ()),
]

# Library headers and the only places that may include them.
LIBRARIES = [
    (r"boost/(asio|beast)|openssl/ssl", ("src/net/",)),
    (r"boost/json", ("src/base/json.cpp",)),
    (r"yaml-cpp/", ("src/config/yaml.cpp",)),
    (r"spdlog/|fmt/", ("src/os/log.cpp",)),
    (r"pcre2", ("src/tokenizer/",)),
    (r"xgrammar/", ("src/grammar/",)),
    (r"nlohmann/", ()),
]


def read_layers(text):
    """{folder: set of allowed folders or headers}"""
    layers = {"base": set()}
    for line in text.splitlines():
        match = re.match(r"^([a-z_]+):(.*)$", line)
        if match:
            layers[match[1]] = set(match[2].split())
    return layers


def include_allowed(layers, path, target):
    """May src file `path` ("kv/block_pool.cpp") include "target" ("base/check.h")?"""
    folder, name = path.split("/", 1)
    goal, goal_name = target.split("/", 1)
    is_core = folder == "engine" and name.startswith("engine_core")
    if is_core and goal == "engine":
        return goal_name.startswith("engine_core")
    if goal in (folder, "base"):
        return True
    allowed = layers["engine_core" if is_core else folder]
    if name.endswith(("_test.cpp", "_bench.cpp")) and goal in ("os", "model"):
        return True  # Tests may read files and models.
    return (
        goal in allowed
        or target in allowed
        or (goal == "engine" and "engine_core" in allowed and goal_name.startswith("engine_core"))
    )


def strip_comments_and_strings(line):
    line = re.sub(r'"(\\.|[^"\\])*"', '""', line)
    line = re.sub(r"'(\\.|[^'\\])'", "''", line)
    return re.sub(r"//.*", "", line)


def check_includes(path, text, layers):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#include "([a-z_]+/[^"]+)"', line)
        if match and not match[1].endswith(".def"):
            if not include_allowed(layers, path, match[1]):
                yield number, f"includes {match[1]}: tools/layers.txt does not allow it"
        match = re.match(r"\s*#include [<\"]([^>\"]+)[>\"]", line)
        if match:
            for pattern, places in LIBRARIES:
                if re.match(pattern, match[1]) and not any(
                    ("src/" + path).startswith(p) for p in places
                ):
                    yield number, f"includes <{match[1]}>: only {', '.join(places) or 'nobody'} may"


def check_bans(path, text):
    folder = path.split("/", 1)[0]
    for number, line in enumerate(text.splitlines(), 1):
        code = strip_comments_and_strings(line)
        todo = re.search(r"\bTODO\b(?!\(#\d+\))", line)
        if todo:
            yield number, "TODO without an issue number: TODO(#issue), or do it"
        for pattern, instead, allowed in BANS:
            if "TODO" not in pattern and folder not in allowed and re.search(pattern, code):
                yield number, f"banned: {pattern} - use {instead}"


def check_sizes(path, text):
    lines = text.splitlines()
    if len(lines) > LINES_MAX:
        yield 1, f"{len(lines)} lines, at most {LINES_MAX}"
    elif len(lines) > LINES_REASON:
        head = "\n".join(lines[:12])
        if "Longer than" not in head:
            yield 1, (
                f"{len(lines)} lines: above {LINES_REASON} the first comment says why "
                "('Longer than 400 lines: ...')"
            )
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS_MAX and "://" not in line and 'R"' not in line:
            yield number, f"{len(line)} columns, at most {COLUMNS_MAX}"


def check_functions(text):
    """Length of functions, by the formatting: head ... {, body, } at the head's indentation."""
    lines = text.splitlines()
    head_start = None
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        stripped = line.strip()
        if not line.rstrip().endswith("{") or indent not in (0, 3, 4, 8):
            continue
        head_start = number
        while (
            head_start > 0
            and lines[head_start - 1].strip()
            and not re.search(r"[;{}:]\s*$", lines[head_start - 1])
        ):
            head_start -= 1
        head = " ".join(lines[head_start : number + 1])
        if re.search(
            r"\b(namespace|class|struct|enum|union|extern|switch|if|for|while|else|do)\b\s*[\w(:{]",
            head,
        ) and not re.search(r"\)\s*(const|noexcept|override|->[^{]*)*\s*{$", head):
            continue
        if re.match(
            r"\s*(if|for|while|switch|else|do|namespace|class|struct|enum|union|extern)\b", stripped
        ):
            continue
        if "(" not in head or re.search(r"=\s*{$", head):
            continue
        for end in range(number + 1, len(lines)):
            if lines[end].rstrip() in (" " * indent + "}", " " * indent + "};", " " * indent + "});"):
                if end - head_start + 1 > FUNCTION_LINES_MAX:
                    yield head_start + 1, (
                        f"function of {end - head_start + 1} lines, "
                        f"at most {FUNCTION_LINES_MAX}"
                    )
                break


def check_regions(text):
    """Inside WEIR_TARGET_BEGIN..END: no includes and no objects with constructors at namespace scope."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("WEIR_TARGET_BEGIN"):
            inside = True
        elif line.startswith("WEIR_TARGET_END"):
            inside = False
        elif inside and line.startswith("#include") and ".inc" not in line:
            yield number, "an include inside a target region would compile library code for that ISA"
        elif inside and re.match(r"(static )?(const )?std::(string|vector|map)\b[^()]*[;={]", line):
            yield number, "an object with a constructor inside a target region would run on every CPU"


def check_awaits(text):
    for number, line in enumerate(text.splitlines(), 1):
        match = re.search(r"co_await\b(.*)", line)
        if match and re.search(r"[A-Z]\w*{|\[[^\]]*\]\s*[({]", match[1]):
            yield number, "g++ 12 destroys temporaries of co_await twice: name the argument first"


def check_text(path, text):
    """Any tracked text file."""
    for number, line in enumerate(text.splitlines(), 1):
        if re.search(r"(^|[\s\"'(=`])/(work|farm)/|/tmp/bash_jobs", line) and "tidy" not in path:
            yield number, "a path of one machine"
        if line != line.rstrip() and not path.endswith((".md", ".txt", ".json")):
            yield number, "blanks at the end"


def check_file(path, text, layers):
    """All findings of one file; `path` from the root."""
    yield from check_text(path, text)
    if path.startswith("src/") and path.endswith((".h", ".cpp")):
        inner = path[len("src/") :]
        yield from check_includes(inner, text, layers)
        yield from check_bans(inner, text)
        yield from check_sizes(inner, text)
        yield from check_functions(text)
        yield from check_regions(text)
        yield from check_awaits(text)
        if path.endswith(".h") and not text.lstrip().startswith(("#pragma once", "//")):
            yield 1, "a header begins with #pragma once"
    elif path.startswith(("tests/", "tools/")) and path.endswith((".py", ".js")):
        yield from check_sizes(path, text)


def check_format(files):
    if not shutil.which("clang-format"):
        yield "clang-format", 0, "not installed: make setup"
        return
    run = subprocess.run(
        ["clang-format", "--dry-run", "-Werror", "--ferror-limit=1", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    for line in run.stderr.splitlines():
        match = re.match(r"([^:]+):(\d+):\d+: error", line)
        if match:
            yield match[1], int(match[2]), "clang-format would change this (make format)"


def diagram(layers):
    lines = ["graph TD"]
    for folder, allowed in layers.items():
        for goal in sorted(allowed):
            lines.append(f"    {folder} --> {goal.split('/')[0]}")
    return "\n".join(dict.fromkeys(lines))


def tracked_files():
    run = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in run.stdout.splitlines() if (ROOT / name).is_file()]


def main():
    layers = read_layers((ROOT / "tools/layers.txt").read_text())
    if "--layers" in sys.argv:
        print(diagram(layers))
        return 0
    findings, sources, sizes = [], [], []
    for name in tracked_files():
        try:
            text = (ROOT / name).read_text()
        except UnicodeDecodeError:
            continue
        if name.startswith("src/") and name.endswith((".h", ".cpp")):
            sources.append(name)
            sizes.append(len(text.splitlines()))
        for number, message in check_file(name, text, layers):
            findings.append((name, number, message))
    findings += check_format(sources)
    findings = [f for f in findings if (f[0], f[2].split(":")[0]) not in EXCEPTIONS]
    for name, number, message in findings:
        print(f"{name}:{number}: {message}")
    sizes.sort()
    print(
        f"tidy: {len(sources)} source files, median {sizes[len(sizes) // 2] if sizes else 0} lines, "
        f"{len(findings)} findings"
    )
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
