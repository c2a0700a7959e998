#!/usr/bin/env python3
"""Replays the recorded requests of vLLM 0.32 against a running server, compares the answers by field.

    weir serve --served-model-name smollm2 --max-model-len 4096
    tests/conformance/replay.py http://127.0.0.1:8000 [CASE ...]

Starts nothing itself. Prints a line per case and the count; exit code 1 if a case fails. What is
compared and what is not: compare.py. Cases outside this server's abilities so far stand in PENDING, by
name and with the reason; they are sent all the same and must be refused clearly.
"""

import argparse
import http.client
import json
import pathlib
import sys
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import compare  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
RECORDINGS = ("vllm-0.32-smollm2.json", "vllm-0.32-smollm2-more.json")

GRAMMAR = "structured outputs come with grammar/"
TOOLS = "tool calls come with the tool parsers"
RESPONSES = "the Responses API comes later"
MESSAGES = "the Messages API comes later"
PENDING = {
    "comp-json-schema": GRAMMAR,
    "comp-choice": GRAMMAR,
    "comp-bad-regex": GRAMMAR,
    "comp-bad-grammar": GRAMMAR,
    "chat-json-object": GRAMMAR,
    "chat-json-schema": GRAMMAR,
    "chat-json-stream": GRAMMAR,
    "tools-required": TOOLS,
    "tools-required-stream": TOOLS,
    "tools-named-stream": TOOLS,
    "tools-bad-schema": TOOLS,
    "responses": RESPONSES,
    "responses-stream": RESPONSES,
    "responses-instructions": RESPONSES,
    "responses-json-schema": RESPONSES,
    "responses-unknown-previous": RESPONSES,
    "responses-get-unknown": RESPONSES,
    "messages": MESSAGES,
    "messages-stream": MESSAGES,
    "messages-system": MESSAGES,
    "messages-stop": MESSAGES,
    "messages-no-max": MESSAGES,
    "messages-count": MESSAGES,
}
CLEAR_REFUSALS = (400, 404, 501)


def load_cases():
    """All cases of both recordings, in order."""
    return [case for name in RECORDINGS for case in json.loads((HERE / name).read_text())]


class Server:
    """One request, one connection: nothing of a case reaches the next."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname, parts.port or 80

    def send(self, request):
        if "json" in request:
            body = json.dumps(request["json"]).encode()
        elif "raw" in request:
            body = request["raw"].encode("latin-1")
        else:
            body = None
        connection = http.client.HTTPConnection(self.host, self.port, timeout=120)
        try:
            connection.request(request["method"], request["path"], body, request["headers"])
            answer = connection.getresponse()
            return parse_answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()

    def ask(self, path, body):
        """A POST of our own, for the proof of a near tie."""
        headers = {"content-type": "application/json"}
        return self.send({"method": "POST", "path": path, "headers": headers, "json": body})


def parse_answer(status, headers, body):
    """The same form as in the recordings."""
    answer = {"status": status, "content_type": headers.get("content-type", "")}
    if answer["content_type"].startswith("text/event-stream"):
        answer["events"] = parse_events(body.decode())
    elif answer["content_type"] == "application/json" and body:
        answer["json"] = json.loads(body)
    else:
        answer["text"] = body.decode()
    return answer


def parse_events(text):
    events = []
    for frame in text.split("\n\n"):
        for line in frame.splitlines():
            if line.startswith("data: "):
                data = line.removeprefix("data: ")
                events.append(data if data == "[DONE]" else json.loads(data))
    return events


def run_case(server, case):
    """("pass" | "near-tie" | "pending" | "FAIL", why)."""
    got = server.send(case["request"])
    if case["id"] in PENDING:
        if got["status"] in CLEAR_REFUSALS:
            return "pending", PENDING[case["id"]]
        return "FAIL", f"pending, but answered {got['status']}: take it out of PENDING"
    try:
        ties = compare.compare_case(case, got, server)
    except compare.Difference as difference:
        return "FAIL", str(difference)
    return ("near-tie", ties) if ties else ("pass", "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("url")
    parser.add_argument("cases", nargs="*", help="only these")
    options = parser.parse_args()
    server = Server(options.url)
    counts = {}
    for case in load_cases():
        if options.cases and case["id"] not in options.cases:
            continue
        verdict, why = run_case(server, case)
        counts[verdict] = counts.get(verdict, 0) + 1
        print(f"{verdict:8} {case['id']}{': ' + why if why else ''}")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items())))
    return 1 if counts.get("FAIL") else 0


if __name__ == "__main__":
    sys.exit(main())
