#!/usr/bin/env python3
"""A transformer of two layers learns to sort digits, with optax: JAX_PLATFORMS=hilo python transformer.py [STEPS]"""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
DIGITS, LENGTH, WIDTH, HEADS, LAYERS = 10, 8, 64, 4, 2
SEPARATOR = DIGITS  # between the digits and the sorted ones
rng = np.random.default_rng(0)


def batch(n):
    digits = rng.integers(0, DIGITS, (n, LENGTH))
    return np.concatenate([digits, np.full((n, 1), SEPARATOR), np.sort(digits, 1)], 1).astype(np.int32)


def init(key):
    keys = iter(jax.random.split(key, 4 + 4 * LAYERS))

    def matrix(m, n):
        return jax.random.normal(next(keys), (m, n)) / np.sqrt(m)

    def layer():
        return {"qkv": matrix(WIDTH, 3 * WIDTH), "out": matrix(WIDTH, WIDTH), "up": matrix(WIDTH, 4 * WIDTH),
                "down": matrix(4 * WIDTH, WIDTH), "norm1": jnp.ones(WIDTH), "norm2": jnp.ones(WIDTH)}

    return {"tokens": 0.1 * matrix(DIGITS + 1, WIDTH), "places": 0.1 * matrix(2 * LENGTH, WIDTH),
            "layers": [layer() for _ in range(LAYERS)], "norm": jnp.ones(WIDTH), "logits": matrix(WIDTH, DIGITS + 1)}


def norm(x, scale):
    return scale * x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def attention(x, p):
    b, t, _ = x.shape
    q, k, v = jnp.moveaxis((x @ p["qkv"]).reshape(b, t, 3, HEADS, -1), 2, 0)
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(q.shape[-1])
    scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ p["out"]


def model(params, tokens):
    x = params["tokens"][tokens] + params["places"][: tokens.shape[1]]
    for p in params["layers"]:
        x = x + attention(norm(x, p["norm1"]), p)
        x = x + jax.nn.gelu(norm(x, p["norm2"]) @ p["up"]) @ p["down"]
    return norm(x, params["norm"]) @ params["logits"]


def loss_of(params, tokens):
    logits = model(params, tokens[:, :-1])
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, tokens[:, 1:])
    return losses[:, LENGTH:].mean()  # of the sorted ones


optimizer = optax.adamw(optax.warmup_cosine_decay_schedule(0, 3e-3, 20, max(steps, 40)))


@jax.jit
def step(params, state, tokens):
    loss, gradient = jax.value_and_grad(loss_of)(params, tokens)
    updates, state = optimizer.update(gradient, state, params)
    return optax.apply_updates(params, updates), state, loss


params = init(jax.random.key(0))
state = optimizer.init(params)
for i in range(steps):
    params, state, loss = step(params, state, batch(64))
    if i % 20 == 19 or i == steps - 1:
        print(f"step {i + 1} loss {loss:.7f}")
tokens = batch(512)
right = jax.jit(model)(params, tokens[:, :-1]).argmax(-1)[:, LENGTH:] == tokens[:, LENGTH + 1:]
print(f"accuracy {right.mean():.4f}")
