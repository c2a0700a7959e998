"""Start, stop, addresses, keys, TLS, bounds: what an operator meets."""

import concurrent.futures
import json
import os
import signal
import socket
import subprocess
import threading

import httpx
import pytest

from conftest import BINARY, model_path

LONG = {"prompt": "Once upon a time", "max_tokens": 3000, "ignore_eos": True, "stream": True}


def stream_lines(server, body, lines_max):
    """Opens a stream and reads that many data lines, then hangs up."""
    with server.client.stream("POST", "/v1/completions", json=body) as response:
        assert response.status_code == 200
        lines = (line for line in response.iter_lines() if line.startswith("data: "))
        return [next(lines) for _ in range(lines_max)]


def test_port_in_use(weir_command):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        run = weir_command("serve", model_path(), "--host", "127.0.0.1", "--port", port)
    assert run.returncode == 1
    assert str(port) in run.stderr + run.stdout and "in use" in run.stderr + run.stdout


def test_sigterm_drains(start):
    with start("--shutdown-timeout", "30") as server:
        with server.client.stream(
            "POST", "/v1/completions", json={**LONG, "max_tokens": 40}
        ) as response:
            lines = response.iter_lines()
            next(lines)
            server.process.send_signal(signal.SIGTERM)
            rest = [line for line in lines if line.startswith("data: ")]
        assert rest[-1] == "data: [DONE]"
        last = json.loads(rest[-2][6:])
        assert last["choices"][0]["finish_reason"] == "length"
        assert server.process.wait(timeout=30) == 0


def test_sigterm_with_timeout_zero_aborts(start):
    with start("--shutdown-timeout", "0") as server:
        with server.client.stream("POST", "/v1/completions", json=LONG) as response:
            lines = response.iter_lines()
            next(lines)
            server.process.send_signal(signal.SIGTERM)
            rest = [line for line in lines if line.startswith("data: ")]
        assert json.loads(rest[-2][6:])["choices"][0]["finish_reason"] == "abort"
        assert server.process.wait(timeout=30) == 0


def test_second_signal_ends_at_once(start):
    with start("--shutdown-timeout", "600") as server:
        with server.client.stream("POST", "/v1/completions", json=LONG) as response:
            next(response.iter_lines())
            server.process.send_signal(signal.SIGTERM)
            server.wait_for("the drain", lambda: "shutdown triggered" in server.output())
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(timeout=30)
        assert server.process.returncode == 0


def test_hang_up_frees_blocks(start):
    with start() as server:
        stream_lines(server, LONG, 2)
        server.wait_for("no running", lambda: server.metric("vllm:num_requests_running") == 0)
        server.wait_for("free blocks", lambda: server.metric("vllm:kv_cache_usage_perc") == 0)
        assert server.metric("vllm:request_success_total", finished_reason="abort") == 1
        assert server.metric("weir_requests_aborted_total") == 1


def test_api_keys(start):
    with start("--api-key", "one", "two") as server:
        get = lambda path, key=None: server.client.get(
            path, headers={"Authorization": f"Bearer {key}"} if key else {}
        )
        assert get("/v1/models").status_code == 401
        assert get("/v1/models").json() == {"error": "Unauthorized"}
        assert get("/v1/models", "three").status_code == 401
        assert get("/v1/models", "one").status_code == get("/v1/models", "two").status_code == 200
        assert get("/health").status_code == get("/metrics").status_code == 200
        assert "'one'" not in server.output() and '"one"' not in server.output()


def test_unix_socket(start, tmp_path):
    path = str(tmp_path / "weir.sock")
    with start("--uds", path, uds=path) as server:
        assert server.client.get("/health").status_code == 200
        assert server.stop() == 0
    assert not os.path.exists(path)


def test_tls(start, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj",
         "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
         "-keyout", key, "-out", certificate],
        check=True, capture_output=True,
    )  # fmt: skip
    with start("--ssl-keyfile", key, "--ssl-certfile", certificate) as server:
        assert server.url.startswith("https://")
        with httpx.Client(verify=str(certificate)) as client:
            port = httpx.URL(server.url).port
            assert client.get(f"https://localhost:{port}/health").status_code == 200


def test_root_path(start):
    with start("--root-path", "/llm") as server:
        assert server.client.get("/llm/v1/models").status_code == 200
        assert server.client.get("/v1/models").status_code == 200


def test_queue_is_bounded_and_refuses_early(start):
    with start("--max-num-seqs", "1", "--max-num-queued-reqs", "2") as server:
        waiter = threading.Event()
        with concurrent.futures.ThreadPoolExecutor(2) as pool:

            def hold(_):
                with server.client.stream("POST", "/v1/completions", json=LONG) as response:
                    waiter.wait(60)
                    return response.status_code

            held = [pool.submit(hold, i) for i in range(2)]
            server.wait_for(
                "both to be inside",
                lambda: server.metric("vllm:num_requests_running")
                + server.metric("vllm:num_requests_waiting") == 2,
            )  # fmt: skip
            refused = server.client.post("/v1/completions", json={"prompt": "x"})
            waiter.set()
            assert refused.status_code == 503 and int(refused.headers["retry-after"]) >= 1
            assert refused.json()["error"]["code"] == 503
            assert [f.result() for f in held if f.done() or True][0] == 200
        name = "vllm:admission_rejections_total"
        assert server.metric(name, reason="max_num_queued_reqs") == 1


def test_full_disk_for_logs():
    """A log that cannot be written does not take the server with it."""
    with open("/dev/full", "w") as full, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        process = subprocess.Popen(
            [BINARY, "serve", model_path(), "--port", str(port)], stdout=full, stderr=full
        )
        try:
            waiter = threading.Event()
            for _ in range(1500):
                try:
                    if httpx.get(f"http://127.0.0.1:{port}/health").status_code == 200:
                        break
                except httpx.TransportError:
                    waiter.wait(0.02)
            answer = httpx.post(
                f"http://127.0.0.1:{port}/v1/completions", json={"prompt": "a", "max_tokens": 2}
            )
            assert answer.status_code == 200
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == 0


def test_slow_start_is_not_answered(start):
    """The port is bound before the model is loaded, but nobody is let in before /health can say 200."""
    with start() as server:
        assert server.client.get("/health").status_code == 200
        assert server.client.get("/live").status_code == 200


def test_many_idle_connections(start):
    with start() as server:
        url = httpx.URL(server.url)
        sockets = [socket.create_connection((url.host, url.port)) for _ in range(500)]
        assert server.client.get("/health").status_code == 200
        for connection in sockets:
            connection.close()


@pytest.mark.parametrize("flags, needle", [
    (("--kv-cache-memory-bytes", "1M"), "estimated maximum model length is 16"),
    (("--num-gpu-blocks-override", "4"), "estimated maximum model length is 48"),
    (("--kv-cache-memory-bytes", "900G"), "GiB"),
])  # fmt: skip
def test_memory_that_does_not_fit_is_refused(weir_command, flags, needle):
    run = weir_command("serve", model_path(), "--port", "0", *flags)
    assert run.returncode == 1
    assert needle in run.stderr + run.stdout
