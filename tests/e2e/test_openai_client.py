"""The openai Python client, unmodified: sync, async, streams, errors."""

import asyncio

import openai
import pytest

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture(scope="module")
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)


def test_models(client):
    card = client.models.list().data[0]
    assert card.id == "smollm2" and card.max_model_len == 4096


def test_chat(client):
    answer = client.chat.completions.create(
        model="smollm2", messages=QUESTION, temperature=0, max_tokens=32
    )
    assert answer.choices[0].message.role == "assistant" and answer.choices[0].message.content
    assert answer.choices[0].finish_reason in ("stop", "length")
    assert answer.usage.completion_tokens <= 32
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def test_chat_stream_equals_plain(client):
    plain = client.chat.completions.create(
        model="smollm2", messages=QUESTION, temperature=0, max_tokens=32
    )
    chunks = list(
        client.chat.completions.create(
            model="smollm2",
            messages=QUESTION,
            temperature=0,
            max_tokens=32,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert text == plain.choices[0].message.content
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-1].usage == plain.usage and not chunks[-1].choices
    reasons = [c.choices[0].finish_reason for c in chunks if c.choices]
    assert reasons[-1] == plain.choices[0].finish_reason and not any(reasons[:-1])


def test_completions_with_logprobs(client):
    answer = client.completions.create(
        model="smollm2", prompt="The capital of France is", max_tokens=4, temperature=0, logprobs=2
    )
    logprobs = answer.choices[0].logprobs
    assert len(logprobs.tokens) == 4 and all(value <= 0 for value in logprobs.token_logprobs)
    assert "".join(logprobs.tokens) == answer.choices[0].text
    for chosen, top in zip(logprobs.token_logprobs, logprobs.top_logprobs):
        assert max(top.values()) == chosen  # Greedy: the chosen one is the most likely.


def test_n_and_seed(client):
    ask = lambda: client.chat.completions.create(
        model="smollm2", messages=QUESTION, n=3, seed=5, temperature=1.0, max_tokens=12
    )
    first, second = ask(), ask()
    texts = [choice.message.content for choice in first.choices]
    assert texts == [choice.message.content for choice in second.choices]
    assert len(set(texts)) > 1 and [c.index for c in first.choices] == [0, 1, 2]


def test_stop_string(client):
    answer = client.completions.create(
        model="smollm2", prompt="The capital of France is", max_tokens=16, temperature=0, stop=["."]
    )
    assert answer.choices[0].text == " Paris"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.choices[0].model_extra["stop_reason"] == "."


def test_async_many_at_once(server):
    async def ask_all():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="none") as client:
            asks = [
                client.completions.create(
                    model="smollm2", prompt=f"Count: {i},", max_tokens=8, temperature=0
                )
                for i in range(12)
            ]
            return await asyncio.gather(*asks)

    answers = asyncio.run(ask_all())
    alone = openai.OpenAI(base_url=server.url + "/v1", api_key="none")
    for i, answer in enumerate(answers):
        again = alone.completions.create(
            model="smollm2", prompt=f"Count: {i},", max_tokens=8, temperature=0
        )
        assert answer.choices[0].text == again.choices[0].text


def test_async_stream_closed_early(server):
    async def ask():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="none") as client:
            stream = await client.chat.completions.create(
                model="smollm2",
                messages=QUESTION,
                stream=True,
                max_tokens=2000,
                extra_body={"ignore_eos": True},
            )
            async for _ in stream:
                break
            await stream.close()

    asyncio.run(ask())
    server.wait_for("no running request", lambda: server.metric("vllm:num_requests_running") == 0)
    server.wait_for("no used block", lambda: server.metric("vllm:kv_cache_usage_perc") == 0)


@pytest.mark.parametrize(
    "change, error",
    [
        ({"model": "nope"}, openai.NotFoundError),
        ({"temperature": 3}, openai.BadRequestError),
        ({"messages": []}, openai.BadRequestError),
        ({"max_tokens": 100000}, openai.BadRequestError),
        ({"stop": ["a", "b", "c", "d", "e"]}, openai.BadRequestError),
        ({"top_logprobs": 2}, openai.BadRequestError),
    ],
)
def test_errors(client, change, error):
    request = {"model": "smollm2", "messages": QUESTION, "max_tokens": 4, **change}
    with pytest.raises(error) as caught:
        client.chat.completions.create(**request)
    assert caught.value.body["message"]
