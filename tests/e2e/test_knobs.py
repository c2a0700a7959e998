"""The six knobs do what they say: each test fails if its knob does nothing."""

import concurrent.futures
import re

PROMPT = list(range(1000, 1400))  # 400 token ids.


def ask(server, **body):
    answer = server.client.post("/v1/completions", json={"temperature": 0, **body})
    assert answer.status_code == 200, answer.text
    return answer.json()


def step_tokens_max(server):
    return server.metric("weir_step_scheduled_tokens_max")


def ask_all(server, bodies):
    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(lambda body: ask(server, **body), bodies))


def test_max_num_batched_tokens_bounds_every_step(start):
    with start("--max-num-batched-tokens", "64", "--max-model-len", "1024") as server:
        alone = ask(server, prompt=PROMPT, max_tokens=4)
        ask_all(server, [{"prompt": PROMPT[i:], "max_tokens": 4} for i in range(6)])
        assert step_tokens_max(server) == 64  # Reached, never exceeded.
    with start("--max-num-batched-tokens", "512", "--max-model-len", "1024") as server:
        whole = ask(server, prompt=PROMPT, max_tokens=4)
        assert step_tokens_max(server) == 400
    assert whole["choices"] == alone["choices"]  # The same text, however it is cut.


def test_max_num_seqs_bounds_running(start):
    with start("--max-num-seqs", "2", "--max-model-len", "1024") as server:
        ask_all(server, [{"prompt": PROMPT[:20], "max_tokens": 30, "ignore_eos": True}] * 8)
        assert server.metric("weir_step_requests_max") == 2


def test_chunked_prefill_off_never_cuts_a_prompt(start):
    flags = (
        "--no-enable-chunked-prefill",
        "--max-model-len",
        "512",
        "--max-num-batched-tokens",
        "512",
    )
    with start(*flags) as server:
        ask_all(server, [{"prompt": PROMPT[i:], "max_tokens": 4} for i in range(3)])
        assert server.metric("weir_prefill_chunks_total", kind="partial") == 0
    with start("--max-model-len", "512", "--max-num-batched-tokens", "128") as server:
        ask(server, prompt=PROMPT, max_tokens=4)
        assert server.metric("weir_prefill_chunks_total", kind="partial") == 3


def test_chunked_prefill_off_needs_room_for_a_whole_prompt(weir_command):
    from conftest import model_path

    run = weir_command("serve", model_path(), "--port", "0", "--no-enable-chunked-prefill",
                       "--max-num-batched-tokens", "100", "--max-model-len", "200")  # fmt: skip
    assert run.returncode == 1 and "smaller than max_model_len" in run.stderr + run.stdout


def test_max_model_len_caps_a_request(start):
    with start("--max-model-len", "64") as server:
        answer = ask(server, prompt=PROMPT[:60], max_tokens=5, ignore_eos=True)
        assert answer["usage"]["completion_tokens"] == 4
        too_long = server.client.post("/v1/completions", json={"prompt": PROMPT[:65]})
        assert too_long.status_code == 400 and "64" in too_long.json()["error"]["message"]
        assert re.search(
            r"Maximum concurrency for 64 tokens per request: [\d.,]+x", server.output()
        )


def test_max_model_len_forms(start):
    with start("--max-model-len", "1k", "--kv-cache-memory-bytes", "100M") as server:
        assert server.client.get("/v1/models").json()["data"][0]["max_model_len"] == 1000
    with start("--max-model-len", "auto", "--num-gpu-blocks-override", "33") as server:
        assert server.client.get("/v1/models").json()["data"][0]["max_model_len"] == 512
        assert "Auto-fit max_model_len" in server.output()


def test_kv_cache_size_flags(start):
    with start("--num-gpu-blocks-override", "65", "--max-model-len", "512") as server:
        assert "KV cache size: 1,040 tokens" in server.output()
    with start("--kv-cache-memory-bytes", "64M", "--max-model-len", "512") as small, start(
        "--kv-cache-memory-bytes", "128M", "--max-model-len", "512"
    ) as large:
        blocks = lambda server: int(
            re.search(r'num_gpu_blocks="(\d+)"', server.client.get("/metrics").text)[1]
        )
        assert blocks(large) == 2 * blocks(small)


def test_gpu_memory_utilization_sizes_the_pool(start):
    tokens = []
    for share in ("0.3", "0.5"):
        with start("--gpu-memory-utilization", share, "--max-model-len", "2048") as server:
            text = re.search(r"KV cache size: ([\d,]+) tokens", server.output())[1]
            tokens.append(int(text.replace(",", "")))
    assert tokens[1] > 1.3 * tokens[0]


def test_prefix_caching(start):
    flags = ("--enable-prompt-tokens-details", "--max-model-len", "2048")
    with start(*flags) as server:
        first = ask(server, prompt=PROMPT, max_tokens=8)
        second = ask(server, prompt=PROMPT, max_tokens=8)
        assert first["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
        assert second["usage"]["prompt_tokens_details"]["cached_tokens"] == 384  # 24 of 25 blocks.
        assert first["choices"] == second["choices"]
        assert server.metric("vllm:prefix_cache_hits_total") == 384
    with start(*flags, "--no-enable-prefix-caching") as server:
        third = ask(server, prompt=PROMPT, max_tokens=8)
        fourth = ask(server, prompt=PROMPT, max_tokens=8)
        assert fourth["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
        assert server.metric("vllm:prefix_cache_queries_total") == 0
    assert first["choices"] == third["choices"] == fourth["choices"]
