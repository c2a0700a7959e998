"""Starts the real binary for the tests. WEIR_BINARY names it (default build/weir)."""

import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

import httpx
import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = os.environ.get("WEIR_BINARY", str(ROOT / "build" / "weir"))


def model_path(name="smollm2"):
    run = subprocess.run(
        [sys.executable, ROOT / "tools" / "get_model.py", name],
        capture_output=True,
        text=True,
        check=True,
    )
    return run.stdout.splitlines()[-1]


class Weir:
    """A running `weir serve`: its URL, its output so far, a client."""

    def __init__(self, *flags, env=None, model=None, binary=BINARY, uds=None):
        command = [binary, "serve", model or model_path(), *[str(flag) for flag in flags]]
        if not any(str(flag).startswith(("--port", "--uds")) for flag in flags):
            command += ["--port", "0"]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, **(env or {})},
        )
        self.lines = []
        self.url = None
        self._ready = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._ready.wait(timeout=60) or self.process.poll() not in (None,):
            self.kill()
            raise RuntimeError("weir did not start:\n" + "".join(self.lines))
        transport = httpx.HTTPTransport(uds=uds) if uds else None
        base = "http://weir" if uds else self.url
        self.client = httpx.Client(base_url=base, timeout=60, transport=transport, verify=False)

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)
            match = re.search(r"Starting weir server on (\S+)", line)
            if match:
                self.url = match[1].replace("0.0.0.0", "127.0.0.1").replace("[::]", "127.0.0.1")
            if "Application startup complete." in line:
                self._ready.set()
        self._ready.set()  # The end of the output: it has ended.

    def output(self):
        return "".join(self.lines)

    def metric(self, name, **labels):
        """Sum of the samples of that name (and labels) in /metrics."""
        total, found = 0.0, False
        for line in self.client.get("/metrics").text.splitlines():
            match = re.match(r"([\w:]+)(?:\{(.*)\})? (\S+)$", line)
            if match and match[1] == name:
                if all(f'{key}="{value}"' in (match[2] or "") for key, value in labels.items()):
                    total, found = total + float(match[3]), True
        assert found, f"no metric {name} {labels}"
        return total

    def wait_for(self, what, condition, seconds=30):
        """Polls until condition() holds; the poll itself is the wait (each asks the server)."""
        waiter = threading.Event()
        for _ in range(int(seconds * 50)):
            if condition():
                return
            waiter.wait(0.02)
        raise AssertionError(f"{what} did not come within {seconds} s\n{self.output()[-2000:]}")

    def stop(self, sig=signal.SIGTERM):
        self.process.send_signal(sig)
        code = self.process.wait(timeout=60)
        self._reader.join(timeout=10)
        return code

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self._reader.join(timeout=10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()


@contextlib.contextmanager
def running(*flags, **options):
    with Weir(*flags, **options) as server:
        yield server


@pytest.fixture(scope="session")
def server():
    """One server with the recordings' flags, shared by the tests that do not change it."""
    with Weir("--served-model-name", "smollm2", "--max-model-len", "4096") as weir:
        yield weir


@pytest.fixture(scope="session")
def start():
    """start(*flags) -> context manager of a server with these flags."""
    return running


@pytest.fixture(scope="session")
def weir_command():
    """weir_command(*arguments, env=..., input=...) -> CompletedProcess of one run of the binary."""

    def command(*arguments, env=None, timeout=60, **options):
        return subprocess.run(
            [BINARY, *[str(a) for a in arguments]],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**os.environ, **(env or {})},
            **options,
        )

    return command
