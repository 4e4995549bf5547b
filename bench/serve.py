#!/usr/bin/env python3
"""Measures a server of OpenAI's interface: tokens a second and the time to the first token with some clients at once.

    bench/serve.py URL [--clients 1,4,16] [--prompt 128] [--tokens 128] [--model NAME]

Each client asks once for a text of so many tokens after a prompt of about so many words, which differ. A row for each number of
clients: generated tokens a second of all clients together, and seconds to the first token, median and greatest. Needs nothing but Python.
"""
import argparse
import http.client
import json
import random
import statistics
import threading
import time
import urllib.parse

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("url")
parser.add_argument("--clients", default="1,4,16")
parser.add_argument("--prompt", type=int, default=128)
parser.add_argument("--tokens", type=int, default=128)
parser.add_argument("--model")
parser.add_argument("--seed", type=int, default=1)
o = parser.parse_args()
url = urllib.parse.urlparse(o.url)


def ask(seed, out):
    rng = random.Random(seed)
    prompt = [rng.randrange(1000, 1250) for _ in range(o.prompt)]
    body = {"prompt": prompt, "max_tokens": o.tokens, "temperature": 0, "ignore_eos": True, "stream": True,
            "stream_options": {"include_usage": True}}
    if o.model:
        body["model"] = o.model
    c = http.client.HTTPConnection(url.hostname, url.port, timeout=3600)
    begin = time.perf_counter()
    c.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
    r = c.getresponse()
    first, tokens = None, 0
    for line in r:
        if line.startswith(b"data: {"):
            first = first or time.perf_counter() - begin
            tokens = (json.loads(line[6:]).get("usage") or {}).get("completion_tokens", tokens)
    out.append((first, tokens, begin, time.perf_counter()))


print("clients   tok/s   first token, s: median   greatest")
for n in map(int, o.clients.split(",")):
    out = []
    threads = [threading.Thread(target=ask, args=(o.seed * 1000 + 100 * n + i, out)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    seconds = max(x[3] for x in out) - min(x[2] for x in out)
    firsts = [x[0] for x in out]
    print(f"{n:7} {sum(x[1] for x in out) / seconds:7.1f} {statistics.median(firsts):24.2f} {max(firsts):10.2f}", flush=True)
