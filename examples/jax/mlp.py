#!/usr/bin/env python3
"""A perceptron of three layers, trained with optax: JAX_PLATFORMS=hilo python mlp.py [STEPS]"""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
rng = np.random.default_rng(0)

# Ten classes of points in 64 dimensions, around two centres each.
centres = rng.normal(size=(10, 2, 64))
labels = rng.integers(0, 10, 4096)
points = (centres[labels, rng.integers(0, 2, 4096)] + rng.normal(size=(4096, 64))).astype(np.float32)
train, test = slice(0, 3584), slice(3584, None)


def init(key, sizes):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (m, n)) / np.sqrt(m), jnp.zeros(n)) for k, m, n in zip(keys, sizes, sizes[1:])]


def logits(params, x):
    for w, b in params[:-1]:
        x = jax.nn.gelu(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def loss_of(params, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(logits(params, x), y).mean()


optimizer = optax.adam(1e-3)


@jax.jit
def step(params, state, x, y):
    loss, gradient = jax.value_and_grad(loss_of)(params, x, y)
    updates, state = optimizer.update(gradient, state)
    return optax.apply_updates(params, updates), state, loss


params = init(jax.random.key(0), (64, 128, 128, 10))
state = optimizer.init(params)
for i in range(steps):
    batch = rng.integers(0, 3584, 128)
    params, state, loss = step(params, state, points[batch], labels[batch])
    if i % 20 == 19 or i == steps - 1:
        print(f"step {i + 1} loss {loss:.7f}")
accuracy = (jax.jit(logits)(params, points[test]).argmax(-1) == labels[test]).mean()
print(f"accuracy {accuracy:.4f}")
