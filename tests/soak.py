#!/usr/bin/env python3
"""Many clients at once with random lengths, hang-ups and bad requests against one server.

    tests/soak.py --binary build/weir --seconds 300 --clients 64 [--seed 1]

Passes if: no crash; every answer of a greedy request equals the one it gets alone; bad requests get
4xx; after it the server is idle with every block free; resident memory at the end is within 2 % of
that after a fifth of the run (runs of at least 100 s); SIGTERM ends it with code 0.
"""

import argparse
import asyncio
import collections
import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import time

import httpx

ROOT = pathlib.Path(__file__).resolve().parent.parent
WORDS = "river stone light garden engine paper winter music number field story window".split()

BAD_REQUESTS = [
    ("/v1/completions", {"prompt": "x", "temperature": 9}),
    ("/v1/completions", {"prompt": [99999999]}),
    ("/v1/completions", {"prompt": "x", "max_tokens": -1}),
    ("/v1/completions", {}),
    ("/v1/completions", {"prompt": [1] * 5000}),
    ("/v1/chat/completions", {"messages": []}),
    ("/v1/chat/completions", {"messages": "hello"}),
    ("/v1/chat/completions", {"model": "none", "messages": [{"role": "user", "content": "x"}]}),
    ("/nowhere", {}),
]


def greedy_requests(count, rng):
    """Requests whose answer must not depend on what else runs."""
    requests = []
    for i in range(count):
        words = " ".join(rng.choice(WORDS) for _ in range(rng.choice([3, 20, 120, 400])))
        body = {"max_tokens": rng.choice([1, 8, 24, 48]), "temperature": 0}
        if i % 2:
            body["messages"] = [{"role": "user", "content": f"Write about: {words}"}]
            requests.append(("/v1/chat/completions", body))
        else:
            body["prompt"] = f"Notes {i}. {words}"
            requests.append(("/v1/completions", body))
    return requests


def text_of(choice):
    return choice["text"] if "text" in choice else choice["message"]["content"]


async def streamed_text(client, path, body):
    text = ""
    async with client.stream("POST", path, json={**body, "stream": True}) as response:
        if response.status_code != 200:
            return None
        async for line in response.aiter_lines():
            if line.startswith("data: ") and line != "data: [DONE]":
                for choice in json.loads(line[6:])["choices"]:
                    text += choice.get("text") or choice.get("delta", {}).get("content") or ""
    return text


class Soak:
    def __init__(self, url, arguments):
        self.url = url
        self.rng = random.Random(arguments.seed)
        self.seconds, self.clients = arguments.seconds, arguments.clients
        self.requests = greedy_requests(24, self.rng)
        self.alone = []
        self.counts = collections.Counter()
        self.faults = []
        self.end = 0

    def fault(self, text):
        if len(self.faults) < 20:
            self.faults.append(text)
        self.counts["faults"] += 1

    async def greedy(self, client, rng):
        index = rng.randrange(len(self.requests))
        path, body = self.requests[index]
        if rng.random() < 0.5:
            text = await streamed_text(client, path, body)
        else:
            response = await client.post(path, json=body)
            text = text_of(response.json()["choices"][0]) if response.status_code == 200 else None
        if text is None:
            self.counts["refused"] += 1
        elif text != self.alone[index]:
            self.fault(f"greedy request {index}: alone {self.alone[index]!r}, now {text!r}")
        self.counts["greedy"] += 1

    async def sampled(self, client, rng):
        body = {
            "prompt": [rng.randrange(100, 40000) for _ in range(rng.randrange(1, 1500))],
            "max_tokens": rng.randrange(1, 60), "n": rng.choice([1, 1, 2, 3]),
            "temperature": rng.choice([0.7, 1.0]), "top_p": rng.choice([1.0, 0.9]),
        }  # fmt: skip
        response = await client.post("/v1/completions", json=body)
        if response.status_code not in (200, 503):
            self.fault(f"sampled: {response.status_code} {response.text[:200]}")
        self.counts["sampled"] += 1

    async def hang_up(self, client, rng):
        body = {"prompt": "Once", "max_tokens": 1500, "ignore_eos": True, "stream": True,
                "n": rng.choice([1, 2])}  # fmt: skip
        body["temperature"] = 1.0
        wanted = rng.randrange(0, 12)
        async with client.stream("POST", "/v1/completions", json=body) as response:
            if wanted and response.status_code == 200:
                async for line in response.aiter_lines():
                    wanted -= line.startswith("data: ")
                    if wanted <= 0:
                        break
        self.counts["hang-ups"] += 1

    async def bad(self, client, rng):
        path, body = rng.choice(BAD_REQUESTS)
        response = await client.post(path, json=body)
        if not 400 <= response.status_code < 500 and response.status_code != 503:
            self.fault(f"bad request {path} {str(body)[:80]}: {response.status_code}")
        self.counts["bad"] += 1

    async def one_client(self, number):
        rng = random.Random(self.rng.random() + number)
        kinds = [self.greedy, self.sampled, self.hang_up, self.bad]
        while time.monotonic() < self.end:
            async with httpx.AsyncClient(base_url=self.url, timeout=600) as client:
                for _ in range(rng.randrange(1, 6)):
                    kind = rng.choices(kinds, [60, 15, 15, 10])[0]
                    try:
                        await kind(client, rng)
                    except httpx.HTTPError as error:
                        self.fault(f"{kind.__name__}: {error!r}")
                    if time.monotonic() >= self.end:
                        return

    async def metrics(self, client):
        text = (await client.get("/metrics")).text
        pattern = re.compile(r"^([\w:]+)(?:\{.*\})? (\S+)$", re.M)
        found = collections.Counter()
        for name, value in pattern.findall(text):
            found[name] += float(value)
        return found

    async def run(self):
        async with httpx.AsyncClient(base_url=self.url, timeout=600) as client:
            for path, body in self.requests:
                response = await client.post(path, json=body)
                self.alone.append(text_of(response.json()["choices"][0]))
            self.end = time.monotonic() + self.seconds
            clients = [asyncio.create_task(self.one_client(i)) for i in range(self.clients)]
            await asyncio.sleep(self.seconds / 5)
            early = (await self.metrics(client))["process_resident_memory_bytes"]
            while any(not task.done() for task in clients):
                await asyncio.wait(clients, timeout=10)
                left = max(0, self.end - time.monotonic())
                print(f"soak: {left:4.0f} s left, {dict(self.counts)}", flush=True)
            late = (await self.metrics(client))["process_resident_memory_bytes"]
            await self.check_idle(client)
        growth = late / early - 1
        print(f"soak: resident {early / 2**20:.0f} MiB early, {late / 2**20:.0f} MiB late "
              f"({100 * growth:+.1f} %)")  # fmt: skip
        if self.seconds >= 100 and abs(growth) > 0.02:
            self.fault(f"memory is not flat: {100 * growth:+.1f} %")

    async def check_idle(self, client):
        for _ in range(100):
            now = await self.metrics(client)
            busy = {name: now[name] for name in
                    ("vllm:num_requests_running", "vllm:num_requests_waiting",
                     "vllm:kv_cache_usage_perc") if now[name] != 0}  # fmt: skip
            if not busy:
                return
            await asyncio.sleep(0.1)
        self.fault(f"not idle after the run: {busy}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", default=str(ROOT / "build" / "weir"))
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    model = subprocess.run([sys.executable, ROOT / "tools/get_model.py"], capture_output=True,
                           text=True, check=True).stdout.splitlines()[-1]  # fmt: skip
    process = subprocess.Popen(
        [arguments.binary, "serve", model, "--port", "0", "--max-model-len", "2048",
         "--disable-uvicorn-access-log"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    url = None
    for line in process.stdout:
        match = re.search(r"Starting weir server on (\S+)", line)
        url = match[1].replace("0.0.0.0", "127.0.0.1") if match else url
        if "Application startup complete." in line:
            break
    if not url:
        sys.exit("soak: the server did not start")
    log = collections.deque(maxlen=200)
    import threading

    threading.Thread(target=lambda: log.extend(process.stdout), daemon=True).start()
    soak = Soak(url, arguments)
    try:
        asyncio.run(soak.run())
    except httpx.HTTPError as error:
        soak.fault(f"the server is gone: {error!r}")
    process.send_signal(signal.SIGTERM)
    try:
        code = process.wait(timeout=60)
    except subprocess.TimeoutExpired:
        process.kill()
        code = "none within 60 s"
    if code != 0:
        soak.fault(f"exit code {code}")
        print("".join(log))
    print(f"soak: {dict(soak.counts)}, seed {arguments.seed}")
    for fault in soak.faults:
        print("FAULT", fault)
    sys.exit(1 if soak.faults or not soak.counts["greedy"] else 0)


if __name__ == "__main__":
    main()
