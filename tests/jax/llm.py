#!/usr/bin/env python3
"""The programs that `hilo emit` writes run on XLA, with hilo's results.

For each precision the tiny model is quantised to files, its prefill and decode programs are emitted, and XLA generates from
them, greedily, what `hilo generate` does; the f32 ones answer what was recorded of the model. Needs JAX.
"""
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import common
from common import root

os.environ["JAX_PLATFORMS"] = "cpu"
common.need("jax")
import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402

hilo = os.path.abspath(os.environ["HILO"])
model = root / "tests/llm/tiny-llama"
work = pathlib.Path(tempfile.mkdtemp())
client = jax.devices()[0].client
types = {"F32": np.float32, "F16": np.float16, "BF16": ml_dtypes.bfloat16, "I8": np.int8, "U8": np.uint8, "U32": np.uint32}
CONTEXT, TOKENS, NEW = 64, 32, 12


def run(*args):
    return subprocess.run([hilo, *map(str, args)], check=True, capture_output=True, text=True).stdout


def read_tensors(path):
    data = path.read_bytes()
    (n,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + n])
    header.pop("__metadata__", None)
    tensors = {}
    for name, t in header.items():
        a, b = t["data_offsets"]
        tensors[name] = np.frombuffer(data[8 + n + a : 8 + n + b], types[t["dtype"]]).reshape(t["shape"])
        if t["dtype"] == "U32":  # eight values of 4 bits to a word, as a program takes them: two to a byte
            tensors[name] = tensors[name].view(np.uint8)
    return tensors


def program(directory, graph, precision):
    """A function of arrays, and the names of its arguments."""
    path = work / "graph.mlir"
    run("emit", "-m", directory, "--graph", graph, "--context", CONTEXT, "--tokens", TOKENS, "--precision", precision, "-o", path)
    text = path.read_text()
    names = [part.split('"')[1] for part in text.split("jax.arg_info = ")[1:]]
    devices = xla_client.DeviceList(tuple(jax.devices()))
    exe = client.compile_and_load(text, devices, xla_client.CompileOptions())
    return names, lambda args: [np.asarray(a) for a in exe.execute([jax.device_put(x) for x in args])]


def generate(directory, precision, prompt):
    tensors = read_tensors(directory / "model.safetensors")
    names, prefill = program(directory, "prefill", precision)
    weights = [tensors[name] for name in names if name in tensors]
    config = json.loads((directory / "config.json").read_text())
    shape = (1, config["num_key_value_heads"], CONTEXT, config["head_dim"])
    cache = [np.zeros(shape, np.float32 if precision == "f32" else ml_dtypes.bfloat16)] * (2 * config["num_hidden_layers"])
    tokens = np.zeros((1, TOKENS), np.int32)
    tokens[0, : len(prompt)] = prompt
    token, position, *cache = prefill([tokens, np.zeros(1, np.int32), np.array([len(prompt)], np.int32), *weights, *cache])
    _, decode = program(directory, "decode", precision)
    out = [int(token[0])]
    while len(out) < NEW and out[-1] not in config["eos_token_id"]:
        token, position, *cache = decode([token, position, *weights, *cache])
        out.append(int(token[0]))
    return out


case = json.loads((model / "golden.json").read_text())["cases"][0]
text = (model / "eval.txt").read_text()[:120]
for precision in ("f32", "bf16", "int8", "int4", "int4z"):
    directory = model
    if precision not in ("f32", "bf16"):
        directory = work / precision
        run("quantize", model, "-o", directory, f"--{precision}")
    prompt, want = case["prompt_ids"], case["new_tokens"][:NEW]
    if precision != "f32":  # as many tokens as are read at once, so that both multiply in the same way
        args = ("generate", "-m", directory, "--raw", "-p", text, "-n", NEW, "--precision", precision, "--json")
        answer = json.loads(run(*args))
        prompt, want = answer["prompt_ids"], answer["new_tokens"]
        common.check("prompt", TOKENS * 3 // 4 <= len(prompt) <= TOKENS, f"{len(prompt)} tokens")
    got = generate(directory, precision, prompt)
    common.check(precision, got == want, f"{got}, expected {want}")
subprocess.run(["rm", "-r", work], check=True)
common.end()
