"""Compares one answer with the recorded one, field by field.

Equal must be: statuses, content types, the set of fields, error types and params, finish and stop
reasons, token counts, greedy text, ids of tokens. Not compared: ids and times (their form is), versions
and fingerprints, the wording of errors. Log-probabilities may differ by LOGPROB_TOLERANCE. In streams
the joined text, reasons, roles, usage and the order of the kinds of events count, not the cutting into
frames.

Greedy text may differ only where the two best tokens are nearly tied, proved by log-probabilities asked
for anew.
"""

import re

LOGPROB_TOLERANCE = 0.15
# Both values may be off by the tolerance.
TIE = 2 * LOGPROB_TOLERANCE

# Weir's own values: only the type must agree.
OWN_VALUES = {"created", "system_fingerprint", "owned_by", "version", "root"}
# The sampled text is not comparable, the shape is (note of the recording).
SAMPLED = {"comp-n2-stream"}
# vLLM names a pydantic class in the middle of a path.
PYDANTIC_CLASS = re.compile(r"\.ChatCompletion\w+Param")


class Difference(Exception):
    """Where, want and got."""

    def __init__(self, where, want, got):
        super().__init__(f"{where}: want {shorten(want)}, got {shorten(got)}")


def shorten(value):
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "..."


def check(where, want, got):
    if want != got:
        raise Difference(where, want, got)


def compare_case(case, got, server):
    """Raises Difference, or returns the proof of a near tie ("" if there is none)."""
    want = case["response"]
    check("status", want["status"], got["status"])
    check("content_type", want["content_type"], got["content_type"])
    sampled = case["id"] in SAMPLED
    if "events" in want:
        return compare_stream(case, want["events"], got.get("events"), server, sampled)
    if "json" not in want:
        check("text", want.get("text"), got.get("text"))
        return ""
    want_json, got_json = want["json"], got.get("json")
    if not (isinstance(want_json, dict) and "choices" in want_json):
        compare_value("", want_json, got_json)
        return ""
    check("number of choices", len(want_json["choices"]), len(got_json.get("choices", [])))
    flips = [
        find_flip(case, want_choice, got_choice, server)
        for want_choice, got_choice in zip(want_json["choices"], got_json["choices"])
    ]
    if not any(flips):
        compare_value("", want_json, got_json)
        return ""
    # Behind the flip text, reasons and counts are another story: only the shape is left to compare.
    compare_shape("", want_json, got_json)
    check("prompt_tokens", want_json["usage"]["prompt_tokens"], got_json["usage"]["prompt_tokens"])
    return "; ".join(filter(None, flips))


# --- values ---


def compare_value(where, want, got):
    name = where.rsplit(".", 1)[-1]
    if name in OWN_VALUES:
        check(where + " (type)", type(want), type(got))
    elif name == "id" and isinstance(want, str):
        check(where + " (form)", id_form(want), id_form(got))
    elif where == ".error.message":
        if not isinstance(got, str) or not got:
            raise Difference(where, want, got)
    elif where == ".error.param":
        check(where, PYDANTIC_CLASS.sub("", want) if want else want, got)
    elif name in ("logprob", "token_logprobs") and isinstance(want, float):
        compare_logprob(where, want, got)
    elif name == "rank" and isinstance(got, int):
        # Ranks far down move with the last digits of thousands of others.
        if abs(want - got) > max(1, 0.2 * want):
            raise Difference(where, want, got)
    elif name in ("top_logprobs", "prompt_logprobs"):
        compare_tops(where, want, got)
    elif isinstance(want, dict):
        compare_object(where, want, got)
    elif isinstance(want, list):
        compare_list(where, want, got)
    else:
        check(where, want, got)


def id_form(text):
    """"cmpl-93d1835b45f23b16" to "cmpl-*"; a given id stays."""
    return re.sub(r"[0-9a-f]{16}$", "*", text) if isinstance(text, str) else text


def compare_object(where, want, got):
    if not isinstance(got, dict):
        raise Difference(where, want, got)
    check(where + " (fields)", sorted(want), sorted(got))
    for key, value in want.items():
        compare_value(f"{where}.{key}", value, got[key])


def compare_list(where, want, got):
    if not isinstance(got, list):
        raise Difference(where, want, got)
    check(where + " (length)", len(want), len(got))
    for want_item, got_item in zip(want, got):
        compare_value(where, want_item, got_item)


def compare_logprob(where, want, got):
    if not isinstance(got, (int, float)) or abs(want - got) > LOGPROB_TOLERANCE:
        raise Difference(where, want, got)


def compare_tops(where, want, got):
    """top_logprobs and prompt_logprobs in their three forms: maps of numbers, of objects, lists of objects."""
    if want is None or got is None:
        return check(where, want, got)
    if isinstance(want, list) and want and isinstance(want[0], dict) and "token" in want[0]:
        want = {entry["token"]: entry["logprob"] for entry in want}
        got = {entry["token"]: entry["logprob"] for entry in got}
    if isinstance(want, list):
        check(where + " (length)", len(want), len(got))
        for want_item, got_item in zip(want, got):
            compare_tops(where, want_item, got_item)
        return None
    if abs(len(want) - len(got)) > 1:  # The own token may be among the best in one and not in the other.
        raise Difference(where, want, got)
    number = {key: logprob_of(value) for key, value in want.items()}
    others = {key: logprob_of(value) for key, value in got.items()}
    for key, value in number.items():
        if key in others:
            compare_logprob(f"{where}[{key!r}]", value, others[key])
        elif value > min(others.values()) + TIE:  # Missing, and not by a near tie for the last place.
            raise Difference(f"{where}[{key!r}]", value, got)
    return None


def logprob_of(value):
    return value["logprob"] if isinstance(value, dict) else value


def compare_shape(where, want, got):
    if isinstance(want, dict):
        if not isinstance(got, dict) or sorted(want) != sorted(got):
            raise Difference(where + " (fields)", want, got)
        for key, value in want.items():
            if key != "logprobs":
                compare_shape(f"{where}.{key}", value, got[key])


# --- near ties ---


def choice_text(choice):
    return choice["text"] if "text" in choice else choice["message"]["content"]


def find_flip(case, want_choice, got_choice, server):
    """"" if both texts are equal, else the proof that a near tie parts them, or Difference."""
    want, got = choice_text(want_choice), choice_text(got_choice)
    if want == got:
        return ""
    return prove_tie(case, want_choice["index"], want, got, server)


def prove_tie(case, index, want, got, server):
    request = case["request"]
    body = {key: value for key, value in request["json"].items() if not key.startswith("stream")}
    chat = "messages" in body
    body.pop("echo", None)
    body.update({"logprobs": True, "top_logprobs": 5} if chat else {"logprobs": 5})
    answer = server.ask(request["path"], body)
    check("status of the proof", 200, answer["status"])
    logprobs = answer["json"]["choices"][index]["logprobs"]
    text = ""
    for token, tops in token_steps(logprobs, chat):
        if want.startswith(text + token):
            text += token
            continue
        own = tops.get(token)
        for other, value in tops.items():
            if other and other != token and want.startswith(text + other) and own is not None:
                if own - value <= TIE:
                    return f"behind {text[-20:]!r} {token!r} {own:.3f} and {other!r} {value:.3f}"
        break
    raise Difference("text", want, got)


def token_steps(logprobs, chat):
    """(token, {token: log-probability of the best}) of each step."""
    if chat:
        for entry in logprobs["content"]:
            yield entry["token"], {top["token"]: top["logprob"] for top in entry["top_logprobs"]}
    else:
        yield from zip(logprobs["tokens"], logprobs["top_logprobs"])


# --- streams ---


def compare_stream(case, want, got, server, sampled):
    if not got:
        raise Difference("events", want, got)
    check("last event", want[-1], got[-1])
    want_choices, got_choices = collect(want), collect(got)
    check("indices of choices", sorted(want_choices), sorted(got_choices))
    tie = ""
    for index, choice in want_choices.items():
        mine = got_choices[index]
        check(f"roles of choice {index}", choice["roles"], mine["roles"])
        check(f"kinds of events of choice {index}", choice["kinds"], mine["kinds"])
        if choice["text"] != mine["text"] and not sampled:
            tie = prove_tie(case, index, choice["text"], mine["text"], server)
            continue
        if not sampled:
            check(f"finish of choice {index}", choice["finish"], mine["finish"])
            compare_value("logprobs", choice["logprobs"], mine["logprobs"])
    check("order of kinds", order_of_kinds(want), order_of_kinds(got))
    check("fields by kind", fields_by_kind(want), fields_by_kind(got))
    if not tie:
        check("usage", last_usage(want), last_usage(got))
    return tie


def kind_of(event):
    if not isinstance(event, dict):
        return "done"
    if not event["choices"]:
        return "usage"
    choice = event["choices"][0]
    if choice.get("finish_reason"):
        return "finish"
    return "role" if "role" in choice.get("delta", {}) else "text"


def order_of_kinds(events):
    """Kinds in order, runs of one kind once; with several choices, which interleave, only the end."""
    order = []
    for event in events:
        kind = kind_of(event)
        if kind in ("text", "finish", "role") and len({c for c in collect(events)}) > 1:
            continue
        if not order or order[-1] != kind:
            order.append(kind)
    return order


def fields_by_kind(events):
    """Names of fields at each level, apart from those of the last choice's end, which depend on the order."""
    fields = {}
    for event in events:
        if not isinstance(event, dict):
            continue
        names = [sorted(set(event) - {"system_fingerprint"})]
        for choice in event["choices"]:
            names.append(sorted(choice))
            names.append(sorted(choice.get("delta", {})))
        fields.setdefault(kind_of(event), set()).add(str(names))
    return fields


def collect(events):
    """Per choice: joined text, roles, kinds in order, finish and stop reason, log-probabilities."""
    choices = {}
    for event in events:
        for choice in event["choices"] if isinstance(event, dict) else ():
            mine = choices.setdefault(
                choice["index"],
                {"text": "", "roles": [], "kinds": [], "finish": None, "logprobs": []},
            )
            delta = choice.get("delta", {})
            mine["text"] += (choice["text"] if "text" in choice else delta.get("content")) or ""
            if "role" in delta:
                mine["roles"].append(delta["role"])
            if not mine["kinds"] or mine["kinds"][-1] != kind_of(event):
                mine["kinds"].append(kind_of(event))
            if choice.get("finish_reason"):
                mine["finish"] = (choice["finish_reason"], choice.get("stop_reason"))
            if choice.get("logprobs"):
                mine["logprobs"].append(choice["logprobs"])
    return choices


def last_usage(events):
    found = [event["usage"] for event in events if isinstance(event, dict) and "usage" in event]
    return found[-1] if found else None
