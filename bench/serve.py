#!/usr/bin/env python3
"""Measures servers of OpenAI's interface: tokens a second and the time to the first token with some clients at once.

    bench/serve.py NAME=URL… [--clients 1,4,16] [--prompt 128] [--tokens 128] [--runs 3] [--settle 0] [--model NAME]
                   [--save FORMATS --threads N]

Each client asks once for a text of so many tokens after a prompt of so many, which differ. A row for each number of
clients and each server: generated tokens a second of all clients together, and seconds to the first token, median and
greatest; medians of runs, in which servers take turns. Before, each server writes a text that is not measured, and has
--settle seconds for what it does while it is idle: hilo compiles programs then, which would slow down the other
servers. --save keeps them in bench/results/PROCESSOR/serve.json; FORMATS says what the servers' weights are, such as
"int4 beside q4_0".
Needs nothing but Python.
"""
import argparse
import http.client
import json
import random
import statistics
import threading
import time
import urllib.parse

import results

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("servers", nargs="+", metavar="NAME=URL")
parser.add_argument("--clients", default="1,4,16")
parser.add_argument("--prompt", type=int, default=128)
parser.add_argument("--tokens", type=int, default=128)
parser.add_argument("--runs", type=int, default=3)
parser.add_argument("--settle", type=float, default=0, metavar="SECONDS")
parser.add_argument("--model")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--save", metavar="FORMATS")
parser.add_argument("--threads", type=int, default=0, help="of each server, as it is to be named in results")
parser.add_argument("--versions", nargs="*", default=[], help="of the servers, as they are to be named in results")
o = parser.parse_args()


def ask(url, seed, out):
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
            if b'"usage"' in line:
                tokens = (json.loads(line[6:]).get("usage") or {}).get("completion_tokens", tokens)
    out.append((first, tokens, begin, time.perf_counter()))


def measure(url, n, seed):
    out = []
    threads = [threading.Thread(target=ask, args=(url, seed + i, out)) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    seconds = max(x[3] for x in out) - min(x[2] for x in out)
    firsts = [x[0] for x in out]
    return {"tok_s": sum(x[1] for x in out) / seconds, "first_token_s": statistics.median(firsts),
            "first_token_most_s": max(firsts)}


servers = {name: urllib.parse.urlparse(url) for name, url in (s.split("=", 1) for s in o.servers)}
turns = 0
for url in servers.values():
    measure(url, 1, o.seed * 1000000)
time.sleep(o.settle)
print("clients server            tok/s   first token, s: median   greatest")
for n in map(int, o.clients.split(",")):
    runs = {name: [] for name in servers}
    for _ in range(o.runs):
        turns += 1
        for name, url in servers.items():
            runs[name].append(measure(url, n, o.seed * 1000000 + turns * 1000))  # no prompt twice
    engines = {}
    for name, r in runs.items():
        e = engines[name] = {"runs": o.runs} | {k: statistics.median(x[k] for x in r) for k in r[0]}
        print(f"{n:7} {name:16} {e['tok_s']:6.1f} {e['first_token_s']:24.2f} {e['first_token_most_s']:10.2f}", flush=True)
    if o.save:
        name = f"{o.save}, {n} client{'s'[:n > 1]}, {o.prompt} in, {o.tokens} out"
        results.save("serve", [{"name": name, "engines": engines}], o.threads, o.versions)
