"""The command line as an operator meets it: help, errors, exit codes."""

import re

import pytest

from conftest import model_path


def test_version(weir_command):
    run = weir_command("--version")
    assert run.returncode == 0 and re.fullmatch(r"weir \d+\.\d+\.\d+\n", run.stdout)


def test_help_fits_a_screen(weir_command):
    for arguments in (["--help"], [], ["help"], ["serve", "--help"]):
        run = weir_command(*arguments)
        assert run.returncode == 0, run.stderr
        lines = run.stdout.splitlines()
        assert 5 < len(lines) <= 40 and max(map(len, lines)) <= 100


def test_every_subcommand_has_help(weir_command):
    names = re.findall(r"^  weir ([a-z][a-z-]*)", weir_command("--help").stdout, re.M)
    assert "serve" in names
    for name in set(names):
        run = weir_command(name, "--help")
        assert run.returncode == 0 and "usage: weir " + name in run.stdout


def test_help_all_has_every_flag(weir_command):
    run = weir_command("serve", "--help=all")
    assert run.returncode == 0
    for flag in ("--max-num-seqs", "--tensor-parallel-size", "--[no-]enable-lora", "--swap-space"):
        assert flag in run.stdout


@pytest.mark.parametrize(
    "arguments, code, text",
    [
        (["srve"], 2, "nearest: serve"),
        (["serve", "--max-num-seq-s", "4"], 2, "--max-num-seqs"),
        (["serve", "--max-num-seqs", "0"], 2, "at least 1"),
        (["serve", "--enable-lora"], 2, "not built yet"),
        (["serve", "-tp", "8"], 2, "--tensor-parallel-size"),
        (["serve", "no-such-file.gguf"], 1, "no-such-file.gguf"),
        (["serve", "--max-model-len", "999999"], 1, "max_model_len"),
        (["serve", "--max-num-batched-tokens", "8", "--max-num-seqs", "9"], 1, "max_num_seqs"),
        (["serve", "--log-format", "xml"], 2, "text, json"),
    ],
)
def test_errors(weir_command, arguments, code, text):
    if arguments[0] == "serve" and not arguments[1].endswith(".gguf"):
        arguments = ["serve", model_path(), *arguments[1:]]
    run = weir_command(*arguments)
    assert run.returncode == code, run.stdout + run.stderr
    assert text in run.stdout + run.stderr


def test_wrong_files(weir_command, tmp_path):
    cases = {
        "empty.gguf": b"",
        "text.gguf": b"<!DOCTYPE html><html>" + b" " * 100,
        "short.gguf": b"GGUF\x03\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        "big-endian.gguf": b"GGUF\x00\x00\x00\x03" + b"\0" * 16,
    }
    for name, content in cases.items():
        path = tmp_path / name
        path.write_bytes(content)
        run = weir_command("serve", path)
        assert run.returncode == 1 and name in run.stdout + run.stderr, run.stdout + run.stderr
    run = weir_command("serve", tmp_path / "empty-folder-that-is-not-there")
    assert run.returncode == 1


def test_print_config_names_sources(weir_command, tmp_path):
    file = tmp_path / "node.yaml"
    file.write_text("max-num-seqs: 9\nport: 1\n")
    run = weir_command(
        "serve", "--config", file, "--port", "2", "--print-config", env={"VLLM_API_KEY": "hidden"}
    )
    assert run.returncode == 0
    value = lambda flag: re.search(rf"^{flag}: (.*?) *# (.*)$", run.stdout, re.M).groups()
    assert value("max-num-seqs") == ("9", "config file")
    assert value("port") == ("2", "command line")
    assert value("api-key") == ("***", "environment")
    assert value("block-size") == ("16", "default")


def test_service_links_are_ignored_with_one_line(weir_command):
    run = weir_command(
        "serve", "--print-config",
        env={"VLLM_PORT": "tcp://10.0.0.1:8000", "VLLM_SERVICE_HOST": "10.0.0.1"},
    )  # fmt: skip
    assert run.returncode == 0
    assert (run.stdout + run.stderr).count("Kubernetes service link") == 1
