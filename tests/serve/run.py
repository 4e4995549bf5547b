#!/usr/bin/env python3
"""Tests of `hilo serve`, by Python's own HTTP client and by raw sockets.

usage: run.py [NAME...]        the tests whose names contain one of these

HILO_TEST_LONG in the environment: 10,000 requests of all kinds instead of 300.
"""
import base64
import concurrent.futures
import datetime
import http.client
import json
import math
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests/llm/tiny-llama"
HILO = os.environ["HILO"]
PATIENCE = 300  # seconds: what has not happened by then does not happen
LONG = bool(os.environ.get("HILO_TEST_LONG"))


class Server:
    """A server on a free port. A build or a machine without libmicrohttpd ends the script: its tests are skipped."""

    def __init__(self, *options, models=(MODEL,)):
        self.log = tempfile.TemporaryFile("w+")
        command = [HILO, "serve", "--port", "0", *options]
        for model in models:
            command += ["-m", str(model)]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.log)
        self.port = None
        while not self.port:
            text = self.text()
            for line in text.splitlines():
                if line.startswith("listening on"):
                    self.port = int(line.rsplit(":", 1)[1])
            if self.process.poll() is not None and "libmicrohttpd" in text:
                print("skipped: libmicrohttpd is missing\n0 passed, 0 failed, 1 skipped")
                sys.exit(0)
            assert self.process.poll() is None, text
            time.sleep(0.05)

    def text(self):
        return os.pread(self.log.fileno(), 1 << 22, 0).decode(errors="replace")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(PATIENCE)
        text = self.text()
        assert kind or (status == 0 and "Sanitizer" not in text), f"status {status}\n{text[-4000:]}"

    def connect(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)

    def ask(self, path, body=None, method=None, headers=None):
        """(status, the object or text of the answer)"""
        c = self.connect()
        data = body if body is None or isinstance(body, (bytes, str)) else json.dumps(body)
        c.request(method or ("GET" if body is None else "POST"), path, data, headers or {})
        r = c.getresponse()
        text = r.read().decode()
        c.close()
        self.headers = r.headers
        return r.status, json.loads(text) if r.headers.get("Content-Type", "").startswith("application/json") and text else text

    def good(self, path, body=None, **more):
        status, v = self.ask(path, body, **more)
        assert status == 200, (path, body, status, v)
        return v

    def bad(self, status, path, body=None, **more):
        got, v = self.ask(path, body, **more)
        assert got == status and set(v["error"]) == {"message", "type", "param", "code"}, (path, body, got, v)
        return v["error"]

    def events(self, path, body):
        c = self.connect()
        c.request("POST", path, json.dumps(body | {"stream": True}))
        r = c.getresponse()
        assert r.status == 200 and r.headers["Content-Type"] == "text/event-stream", r.read()
        events = [e for e in r.read().decode().split("\n\n") if e]
        c.close()
        return events

    def stream(self, path, body):
        """The objects of a stream that ends with [DONE]."""
        events = self.events(path, body)
        assert events[-1] == "data: [DONE]"
        return [json.loads(e[len("data: "):]) for e in events[:-1]]

    def metric(self, name):
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.good("/metrics").splitlines()
                   if line.startswith("hilo_" + name + "{"))

    def memory(self, field):
        """A line of /proc/PID/status, in kB."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.split(field + ":")[1].split()[0])

    def idle(self):
        """Waits until no slot is taken."""
        return soon(lambda: all(s["state"] == "idle" for s in self.good("/slots")) and self.metric("queued") == 0)

    def ended(self, how):
        """How many texts have ended like that."""
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.good("/metrics").splitlines()
                   if line.startswith("hilo_texts_total{") and f'end="{how}"' in line)


def soon(happened):
    """Waits until it returns something true; false: it has not for a long time."""
    end = time.time() + PATIENCE
    while not (value := happened()) and time.time() < end:
        time.sleep(0.02)
    return value


def user(text):
    return [{"role": "user", "content": text}]


PROMPTS = ["Licensed under", "The license grants", "This program is free", "Redistribution and use", "You may not", "A",
           "b c d",
           "WHEREAS the copyright holder " * 12, "WHEREAS the copyright holder " * 12 + "and", "the the the the", "\n\n\n"]


# ---- texts -----------------------------------------------------------------------------------

def test_basic(s):
    v = s.good("/v1/completions", {"prompt": "Licensed under", "max_tokens": 12, "temperature": 0})
    alone = subprocess.run([HILO, "generate", "-m", MODEL, "--raw", "-p", "Licensed under", "-n", "12", "--json"],
                           capture_output=True, text=True, check=True)
    assert v["choices"][0]["text"] == json.loads(alone.stdout)["text"]
    assert v["usage"]["completion_tokens"] == 12 and v["choices"][0]["finish_reason"] == "length"
    v = s.good("/v1/chat/completions", {"messages": user("hello"), "max_tokens": 5, "temperature": 0})
    m = v["choices"][0]["message"]
    assert v["object"] == "chat.completion" and m["role"] == "assistant" and m["content"]
    parts = [{"role": "user", "content": [{"type": "text", "text": "hel"}, {"type": "text", "text": "lo"}]}]
    w = s.good("/v1/chat/completions", {"messages": parts, "max_tokens": 5, "temperature": 0})
    assert w["choices"][0]["message"] == m
    model = s.good("/v1/models")["data"][0]
    assert model["id"] == "tiny-llama" and s.good("/v1/models/tiny-llama") == model
    assert s.good("/health") == {"status": "ok"}
    assert "<title>hilo</title>" in s.good("/")


def test_streams(s):
    for path, body in (("/v1/completions", {"prompt": "This program"}), ("/v1/chat/completions", {"messages": user("hello")})):
        body |= {"max_tokens": 30, "seed": 5, "n": 3, "stream_options": {"include_usage": True}}
        whole, chunks = s.good(path, body), s.stream(path, body)
        texts, ends = ["", "", ""], [None] * 3
        assert chunks[-1]["choices"] == [] and chunks[-1]["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]
        for chunk in chunks[:-1]:
            for c in chunk["choices"]:
                texts[c["index"]] += c["text"] if "text" in c else c["delta"].get("content", "")
                ends[c["index"]] = ends[c["index"]] or c["finish_reason"]
        for i, c in enumerate(whole["choices"]):
            assert texts[i] == (c["text"] if "text" in c else c["message"]["content"])
            assert ends[i] == c["finish_reason"]
        assert len(set(texts)) > 1  # each choice has a seed of its own
    events = s.events("/v1/responses", {"input": "hello", "max_output_tokens": 20, "temperature": 0})
    objects = [json.loads(e.split("data: ", 1)[1]) for e in events]
    assert [e.split("\n")[0] for e in events] == ["event: " + v["type"] for v in objects]
    text = "".join(v["delta"] for v in objects if v["type"] == "response.output_text.delta")
    assert [v["item"]["content"] for v in objects if v["type"] == "response.output_item.added"] == [[]]
    done = objects[-1]["response"]
    assert done["output"][0]["content"][0]["text"] == text
    whole = s.good("/v1/responses", {"input": user("hello"), "max_output_tokens": 20, "temperature": 0})
    assert whole["output"][0]["content"] == done["output"][0]["content"] and whole["usage"]["output_tokens"] <= 20


def test_parameters(s):
    ask = {"prompt": "Licensed under", "max_tokens": 20, "temperature": 0}
    full = s.good("/v1/completions", ask)["choices"][0]["text"]
    stop = full[8:11]
    v = s.good("/v1/completions", ask | {"stop": ["@@@", stop]})["choices"][0]
    assert v["text"] == full[:full.index(stop)] and v["finish_reason"] == "stop"
    streamed = "".join(c["choices"][0]["text"] for c in s.stream("/v1/completions", ask | {"stop": stop}))
    assert streamed == v["text"]
    same = [s.good("/v1/completions", ask | {"temperature": 1, "seed": 3})["choices"][0]["text"] for _ in range(2)]
    assert same[0] == same[1] != s.good("/v1/completions", ask | {"temperature": 1, "seed": 4})["choices"][0]["text"]
    scored = s.good("/v1/completions", ask | {"logprobs": 3})["choices"][0]["logprobs"]
    assert "".join(scored["tokens"]) == full and len(scored["token_logprobs"]) == 20
    assert all(max(t.values()) == p and len(t) == 3 for t, p in zip(scored["top_logprobs"], scored["token_logprobs"]))
    echo = s.good("/v1/completions", ask | {"echo": True, "logprobs": 1, "max_tokens": 2})["choices"][0]
    assert echo["text"].startswith("Licensed under") and echo["logprobs"]["token_logprobs"][0] is None
    first = s.good("/tokenize", {"content": full})["tokens"][0]
    banned = s.good("/v1/completions", ask | {"logit_bias": {str(first): -100}, "logprobs": 0})["choices"][0]
    assert banned["text"][:4] != full[:4]
    forced = s.good("/v1/completions", ask | {"logit_bias": {"65": 100}, "max_tokens": 5})["choices"][0]["text"]
    assert len(set(forced)) == 1
    varied = s.good("/v1/completions", ask | {"logit_bias": {"65": 20}, "presence_penalty": 2, "frequency_penalty": 2})
    assert varied["choices"][0]["text"] != s.good("/v1/completions", ask | {"logit_bias": {"65": 20}})["choices"][0]["text"]
    chat = s.good("/v1/chat/completions", {"messages": user("hi"), "max_tokens": 4, "logprobs": True, "top_logprobs": 2})
    content = chat["choices"][0]["logprobs"]["content"]
    assert all(len(t["top_logprobs"]) == 2 and bytes(t["bytes"]).decode(errors="replace") == t["token"] for t in content)
    ids = s.good("/tokenize", {"content": "Licensed under", "add_special": True})["tokens"]
    assert s.good("/v1/completions", ask | {"prompt": ids})["choices"][0]["text"] == full


def test_several_prompts(s):
    """Each prompt of a list has the choices that it has alone."""
    path, ask = "/v1/completions", {"max_tokens": 9, "seed": 6, "n": 2, "logprobs": 0, "echo": True}
    alone = [s.good(path, ask | {"prompt": p}) for p in ("Licensed under", "This program")]
    ids = [s.good("/tokenize", {"content": p, "add_special": True})["tokens"] for p in ("Licensed under", "This program")]
    want = [c for v in alone for c in v["choices"]]
    usage = {k: sum(v["usage"][k] for v in alone) for k in ("prompt_tokens", "completion_tokens", "total_tokens")}
    for prompts in (["Licensed under", "This program"], ids, ["Licensed under", ids[1]]):
        v = s.good(path, ask | {"prompt": prompts})
        assert [c["index"] for c in v["choices"]] == [0, 1, 2, 3] and {k: v["usage"][k] for k in usage} == usage
        assert [c | {"index": 0} for c in v["choices"]] == [c | {"index": 0} for c in want]
    texts = [""] * 4
    for chunk in s.stream(path, ask | {"prompt": ids}):
        for c in chunk["choices"]:
            texts[c["index"]] += c["text"]
    assert texts == [c["text"] for c in want]
    for wrong in ([], ["a", 5], ["a", []], [[1], [-1]], [["a"]], ["word "] * 300):
        s.bad(400, path, {"prompt": wrong, "max_tokens": 1})


def test_best_of(s):
    """The choices with the greatest mean log probability, best first; all of them count as generated."""
    path, ask = "/v1/completions", {"prompt": "Licensed under", "max_tokens": 8, "seed": 9, "logprobs": 0}
    every = s.good(path, ask | {"n": 6})
    mean = [sum(p) / len(p) for p in (c["logprobs"]["token_logprobs"] for c in every["choices"])]
    order = sorted(range(6), key=lambda i: -mean[i])
    v = s.good(path, ask | {"n": 2, "best_of": 6})
    assert [c["text"] for c in v["choices"]] == [every["choices"][i]["text"] for i in order[:2]]
    assert v["usage"] == every["usage"] and [c["index"] for c in v["choices"]] == [0, 1]
    two = s.good(path, ask | {"prompt": ["A", "Licensed under"], "n": 1, "best_of": 6, "logprobs": None})["choices"]
    assert two[1]["text"] == v["choices"][0]["text"] and two[1]["logprobs"] is None and len(two) == 2
    s.bad(400, path, ask | {"n": 3, "best_of": 2})
    s.bad(400, path, ask | {"best_of": 2, "stream": True})
    assert s.good(path, ask | {"n": 2, "best_of": 2})["choices"] == s.good(path, ask | {"n": 2})["choices"]


def test_scored_prompts(s):
    """max_tokens 0 writes nothing. The probable tokens at each place of a prompt are those that the model would choose there."""
    path = "/v1/completions"
    text = "Licensed under the Apache License"
    v = s.good(path, {"prompt": text, "max_tokens": 0, "echo": True, "logprobs": 4, "temperature": 0})
    c, scored = v["choices"][0], v["choices"][0]["logprobs"]
    assert c["text"] == text and c["finish_reason"] == "length" and v["usage"]["completion_tokens"] == 0
    ids = s.good("/tokenize", {"content": text, "add_special": True})["tokens"]
    assert len(scored["tokens"]) == len(ids) and scored["top_logprobs"][0] is None and scored["token_logprobs"][0] is None
    greedy = 0
    for i in range(1, len(ids)):
        top, token, p = scored["top_logprobs"][i], scored["tokens"][i], scored["token_logprobs"][i]
        assert top[token] == p and len(top) in (4, 5) and sum(map(math.exp, top.values())) < 1.0001
        step = s.good(path, {"prompt": ids[:i], "max_tokens": 1, "logprobs": 4, "temperature": 0})["choices"][0]["logprobs"]
        want = step["top_logprobs"][0]
        both = set(want) & set(top)  # prompts are read in another precision than tokens that are written
        assert len(both) >= 3 and all(abs(top[t] - want[t]) < 0.05 for t in both), (top, want)
        greedy += token in want and max(want, key=want.get) == token
    assert 0 < greedy < len(ids) - 1  # some are the most probable, and some are not
    plain = s.good(path, {"prompt": text, "max_tokens": 0, "echo": True, "logprobs": 0})["choices"][0]["logprobs"]
    assert all(abs(a - b) < 1e-4 for a, b in zip(plain["token_logprobs"][1:], scored["token_logprobs"][1:]))
    long = text * 30  # more tokens than are scored at once
    first = s.good(path, {"prompt": long, "max_tokens": 0, "echo": True, "logprobs": 1})["choices"][0]["logprobs"]
    again = s.good(path, {"prompt": long, "max_tokens": 0, "echo": True, "logprobs": 0})["choices"][0]["logprobs"]
    assert len(first["tokens"]) > 150 and first["tokens"] == again["tokens"]
    assert all(abs(a - b) < 1e-4 for a, b in zip(first["token_logprobs"][1:], again["token_logprobs"][1:]))
    empty = s.good(path, {"prompt": text, "max_tokens": 0})["choices"][0]
    assert empty["text"] == "" and empty["logprobs"] is None
    assert s.stream(path, {"prompt": text, "max_tokens": 0, "echo": True})[0]["choices"][0]["text"] == text
    assert s.bad(400, path, {"prompt": text, "suffix": "x"})["param"] == "suffix"
    s.good(path, {"prompt": text, "suffix": None, "max_tokens": 1})


def test_llama_server(s):
    """llama-server's own endpoints."""
    ask = {"prompt": "Licensed under", "n_predict": 12, "temperature": 0}
    text = s.good("/v1/completions", {"prompt": "Licensed under", "max_tokens": 12, "temperature": 0})["choices"][0]["text"]
    v = s.good("/completion", ask | {"cache_prompt": True})
    assert v["content"] == text and v["stop"] is True and v["stop_type"] == "limit" and v["model"] == "tiny-llama"
    ids = s.good("/tokenize", {"content": "Licensed under", "add_special": True})["tokens"]
    assert v["tokens_predicted"] == len(v["tokens"]) == 12 and v["tokens_evaluated"] == len(ids)
    assert s.good("/detokenize", {"tokens": v["tokens"]})["content"] == text
    assert v["generation_settings"]["n_predict"] == 12 and v["generation_settings"]["temperature"] == 0
    assert v["timings"]["predicted_n"] == 12 and v["timings"]["predicted_per_second"] > 0
    assert v["timings"]["prompt_n"] + v["timings"]["cache_n"] == len(ids)
    w = s.good("/completion", ask | {"stop": [text[4:7]]})
    assert w["content"] == text[:text.index(text[4:7])] and w["stop_type"] == "word" and w["stopping_word"] == text[4:7]
    w = s.good("/completion", ask | {"grammar": 'root ::= "ab"'})
    assert w["content"] == "ab" and w["stop_type"] == "eos"
    w = s.good("/completion", ask | {"json_schema": SCHEMAS[0], "n_predict": -1, "seed": 2, "temperature": 1})
    assert obeys(json.loads(w["content"]), SCHEMAS[0], None)
    w = s.good("/completion", ask | {"n_probs": 3})["completion_probabilities"]
    assert [p["id"] for p in w] == v["tokens"] and all(p["top_logprobs"][0]["id"] == p["id"] for p in w)
    assert s.good("/completion", ask | {"prompt": ids})["content"] == text
    assert s.good("/completion", ask | {"prompt": ["Licensed", *ids[-1:]]})["content"] == text
    both = s.good("/completion", ask | {"prompt": ["A", "Licensed under"]})
    assert [b["index"] for b in both] == [0, 1] and both[1]["content"] == text
    assert s.good("/completion", ask | {"n_predict": 0})["content"] == ""
    events = [json.loads(e[len("data: "):]) for e in s.events("/completion", ask)]
    assert [e["stop"] for e in events] == [False] * (len(events) - 1) + [True]
    assert "".join(e["content"] for e in events) == text and events[-1]["stop_type"] == "limit"
    assert sum((e["tokens"] for e in events), []) == v["tokens"]
    s.bad(400, "/completion", {})
    props = s.good("/props")
    assert props["default_generation_settings"]["n_ctx"] == s.good("/v1/models")["data"][0]["context_length"]
    assert props["default_generation_settings"]["params"]["temperature"] == 1 and props["total_slots"] == 6
    assert "start_header_id" in props["chat_template"] and props["bos_token"] == "<|begin_of_text|>"
    assert props["modalities"] == {"vision": False, "audio": False} and props["model_alias"] == "tiny-llama"


def test_paths(s):
    """A slash at the end of a path is not minded."""
    for path in ("/v1/models", "/health", "/slots", "/v1/models/tiny-llama", "/props"):
        assert s.good(path + "/") == s.good(path)
    ask = {"prompt": "a", "max_tokens": 2, "temperature": 0}
    assert s.good("/v1/completions/", ask)["choices"] == s.good("/v1/completions", ask)["choices"]
    for path, method, allow in (("/v1/completions", "GET", "POST, OPTIONS"), ("/health", "DELETE", "GET, HEAD, OPTIONS")):
        s.bad(405, path, method=method)
        assert s.headers["Allow"] == allow
        assert s.ask(path, method="OPTIONS")[0] == 204 and s.headers["Allow"] == allow
    for path in ("/v1/models//", "/v1/completion", "//", "/v1/modelsx"):
        s.bad(404, path)


def test_tokens(s):
    for text in PROMPTS + ["héllo wörld 你好 🎉"]:
        ids = s.good("/tokenize", {"content": text})["tokens"]
        assert s.good("/detokenize", {"tokens": ids})["content"] == text
    pieces = s.good("/tokenize", {"content": "hello", "with_pieces": True})["tokens"]
    assert "".join(p["piece"] for p in pieces) == "hello"
    prompt = s.good("/apply-template", {"messages": user("hi")})["prompt"]
    assert "hi" in prompt and prompt.endswith("assistant<|end_header_id|>\n\n")
    without = s.good("/apply-template", {"messages": user("hi"), "add_generation_prompt": False})["prompt"]
    assert prompt.startswith(without) and without.endswith("hi<|eot_id|>")
    s.bad(400, "/apply-template", {"messages": user("hi"), "add_generation_prompt": 1})
    # The text of users never becomes special tokens.
    eot = s.good("/v1/chat/completions", {"messages": user("x"), "max_tokens": 1})["usage"]["prompt_tokens"]
    more = s.good("/v1/chat/completions", {"messages": user("x<|eot_id|>"), "max_tokens": 1})["usage"]["prompt_tokens"]
    assert more > eot + 1


def test_embeddings(s):
    v = s.good("/v1/embeddings", {"input": ["hello", "world wide", "hello"]})["data"]
    assert [d["index"] for d in v] == [0, 1, 2] and v[0]["embedding"] == v[2]["embedding"] != v[1]["embedding"]
    packed = base64.b64decode(s.good("/v1/embeddings", {"input": "hello", "encoding_format": "base64"})["data"][0]["embedding"])
    assert "'encoding_format' is not supported" not in s.text()
    numbers = struct.unpack(f"<{len(packed) // 4}f", packed)
    assert max(abs(a - b) for a, b in zip(numbers, v[0]["embedding"])) < 1e-6 and len(numbers) == len(v[0]["embedding"])
    ids = s.good("/tokenize", {"content": "hello", "add_special": True})["tokens"]
    assert s.good("/v1/embeddings", {"input": ids})["data"][0]["embedding"] == v[0]["embedding"]
    s.bad(400, "/v1/embeddings", {"input": []})
    s.bad(400, "/v1/embeddings", {"input": ["a", {}]})
    s.bad(400, "/v1/embeddings", {"input": "word " * 5000})


# ---- constrained texts -----------------------------------------------------------------------

SCHEMAS = [
    {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "boolean"}}, "required": ["a", "b"]},
    {"type": "object", "properties": {"name": {"type": "string", "maxLength": 6}, "kind": {"enum": ["x", 1, None]}}},
    {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 3},
    {"anyOf": [{"const": {"q": [1, "two\n\"\\"]}}, {"type": "null"}]},
    {"$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"anyOf": [
        {"$ref": "#/$defs/node"}, {"type": "null"}]}}, "required": ["v", "next"]}}, "$ref": "#/$defs/node"},
    {"type": ["string", "null"], "maxLength": 4},
    {"type": "object", "additionalProperties": {"type": "boolean"}},
    {"type": "array", "prefixItems": [{"type": "boolean"}, {"enum": ["é", "你"]}]},
    {"type": "object", "properties": {"id": {"type": "string", "pattern": "^[A-Z]{2}-\\d{1,6}$"}, "n": {
        "type": "integer", "minimum": -5, "maximum": 120}, "x": {"type": "number", "exclusiveMinimum": 0}, "day": {
            "type": "string", "format": "date"}}, "required": ["id", "n", "day"]},
]


def form(schema):
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}}


def obeys(v, s, root):
    if "$ref" in s:
        return obeys(v, root["$defs"]["node"], root)
    if "anyOf" in s:
        return any(obeys(v, one, root) for one in s["anyOf"])
    if "const" in s:
        return v == s["const"]
    if "enum" in s:
        return v in s["enum"]
    kinds = {"integer": int, "boolean": bool, "number": (int, float), "string": str, "null": type(None), "array": list,
             "object": dict}
    types = s["type"] if isinstance(s["type"], list) else [s["type"]]
    if not any(isinstance(v, kinds[t]) and (t == "boolean" or not isinstance(v, bool)) for t in types):
        return False
    if isinstance(v, str):
        return len(v) <= s.get("maxLength", 99) and re.search(s.get("pattern", ""), v) is not None and (
            "format" not in s or datetime.date.fromisoformat(v) is not None)
    if isinstance(v, (int, float)) and not isinstance(v, bool):
        return s.get("minimum", v) <= v <= s.get("maximum", v) and v > s.get("exclusiveMinimum", v - 1)
    if isinstance(v, list):
        items = s.get("prefixItems") or [s["items"]] * len(v)
        return s.get("minItems", 0) <= len(v) <= s.get("maxItems", 99) and len(v) == len(items) and all(
            obeys(x, i, root) for x, i in zip(v, items))
    if isinstance(v, dict):
        properties = s.get("properties", {})
        return all(r in v for r in s.get("required", [])) and all(
            obeys(x, properties[k] if properties else s["additionalProperties"], root) for k, x in v.items())
    return True


def test_schemas(s):
    complete = 0
    for schema in SCHEMAS:
        for seed in range(6):
            c = s.good("/v1/chat/completions", {"messages": user("answer"), "max_tokens": 150, "seed": seed} | form(schema))
            c = c["choices"][0]
            if c["finish_reason"] == "stop":
                v = json.loads(c["message"]["content"])
                assert obeys(v, schema, schema), (schema, v)
                complete += 1
    assert complete >= 40, complete
    wanted = {"format": {"type": "json_schema", "name": "x", "schema": SCHEMAS[0]}}
    text = s.good("/v1/responses", {"input": "x", "max_output_tokens": 200, "text": wanted})
    assert obeys(json.loads(text["output"][0]["content"][0]["text"]), SCHEMAS[0], None)
    v = s.good("/v1/completions", {"prompt": "x", "grammar": 'root ::= ("ab" | [0-9]{3}) "!"', "max_tokens": 20})
    v = v["choices"][0]["text"]
    assert v == "ab!" or (len(v) == 4 and v[:3].isdigit() and v[3] == "!"), v
    for schema, what in (({"type": "string", "pattern": "(?=a)"}, "pattern"), ({"type": "thing"}, "thing"),
                         ({"$ref": "#/none"}, "none")):
        e = s.bad(400, "/v1/chat/completions", {"messages": user("x")} | form(schema))
        assert what in e["message"]
    assert "rule 'x'" in s.bad(400, "/v1/completions", {"prompt": "x", "grammar": "root ::= x"})["message"]


TOOLS = [{"type": "function", "function": {"name": name, "parameters": {
    "type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}}} for name in ("first", "second")]


def test_tools(s):
    ask = {"messages": user("call"), "tools": TOOLS, "max_tokens": 200, "seed": 1}
    for choice in ("required", {"type": "function", "function": {"name": "second"}}):
        c = s.good("/v1/chat/completions", ask | {"tool_choice": choice})["choices"][0]
        call = c["message"]["tool_calls"][0]
        assert c["finish_reason"] == "tool_calls" and c["message"]["content"] is None
        assert call["function"]["name"] in ("first", "second")
        assert isinstance(json.loads(call["function"]["arguments"])["n"], int)
        assert choice == "required" or call["function"]["name"] == "second"
        chunks = s.stream("/v1/chat/completions", ask | {"tool_choice": choice})
        deltas = [c["choices"][0]["delta"] for c in chunks]
        assert [d["tool_calls"][0]["function"] for d in deltas if "tool_calls" in d] == [call["function"]]
        assert not any(d.get("content") for d in deltas)
    messages = user("call") + [{"role": "assistant", "content": None, "tool_calls": [call]},
                               {"role": "tool", "tool_call_id": call["id"], "content": "5"}]
    s.good("/v1/chat/completions", {"messages": messages, "tools": TOOLS, "max_tokens": 3})
    flat = [{"type": "function", **TOOLS[0]["function"]}]
    v = s.good("/v1/responses", {"input": "call", "tools": flat, "tool_choice": "required",
                                 "max_output_tokens": 200})["output"][0]
    assert v["type"] == "function_call" and v["name"] == "first" and "n" in json.loads(v["arguments"])
    s.bad(400, "/v1/chat/completions", ask | {"tool_choice": {"type": "function", "function": {"name": "third"}}})


def test_failed_choice(s):
    """A choice that cannot go on ends the answer with an error, while others could be written on, streamed or not."""
    # After "b" there are more and more ways to read what was written, until they are too many.
    grammar = 'root ::= "a" [a-z]{200} | "b" many\nmany ::= "x" many one | "x" many two | "x"\none ::= "x"\ntwo ::= "xx"'
    ask = {"grammar": grammar, "n": 6, "max_tokens": 300, "ignore_eos": True, "temperature": 100, "seed": 3}
    for path, more in (("/v1/completions", {"prompt": "x"}), ("/v1/chat/completions", {"messages": user("x")}),
                       ("/completion", {"prompt": ["x"] * 6, "n": 1})):
        body = ask | more
        assert "grammar" in s.bad(500, path, body)["message"] and s.idle()
        events = [json.loads(e.split("data: ", 1)[1]) for e in s.events(path, body)]
        assert set(events[-1]) == {"error"} and "grammar" in events[-1]["error"]["message"], events[-1]
        assert not any(c.get("finish_reason") for e in events[:-1] for c in e.get("choices", [])), events
        assert not any(e.get("stop") for e in events[:-1]), events
    assert s.idle()


def test_reasoning(s):
    grammar = 'root ::= "<think>\\nbecause" [a-z]{5} "</think>\\n\\nso " [a-z]{4}'
    ask = {"messages": user("x"), "grammar": grammar, "max_tokens": 60, "seed": 2}
    m = s.good("/v1/chat/completions", ask)["choices"][0]["message"]
    assert m["reasoning_content"].startswith("because") and len(m["reasoning_content"]) == 12
    assert m["content"].startswith("so ") and len(m["content"]) == 7
    parts = {"content": "", "reasoning_content": ""}
    for chunk in s.stream("/v1/chat/completions", ask):
        for k in parts:
            parts[k] += chunk["choices"][0]["delta"].get(k) or ""
    assert parts == {k: m[k] for k in parts}
    grammar = 'root ::= "see <tool_call>\\n{\\"name\\": \\"first\\", \\"arguments\\": {\\"n\\": 5}}\\n</tool_call>"'
    ask = {"messages": user("x"), "grammar": grammar, "tools": TOOLS, "max_tokens": 200}
    m = s.good("/v1/chat/completions", ask)["choices"][0]["message"]
    assert m["content"] == "see" and m["tool_calls"][0]["function"] == {"name": "first", "arguments": '{"n":5}'}
    text = "".join(c["choices"][0]["delta"].get("content") or "" for c in s.stream("/v1/chat/completions", ask))
    assert text == "see"


# ---- many at once ----------------------------------------------------------------------------

def score(s, body):
    v = s.good("/v1/completions", body)["choices"][0]
    return v["text"], v["logprobs"]["token_logprobs"], v["finish_reason"]


def test_batching(s):
    """Texts that join and leave at random are those of a server that writes one at a time, to the last digit."""
    rng = random.Random(11)
    bodies = []
    for i in range(40):
        body = {"prompt": rng.choice(PROMPTS) * rng.choice((1, 1, 2)), "max_tokens": rng.randint(1, 60), "logprobs": 0,
                "temperature": rng.choice((0, 0, 0.8)), "seed": i}
        if rng.random() < 0.2:
            body |= {"grammar": "root ::= [a-z ]{1,30} \"\\n\""}
        bodies.append(body)
    with Server("--slots", "1", "--no-warmup") as one:
        alone = [score(one, b) for b in bodies]
    order = list(range(len(bodies)))
    rng.shuffle(order)

    def late(i):
        time.sleep(rng.random() * 0.3)
        return i, score(s, bodies[i])
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        for i, got in pool.map(late, order):
            assert got == alone[i], (bodies[i], got, alone[i])
    assert s.metric("decode_rows_total") > s.metric("decode_steps_total")
    assert s.idle()


def test_prompts_together(s):
    """Prompts that are read together, of different lengths, some of which begin alike, have the answers of each alone."""
    text = "Permission is hereby granted, free of charge, to any person obtaining a copy of this software. " * 8
    # Three rounds: prompts of a common size, of many, and with a beginning that slots have read.
    rounds = [[text[40 * i:40 * i + 60] for i in range(6)], [text[7 * i:100 + 90 * i] for i in range(6)],
              [text[:500] + f" {i}" + text[:50 * i] for i in range(6)]]
    ask = {"max_tokens": 6, "temperature": 0, "logprobs": 0}
    with Server("--slots", "1", "--no-warmup") as one:
        alone = [[score(one, ask | {"prompt": p}) for p in prompts] for prompts in rounds]
    for prompts, want in zip(rounds, alone):
        v = s.good("/v1/completions", ask | {"prompt": prompts})
        got = [(c["text"], c["logprobs"]["token_logprobs"], c["finish_reason"]) for c in v["choices"]]
        assert got == want, (prompts, got, want)


def test_prefix(s):
    """A prompt that begins like another reads only the rest, and its text is the same."""
    long = "The copyright holder grants permission to use, copy, modify and distribute the software. " * 18
    ask = {"max_tokens": 8, "temperature": 0, "logprobs": 0}
    with Server("--slots", "1", "--no-warmup") as fresh:
        want = score(fresh, ask | {"prompt": long + "End of it"})
    assert score(s, ask | {"prompt": long + "Beginning"}) != want
    v = s.good("/v1/completions", ask | {"prompt": long + "End of it"})
    cached = v["usage"]["prompt_tokens_details"]["cached_tokens"]
    assert cached >= 128, v["usage"]
    assert (v["choices"][0]["text"], v["choices"][0]["logprobs"]["token_logprobs"], v["choices"][0]["finish_reason"]) == want


def test_warm_up():
    """The programs of steps with few tokens are compiled before the first request."""
    for option, late in (([], False), (["--no-warmup"], True)):
        with Server("--slots", "3", *option) as s:
            assert ("compiling program 1 of" in s.text()) != late
            # In one request, so that they are written together.
            s.good("/v1/completions", {"prompt": ["a", "b c d" * 8, "x y" * 30], "max_tokens": 100, "ignore_eos": True})
            assert s.metric("decode_rows_total") > s.metric("decode_steps_total")
            assert (s.metric("programs_late_total") > 0) == late, s.metric("programs_late_total")


def test_warm_up_at_limit():
    """Programs are compiled ahead, too, when caches have grown to the limit before."""
    def ask(first):
        s.good("/v1/completions", {"prompt": [first + i % 500 for i in range(600)], "max_tokens": 20, "ignore_eos": True})
    with Server("--slots", "2", "-O1", "--context", "1024") as s:
        ask(0)
        # Steps of 1 and 2 texts; portions of 8, 32, 128 and then 512, of two prompts together those of 32 and 128; growing a cache.
        every = (2 + 3 + 2) + 2 * (2 + 4 + 2) + 1
        assert soon(lambda: s.metric("programs_total") >= every), s.metric("programs_total")
        late = s.metric("programs_late_total")
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(ask, (1, 2)))
        assert s.metric("programs_late_total") == late


def test_gone(s):
    """A client that closes its connection frees its slots, and its other texts are not begun."""
    texts = 12  # more than the slots, so that it is long gone before the last could have ended
    assert s.idle()
    for stream in (True, False):
        before, cancelled = s.metric("texts_total"), s.ended("cancelled")
        c = s.connect()
        body = {"prompt": "a", "n": texts, "max_tokens": 1900, "ignore_eos": True, "stream": stream}
        c.request("POST", "/v1/completions", json.dumps(body))
        if stream:
            c.getresponse().read(50)
        else:
            assert soon(lambda: s.metric("slots_busy"))
        c.sock.close() if c.sock else None
        c.close()
        assert soon(lambda: s.metric("texts_total") == before + texts) and s.idle()
        assert s.ended("cancelled") > cancelled


# ---- limits and errors -----------------------------------------------------------------------

def changed_model(directory, name, weight):
    """A copy of the model whose last norm has the same bf16 weight everywhere."""
    copy = pathlib.Path(directory) / name
    shutil.copytree(MODEL, copy)
    file = copy / "model.safetensors"
    data = bytearray(file.read_bytes())
    size = struct.unpack("<Q", data[:8])[0]
    begin, end = json.loads(data[8:8 + size])["model.norm.weight"]["data_offsets"]
    data[8 + size + begin:8 + size + end] = struct.pack("<H", weight) * ((end - begin) // 2)
    file.write_bytes(data)
    return copy


def test_not_finite():
    """Log probabilities that JSON or OpenAI's answers do not have, and vectors with such numbers."""
    with tempfile.TemporaryDirectory() as d:
        none, steep = changed_model(d, "none", 0x7FC0), changed_model(d, "steep", 0x4A00)  # not a number, and 2 ** 21
        with Server("--precision", "f32", "--slots", "1", "--no-warmup", models=(none, steep)) as s:
            for model, expected in (("none", lambda p: p is None), ("steep", lambda p: -9999 <= p <= 0)):
                ask = {"model": model, "max_tokens": 3, "ignore_eos": True}
                v = s.good("/v1/completions", ask | {"prompt": "a b c", "logprobs": 2, "echo": True})["choices"][0]["logprobs"]
                assert len({len(column) for column in v.values()}) == 1 and len(v["tokens"]) > 4
                assert v["token_logprobs"][0] is None and all(map(expected, v["token_logprobs"][1:])), v
                assert all(len(top) >= 2 and all(map(expected, top.values())) for top in v["top_logprobs"][1:]), v
                steepest = [p for top in v["top_logprobs"][1:] for p in top.values()]
                v = s.good("/v1/chat/completions", ask | {"messages": user("a"), "logprobs": True, "top_logprobs": 2})
                v = v["choices"][0]["logprobs"]["content"]
                assert len(v) == 3 and all(len(t["top_logprobs"]) == 2 for t in v)
                assert all(expected(p["logprob"]) for t in v for p in (t, *t["top_logprobs"])), v
                v = s.good("/v1/completions", ask | {"prompt": "a", "n": 1, "best_of": 3, "temperature": 1})["choices"]
                assert len(v) == 1
            assert -9999 in steepest, steepest
            for form in ("float", "base64"):
                e = s.bad(500, "/v1/embeddings", {"model": "none", "input": "a", "encoding_format": form})
                assert "not finite" in e["message"]


def test_errors(s):
    chat, text = "/v1/chat/completions", "/v1/completions"
    s.bad(404, "/v1/nothing")
    s.bad(405, "/v1/models", {})
    s.bad(404, "/v1/models/tiny")
    s.bad(404, "/v1/models/x/tiny-llama")
    assert s.bad(400, chat, "{")["code"] == "invalid_json"
    for body in (b"", b"[]", b"\xff\xfe", b"[" * 100000, b'{"a":1,"a":2}', b"null"):
        s.bad(400, chat, body)
    assert s.bad(404, chat, {"model": "gpt-5", "messages": user("x")})["code"] == "model_not_found"
    for wrong in ({"temperature": "hot"}, {"temperature": -1}, {"top_p": 2}, {"n": 0}, {"n": 1.5}, {"n": 100},
                  {"max_tokens": 0}, {"max_tokens": 1e30}, {"stop": [""]}, {"stop": 5}, {"stop": ["x"] * 17},
                  {"logit_bias": {"x": 1}},
                  {"stream": 1}, {"logit_bias": {"99999999": 1}}, {"top_logprobs": 2}, {"seed": "x"},
                  {"response_format": {"type": "xml"}},
                  {"tools": {}}, {"tool_choice": "maybe", "tools": TOOLS}, {"messages": []}, {"messages": [{}]},
                  {"messages": [{"role": "user", "content": 5}]},
                  {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}):
        s.bad(400, chat, {"messages": user("x"), "max_tokens": 2} | wrong)
    for wrong in ({"prompt": []}, {"prompt": [1, "x"]}, {"prompt": [-1]}, {"prompt": [10 ** 20]}, {"prompt": {}},
                  {"prompt": ["a", {}]}, {"prompt": ["a", "b"], "n": 17}):
        s.bad(400, text, wrong)
    assert s.bad(400, text, {"prompt": "word " * 5000})["code"] == "context_length_exceeded"
    s.bad(400, "/detokenize", {"tokens": [10 ** 9]})
    s.bad(400, "/tokenize", {"content": 5})
    s.good(text, {"prompt": "x", "max_tokens": 1, "wibble": 3})
    assert "'wibble' is not supported" in s.text() and "'best_of' is" not in s.text()
    s.good(chat, {"messages": user("x"), "max_tokens": 1, "best_of": 2})  # which completions have
    assert "'best_of' is not supported" in s.text()


def test_limits():
    with Server("--slots", "1", "--queue", "1", "--no-warmup", "--max-body", "10000", "--api-key", "one", "--api-key", "two",
                "--max-tokens", "1500", "--cors-origin", "https://a.example", models=(MODEL, "/nonexistent")) as s:
        key = {"Authorization": "Bearer two"}
        s.bad(401, "/v1/models")
        s.bad(401, "/v1/models", headers={"Authorization": "Bearer twoo"})
        assert "nonexistent" in s.good("/health")["failed_models"]
        assert [m["id"] for m in s.good("/v1/models", headers=key)["data"]] == ["tiny-llama"]
        assert "cannot open" in s.bad(503, "/v1/completions", {"model": "nonexistent", "prompt": "x"}, headers=key)["message"]
        s.bad(413, "/v1/completions", {"prompt": "x" * 20000}, headers=key)
        v = s.good("/v1/completions", {"prompt": "a", "ignore_eos": True}, headers=key)
        assert v["usage"]["completion_tokens"] == 16  # the default, which --max-tokens does not raise
        s.ask("/v1/models", method="OPTIONS", headers={"Origin": "https://a.example"})
        assert s.headers["Access-Control-Allow-Origin"] == "https://a.example"
        s.ask("/v1/models", method="OPTIONS", headers={"Origin": "https://b.example"})
        assert s.headers["Access-Control-Allow-Origin"] is None
        body = {"messages": user("a"), "max_tokens": 1500, "ignore_eos": True, "temperature": 0}
        assert s.bad(503, "/v1/chat/completions", body | {"n": 3}, headers=key)["code"] == "overloaded"
        s.good("/v1/chat/completions", body | {"n": 2, "max_tokens": 5}, headers=key)  # as many as slots and queue
        answers = []
        for _ in range(20):  # until requests come faster than they are answered
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                burst = list(pool.map(lambda _: s.ask("/v1/chat/completions", body, headers=key)[0], range(6)))
            assert burst.count(200) >= 2, burst
            answers += burst
            if 503 in burst:
                break
        assert set(answers) == {200, 503}, answers
    with Server("--timeout", "1", "--no-warmup") as s:
        body = {"prompt": ["a"] * 16, "n": 16, "max_tokens": 2000, "ignore_eos": True}  # much more than in a second
        e = s.bad(504, "/v1/completions", body)
        assert "time" in e["message"] and s.idle()


def test_drain():
    """SIGTERM: what runs is answered to its end, and new requests are refused."""
    s = Server("--no-warmup")
    s.good("/v1/completions", {"prompt": "x", "max_tokens": 2})
    answers = []
    body = {"prompt": "a", "n": 8, "max_tokens": 1200, "ignore_eos": True}
    running = threading.Thread(target=lambda: answers.append(s.ask("/v1/completions", body)))
    running.start()
    assert soon(lambda: s.metric("slots_busy") or not running.is_alive())
    s.process.send_signal(signal.SIGTERM)

    def refused():  # once the signal is handled
        try:
            status, _ = s.ask("/v1/completions", {"prompt": "x", "max_tokens": 1})
            assert status in (200, 503)
            return status == 503
        except (OSError, http.client.HTTPException):
            return True  # it has ended
    assert soon(refused)
    running.join()
    assert s.process.wait(PATIENCE) == 0
    assert answers[0][0] == 200 and answers[0][1]["usage"]["completion_tokens"] == 8 * 1200


def children(pid):
    return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_processes():
    """A model over two processes, and over two devices of one: the same bits; the texts of one device. A process that is killed
    ends requests with an error that names it."""
    options = ["--precision", "f32", "--slots", "4", "--no-warmup", "--threads", "2"]
    bodies = [{"prompt": p, "max_tokens": 12, "temperature": 0, "logprobs": 3} for p in PROMPTS[:4]]

    def answers(s):
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            return [v["choices"] for v in pool.map(lambda b: s.good("/v1/completions", b), bodies)]

    with Server(*options) as one:
        alone = answers(one)
    with Server(*options, "--devices", "2") as devices:
        expected = answers(devices)
    assert [a[0]["text"] for a in alone] == [a[0]["text"] for a in expected]
    try:
        s = Server(*options, "--processes", "2")
    except AssertionError as e:
        if "libucx0" in str(e):
            print("skipped: test_processes: UCX (libucx0) is not installed")
            return
        raise
    assert answers(s) == expected
    s.good("/v1/embeddings", {"input": "hello"})
    (pid,) = children(s.process.pid)
    os.kill(pid, signal.SIGSTOP)  # the request waits for it
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(s.ask, "/v1/completions", bodies[0])
        assert soon(lambda: s.metric("slots_busy"))
        os.kill(pid, signal.SIGKILL)
        status, v = answer.result()
    assert status == 500 and v["error"]["message"].count("node 1 (host") == 1 and f"pid {pid}" in v["error"]["message"], v
    status, v = s.ask("/health")
    assert status == 503 and f"pid {pid}" in v["failed_models"]["tiny-llama"], v
    assert "node 1" in s.bad(500, "/v1/completions", bodies[1])["message"]
    assert "node 1" in s.bad(500, "/v1/embeddings", {"input": "hello"})["message"]
    s.process.send_signal(signal.SIGTERM)
    assert s.process.wait(PATIENCE) == 1 and "node 1 was ended by signal 9" in s.text()
    with Server(*options, "--processes", "2") as s:  # and all end together
        pid = children(s.process.pid)[0]
    assert not pathlib.Path(f"/proc/{pid}").exists()


def raw(s, data, pause=0.0, answer=True):
    with socket.create_connection(("127.0.0.1", s.port), timeout=60) as c:
        for i in range(0, len(data), 1 + len(data) // 4 if pause else len(data) or 1):
            c.sendall(data[i:i + 1 + len(data) // 4 if pause else len(data)])
            time.sleep(pause)
        return c.recv(1 << 16) if answer else b""


def test_abuse(s):
    """Requests of all kinds: good, malformed, oversized, slow, and abandoned ones."""
    rng = random.Random(5)
    total = 10000 if LONG else 300

    def one(i):
        r = random.Random(i)
        kind = r.randrange(8)
        body = json.dumps({"prompt": r.choice(PROMPTS), "max_tokens": r.randint(1, 40), "seed": i, "stream": r.random() < 0.5})
        request = f"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        try:
            if kind == 0:
                return s.ask("/v1/completions", body)[0] == 200
            if kind == 1:  # abandoned
                raw(s, request, answer=False)
            elif kind == 2:  # slow
                return b" 200 " in raw(s, request, pause=0.02)[:20]
            elif kind == 3:  # ends early
                raw(s, request[:r.randrange(len(request))], answer=False)
            elif kind == 4:  # bytes that are changed
                changed = bytearray(request)
                for _ in range(r.randint(1, 5)):
                    changed[r.randrange(len(changed))] = r.randrange(256)
                raw(s, bytes(changed), answer=False)
            elif kind == 5:  # no HTTP
                raw(s, bytes(r.randrange(256) for _ in range(r.randrange(2000))), answer=False)
            elif kind == 6:  # lengths that do not fit
                length = b"Content-Length: " + r.choice([b"9", b"-", b"x"])
                raw(s, request.replace(b"Content-Length: ", length), answer=False)
            else:  # values of other types
                v = json.loads(body)
                v[r.choice(list(v))] = r.choice([None, -1, 1e308, "x", [], {}, True, [[]], "\u0000", 2 ** 70])
                return s.ask("/v1/completions", v)[0] in (200, 400)
        except (OSError, http.client.HTTPException):
            pass
        return True
    order = list(range(total))
    rng.shuffle(order)
    resident = []
    for part in (order[:total // 5], order[total // 5:]):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            assert all(pool.map(one, part))
        assert s.idle()
        resident.append(s.memory("VmRSS"))
    print(f"test_abuse: {total} requests; resident after a fifth of them {resident[0]} kB, after all {resident[1]} kB")
    assert resident[1] < 1.25 * resident[0] + (32 << 10), "memory grows"
    assert s.good("/v1/completions", {"prompt": "Licensed under", "max_tokens": 12, "temperature": 0})["choices"][0]["text"]
    assert soon(lambda: len(list(pathlib.Path(f"/proc/{s.process.pid}/fd").iterdir())) < 100)


def main():
    probe = subprocess.run([HILO, "serve", "--port", "0", "-m", "/nonexistent"], capture_output=True, text=True)
    tests = [f for name, f in globals().items() if name.startswith("test_") and
             (len(sys.argv) == 1 or any(word in name for word in sys.argv[1:]))]
    passed = failed = 0
    assert probe.returncode == 3 and "no model was loaded" in probe.stderr, probe
    with Server("--slots", "6") as server:
        for test in tests:
            begin = time.time()
            try:
                test(server) if test.__code__.co_argcount else test()
                passed += 1
                print(f"passed: {test.__name__}, {time.time() - begin:.1f} s", flush=True)
            except Exception as e:  # each test is reported, whatever went wrong
                failed += 1
                where = e.__traceback__
                while where.tb_next and where.tb_next.tb_frame.f_code.co_filename == __file__:
                    where = where.tb_next
                print(f"failed: {test.__name__}, line {where.tb_lineno}: {type(e).__name__}: {str(e)[:2000]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
