#!/usr/bin/env python3
"""Compares hilo with llama.cpp on a model in each format of GGUF: greedy tokens, and the log-probabilities of the likeliest 20.

    check_gguf.py HILO LLAMA_BIN [TYPE...]

LLAMA_BIN is the directory of llama-server and llama-quantize. The model is tests/llm/tiny-llama, widened so that blocks of 256
numbers fit, with the same values; llama-quantize writes it in each type, and back in f32: what hilo computes with those weights
in f32 is the reference. Printed are the root mean squares of the differences from it in log-probabilities: of the model before
it was quantised (the error of the type), of llama.cpp and of hilo; and how many greedy tokens are equal, up to the first that
differs in each text. llama.cpp rounds the inputs of products to 8 bits. The exit status is 1 if hilo is further from the reference
than the type is from the model and llama.cpp from the reference. Needs numpy and safetensors (PyPI)."""
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

import numpy as np
from safetensors.numpy import save_file

TINY = pathlib.Path(__file__).resolve().parents[1] / "llm/tiny-llama"
TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ4_NL", "IQ4_XS",
         "MXFP4"]
TOKENS = 48
TOP = 20


def tensors(path):
    """The bf16 tensors of a safetensors file as f32."""
    raw = path.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    for name, t in json.loads(raw[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + x for x in t["data_offsets"])
            data = np.frombuffer(raw[begin:end], np.uint16).astype(np.uint32) << 16
            yield name, data.view(np.float32).reshape(t["shape"])


def widen(directory):
    """Writes the model with everything twice: hidden values, heads, and intermediate values up to a multiple of 256."""
    config = json.loads((TINY / "config.json").read_text())
    inner = -(-config["intermediate_size"] // 256) * 256
    out = {}
    for name, x in tensors(TINY / "model.safetensors"):
        if name.endswith(("gate_proj.weight", "up_proj.weight")):
            x = np.pad(x, ((0, inner - x.shape[0]), (0, 0)))
        elif name.endswith("down_proj.weight"):
            x = np.pad(x, ((0, 0), (0, inner - x.shape[1])))
        columns = x.ndim == 2 and not name.endswith(("embed_tokens.weight", "down_proj.weight"))
        rows = not name.endswith(("embed_tokens.weight", "gate_proj.weight", "up_proj.weight"))
        if columns:  # a sum over twice as many
            x = np.concatenate([x, x], 1) / 2
        if rows:
            x = np.concatenate([x, x], 0)
        if name.endswith("embed_tokens.weight"):
            x = np.concatenate([x, x], 1)
        out[name] = np.ascontiguousarray(x, np.float32)
    # the head of a tied embedding sums over twice as many, too
    out["lm_head.weight"] = out["model.embed_tokens.weight"] / 2
    config |= dict(hidden_size=2 * config["hidden_size"], intermediate_size=inner, torch_dtype="float32",
                   num_attention_heads=2 * config["num_attention_heads"], tie_word_embeddings=False,
                   num_key_value_heads=2 * config["num_key_value_heads"])
    save_file(out, directory / "model.safetensors")
    (directory / "config.json").write_text(json.dumps(config))
    for file in ("tokenizer.json", "tokenizer_config.json"):
        (directory / file).write_bytes((TINY / file).read_bytes())


def post(port, path, body):
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.load(answer)


@contextlib.contextmanager
def server(command):
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    with tempfile.TemporaryFile() as log:
        p = subprocess.Popen([*map(str, command), "--port", str(port)], stdout=log, stderr=log)
        try:
            for _ in range(600):
                with contextlib.suppress(urllib.error.URLError, ConnectionError):
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
                    break
                if p.poll() is not None:
                    log.seek(0)
                    sys.exit(log.read().decode(errors="replace"))
                time.sleep(0.1)
            yield port
        finally:
            p.send_signal(signal.SIGTERM)
            p.wait(60)


def by_hilo(hilo, model, prompts, *options):
    """[(text, {text: log-probability})] of each prompt's greedy tokens."""
    with server([hilo, "serve", "-m", model, *options]) as port:
        for ids in prompts:
            r = post(port, "/v1/completions", dict(prompt=ids, max_tokens=TOKENS, temperature=0, logprobs=TOP))["choices"][0]["logprobs"]
            yield list(zip(r["tokens"], r["top_logprobs"]))


def by_llama(binary, model, prompts):
    with server([binary / "llama-server", "-m", model, "-c", 512, "-np", 1, "-t", 1, "-fa", "off", "-ctk", "f32", "-ctv", "f32",
                 "--no-webui"]) as port:
        for ids in prompts:
            r = post(port, "/completion", dict(prompt=ids, n_predict=TOKENS, temperature=0, n_probs=TOP,
                                               cache_prompt=False))
            yield [(t["token"], {x["token"]: x["logprob"] for x in t["top_logprobs"]}) for t in r["completion_probabilities"]]


def compare(a, b):
    """(equal tokens, tokens, root mean square of the differences) up to the first different token."""
    equal = total = 0
    squares = []
    for x, y in zip(a, b):
        total += len(x)
        for (s, p), (t, q) in zip(x, y):
            squares += [(p[k] - q[k]) ** 2 for k in p.keys() & q.keys() if "\ufffd" not in k]
            if s != t:
                break
            equal += 1
    return equal, total, float(np.sqrt(np.mean(squares)))


def main():
    hilo, binary = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    cases = json.loads((TINY / "golden.json").read_text())["cases"]
    prompts = [c["prompt_ids"] for c in cases]
    failed = False
    with tempfile.TemporaryDirectory() as d:
        d = pathlib.Path(d)
        (d / "wide").mkdir()
        widen(d / "wide")
        subprocess.run([hilo, "convert", d / "wide", "-o", d / "F32.gguf", "--type", "f32"], check=True, stdout=subprocess.DEVNULL)
        before = list(by_hilo(hilo, d / "F32.gguf", prompts))
        print("| type | error of the type | llama.cpp | hilo | hilo's tokens as the reference's | as llama.cpp's |\n|" + "---|" * 6)
        for kind in sys.argv[3:] or TYPES:
            file, exact = d / f"{kind}.gguf", d / "F32.gguf"
            if kind != "F32":
                exact = d / f"{kind}-f32.gguf"
                for source, target, to in ((d / "F32.gguf", file, kind), (file, exact, "F32")):
                    name = {"Q3_K": "Q3_K_S", "Q4_K": "Q4_K_S", "Q5_K": "Q5_K_S", "MXFP4": "MXFP4_MOE"}.get(to, to)
                    more = ["--tensor-type", "=".join(("weight", "mxfp4"))] if kind == to == "MXFP4" else []
                    subprocess.run([binary / "llama-quantize", "--allow-requantize", *(more or ["--pure"]), source, target, name],
                                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            reference = list(by_hilo(hilo, exact, prompts, "--precision", "f32"))
            ours, theirs = list(by_hilo(hilo, file, prompts)), list(by_llama(binary, file, prompts))
            (_, _, error), (_, _, far), (same, total, near) = (compare(reference, x) for x in (before, theirs, ours))
            alike = compare(ours, theirs)[0]
            bad = near > max(error, 1.5 * far)
            failed |= bad
            print(f"| {kind} | {error:.1e} | {far:.1e} | {near:.1e} | {same} of {total} | {alike} of {total} |" + " wrong" * bad,
                  flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
