"""curl, as the README and `make run` show it."""

import json
import subprocess


def curl(*arguments):
    run = subprocess.run(
        ["curl", "-sS", "--max-time", "60", *arguments], capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_the_line_that_is_printed(server):
    """The server prints a curl line at start; it works as printed."""
    line = next(line for line in server.lines if "curl " in line)
    command = line[line.index("curl ") :].strip()
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["choices"][0]["message"]["content"]


def test_stream(server):
    body = json.dumps({"prompt": "The sky is", "max_tokens": 5, "temperature": 0, "stream": True})
    out = curl(
        "-N", server.url + "/v1/completions", "-H", "Content-Type: application/json", "-d", body
    )
    assert out.count("data: {") == 5 and out.rstrip().endswith("data: [DONE]")


def test_headers(server):
    out = curl("-i", server.url + "/health")
    assert out.startswith("HTTP/1.1 200") and "server: " in out.lower()


def test_http_1_0(server):
    assert "200" in curl("-0", "-i", server.url + "/version").splitlines()[0]
