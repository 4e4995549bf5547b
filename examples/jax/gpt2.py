#!/usr/bin/env python3
"""GPT-2 continues a text, greedily: JAX_PLATFORMS=hilo python gpt2.py [LAYERS] [WIDTH] [model.safetensors]

The weights are random unless a file of Hugging Face's gpt2 is given; 12 and 768 are the numbers of the smallest one.
"""
import json
import struct
import sys

import jax
import jax.numpy as jnp
import numpy as np

LAYERS = int(sys.argv[1]) if len(sys.argv) > 1 else 12
WIDTH = int(sys.argv[2]) if len(sys.argv) > 2 else 768
HEADS, VOCABULARY, CONTEXT = WIDTH // 64, 50257, 1024


def random_weights():
    rng = np.random.default_rng(0)

    def matrix(*shape):
        return 0.02 * rng.standard_normal(shape, np.float32)

    weights = {"wte.weight": matrix(VOCABULARY, WIDTH), "wpe.weight": matrix(CONTEXT, WIDTH)}
    for i in range(LAYERS):
        for name, m, n in (("attn.c_attn", WIDTH, 3 * WIDTH), ("attn.c_proj", WIDTH, WIDTH),
                           ("mlp.c_fc", WIDTH, 4 * WIDTH), ("mlp.c_proj", 4 * WIDTH, WIDTH)):
            weights[f"h.{i}.{name}.weight"], weights[f"h.{i}.{name}.bias"] = matrix(m, n), matrix(n)
    for name in [f"h.{i}.ln_{k}" for i in range(LAYERS) for k in (1, 2)] + ["ln_f"]:
        weights[f"{name}.weight"], weights[f"{name}.bias"] = np.ones(WIDTH, np.float32), np.zeros(WIDTH, np.float32)
    return weights


def read_weights(path):
    data = open(path, "rb").read()
    n, = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + n])
    header.pop("__metadata__", None)
    return {name: np.frombuffer(data, np.float32, (t["data_offsets"][1] - t["data_offsets"][0]) // 4,
                                8 + n + t["data_offsets"][0]).reshape(t["shape"]) for name, t in header.items()}


def linear(w, name, x):
    return x @ w[name + ".weight"] + w[name + ".bias"]


def norm(w, name, x):
    x = x - x.mean(-1, keepdims=True)
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-5) * w[name + ".weight"] + w[name + ".bias"]


def attention(w, name, x, cache, at):
    """The new tokens' keys and values go into the cache, at their places."""
    t = x.shape[0]
    q, k, v = jnp.split(linear(w, name + ".c_attn", x).reshape(t, 3 * HEADS, -1).swapaxes(0, 1), 3)
    keys = jax.lax.dynamic_update_slice(cache[0], k, (0, at, 0))
    values = jax.lax.dynamic_update_slice(cache[1], v, (0, at, 0))
    scores = q @ keys.swapaxes(1, 2) / np.sqrt(q.shape[-1])
    seen = jnp.arange(keys.shape[1]) <= at + jnp.arange(t)[:, None]
    mixed = jax.nn.softmax(jnp.where(seen, scores, -1e9)) @ values
    return linear(w, name + ".c_proj", mixed.swapaxes(0, 1).reshape(t, -1)), (keys, values)


def gpt2(w, tokens, cache, at):
    """Logits after the last of the tokens, which are at `at` and after it."""
    x = w["wte.weight"][tokens] + jax.lax.dynamic_slice_in_dim(w["wpe.weight"], at, len(tokens))
    new = []
    for i in range(LAYERS):
        mixed, kept = attention(w, f"h.{i}.attn", norm(w, f"h.{i}.ln_1", x), cache[i], at)
        x = x + mixed
        x = x + linear(w, f"h.{i}.mlp.c_proj", jax.nn.gelu(linear(w, f"h.{i}.mlp.c_fc", norm(w, f"h.{i}.ln_2", x))))
        new.append(kept)
    return norm(w, "ln_f", x[-1]) @ w["wte.weight"].T, new


run = jax.jit(gpt2, donate_argnums=2)
weights = jax.device_put(read_weights(sys.argv[3]) if len(sys.argv) > 3 else random_weights())
prompt = np.array([464, 3280, 284, 262, 1808, 286, 1204, 11], np.int32)  # "The answer to the question of life,"
cache = [(jnp.zeros((HEADS, 64, WIDTH // HEADS)),) * 2 for _ in range(LAYERS)]
cache = jax.tree_util.tree_map(jnp.array, cache)
logits, cache = run(weights, prompt, cache, 0)
print(f"logit {logits.max():.5f}")
tokens = list(map(int, prompt))
for _ in range(16):
    tokens.append(int(logits.argmax()))
    logits, cache = run(weights, np.array(tokens[-1:], np.int32), cache, len(tokens) - 1)
print("tokens", *tokens)
