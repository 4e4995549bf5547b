#!/usr/bin/env python3
"""hilo and llama.cpp on one Llama, in one run: tokens a second of reading a prompt and of decoding.

    bench/make_llama.py DIR && bench/llama_peers.py DIR --llama BIN [--formats bf16 int8 q4_k …] [--save]

Each format is a model for hilo and a GGUF file of as many bits for llama.cpp, made beside DIR when missing: f32, bf16, int8 and
int4 (hilo's own files beside Q8_0 and Q4_0) and any type of GGUF, which both read from the same file. BIN is the directory of
llama-bench, and of llama-quantize for types that `hilo convert` does not write; without it hilo's figures stand alone. Each
engine runs in a process of its own, in alternation; medians are printed. As llama-bench does, hilo reads another prompt of that
length before the one that is measured, which begins with other tokens, so that none of it is in the cache. `share` is the bytes
of weights that a step reads, times steps a second, over the bandwidth of reading them, which hilo measures in the same process.
--save keeps the figures in bench/results/PROCESSOR/llama.json, from which bench/tables.py makes the table of docs/PERFORMANCE.md.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess

import results

OWN = {"int8": "q8_0", "int4": "q4_0", "int4z": "q4_1"}  # hilo's precisions, and llama.cpp's types of about as many bits
CONVERTED = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1")  # by hilo


def prepare(form, o):
    """The models of a format for hilo and for llama.cpp."""
    kind = OWN.get(form, form)
    file = o.files / f"{kind}.gguf"
    if not file.exists() and (o.llama or form not in OWN):
        o.files.mkdir(parents=True, exist_ok=True)
        if kind in CONVERTED:
            output([o.hilo, "convert", o.model, "-o", file, "--type", kind])
        else:
            source, name = prepare("bf16", o)[1], kind.upper() + ("_S" if re.fullmatch("q[345]_k", kind) else "")
            output([o.llama / "llama-quantize", "--pure", source, file, name])
    if form not in OWN:
        return file, file
    own = o.files / form
    if not own.exists():
        output([o.hilo, "quantize", o.model, "-o", own, f"--{form}"])
    return own, file


def run_llama(file, o):
    p = subprocess.Popen([o.llama / "llama-bench", "-m", file, "-p", str(o.prompt), "-n", str(o.tokens), "-t", str(o.threads),
                          "-r", "1", "-o", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    tests = json.loads(p.stdout.read())
    peak = os.wait4(p.pid, 0)[2].ru_maxrss * 1024
    speed = {("prefill_tok_s" if t["n_prompt"] else "decode_tok_s"): t["avg_ts"] for t in tests}
    return speed | {"peak_bytes": peak, "version": o.llama_version or f"llama.cpp {tests[0]['build_commit']}"}


def output(command, text=None):
    """Of a process in which hilo runs nothing before it has optimised code; `text` is its input."""
    return subprocess.run(list(map(str, command)), input=text, capture_output=True, text=True, check=True,
                          env={**os.environ, "HILO_TIER": "optimised"})


def prompt(o, first):
    """Text of about as many tokens as are wanted, from a letter on."""
    text = "".join(chr(97 + (first + i * 7) % 26) for i in range(4 * o.prompt))
    count = len(output([o.hilo, "tokenize", "-m", o.model, text]).stdout.split())
    return text[:max(1, len(text) * o.prompt // max(1, count))]


def run_hilo(model, o):
    p = output([o.hilo, "generate", "-m", model, "--raw", "-n", o.tokens + 1, "--threads", o.threads, "--context", 512, "--json",
                "--timing"], f"{prompt(o, 1)}\n{prompt(o, 0)}\n")
    r = json.loads(p.stdout.splitlines()[-1])
    gbs, share, most = re.findall(r"weights\s+([\d.]+) GB/s (\d+) % of the measured read bandwidth, ([\d.]+)", p.stderr)[-1]
    return r | {"share": float(share) / 100, "gbs": float(gbs), "bandwidth": float(most)}


def median(runs, key):
    return statistics.median(r[key] for r in runs)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model", type=pathlib.Path)
    p.add_argument("--formats", nargs="+", default=["f32", "bf16", "int8", "int4", "q4_k"])
    p.add_argument("--hilo", default="build/hilo")
    p.add_argument("--llama", type=pathlib.Path, help="directory of llama-bench and llama-quantize")
    p.add_argument("--llama-version", help="as it is to be named in results; default: the commit that llama-bench says")
    p.add_argument("--files", type=pathlib.Path, help="directory for the other files; default: DIR/peers")
    p.add_argument("--prepare", action="store_true", help="only write the files")
    p.add_argument("--save", action="store_true")
    for name, value in (("threads", os.cpu_count()), ("tokens", 64), ("prompt", 128), ("runs", 3)):
        p.add_argument(f"--{name}", type=int, default=value)
    o = p.parse_args()
    o.files = o.files or o.model / "peers"
    heads = ["format", *("prefill tok/s", "llama.cpp", "ratio"), *("decode tok/s", "llama.cpp", "ratio"), "share", "GB/s",
             *("peak MB", "llama.cpp")]
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for form in o.formats:
        model, file = prepare(form, o)
        if o.prepare:
            continue
        ours, theirs = [], []
        for _ in range(o.runs):
            ours.append(run_hilo(model, o))
            if o.llama:
                theirs.append(run_llama(file, o))
        cells = [form]
        for key in ("prefill_tok_s", "decode_tok_s"):
            a, b = median(ours, key), median(theirs, key) if theirs else None
            cells += [f"{a:.1f}", f"{b:.1f}" if b else "–", f"{a / b:.2f}" if b else "–"]
        cells += [f"{100 * median(ours, 'share'):.0f} %", f"{median(ours, 'gbs'):.1f} of {median(ours, 'bandwidth'):.1f}"]
        cells += [f"{median(x, 'peak_bytes') / 1e6:.0f}" if x else "–" for x in (ours, theirs)]
        print("| " + " | ".join(cells) + " |", flush=True)
        if o.save:
            kept = ("prefill_tok_s", "decode_tok_s", "share", "peak_bytes")
            engines = {"hilo": {k: median(ours, k) for k in kept} | {"runs": o.runs}}
            if theirs:
                engines["llama.cpp"] = {k: median(theirs, k) for k in kept if k != "share"} | {"runs": o.runs}
            name = form if form not in OWN else f"{form} beside {OWN[form]}"
            results.save("llama", [{"name": name, "engines": engines}], o.threads, sorted({t["version"] for t in theirs}))


if __name__ == "__main__":
    main()
