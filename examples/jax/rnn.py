#!/usr/bin/env python3
"""A gated recurrent network as a lax.scan learns which of two sums is larger: JAX_PLATFORMS=hilo python rnn.py [STEPS]

Each of 30 steps has a number and a mark; the network predicts whether the sum of the marked numbers is positive.
"""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
LENGTH, HIDDEN = 30, 32
rng = np.random.default_rng(0)


def batch(n):
    numbers = rng.normal(size=(n, LENGTH))
    marks = rng.random((n, LENGTH)) < 0.2
    return np.stack([numbers, marks], -1).astype(np.float32), ((numbers * marks).sum(1) > 0).astype(np.float32)


def init(key):
    a, b, c = jax.random.split(key, 3)
    return {"input": jax.random.normal(a, (2, 3 * HIDDEN)) / 2, "hidden": jax.random.normal(b, (HIDDEN, 3 * HIDDEN)) / 6,
            "bias": jnp.zeros(3 * HIDDEN), "out": jax.random.normal(c, (HIDDEN,)) / 6}


def cell(params, h, x):
    xr, xz, xn = jnp.split(x @ params["input"] + params["bias"], 3, -1)
    hr, hz, hn = jnp.split(h @ params["hidden"], 3, -1)
    z = jax.nn.sigmoid(xz + hz)
    return z * h + (1 - z) * jnp.tanh(xn + jax.nn.sigmoid(xr + hr) * hn)


def model(params, x):
    h = jnp.zeros((x.shape[0], HIDDEN))
    h, _ = jax.lax.scan(lambda h, x: (cell(params, h, x), None), h, jnp.swapaxes(x, 0, 1))
    return h @ params["out"]


def loss_of(params, x, y):
    return optax.sigmoid_binary_cross_entropy(model(params, x), y).mean()


optimizer = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(3e-3))


@jax.jit
def step(params, state, x, y):
    loss, gradient = jax.value_and_grad(loss_of)(params, x, y)
    updates, state = optimizer.update(gradient, state)
    return optax.apply_updates(params, updates), state, loss


params = init(jax.random.key(0))
state = optimizer.init(params)
for i in range(steps):
    params, state, loss = step(params, state, *batch(64))
    if i % 20 == 19 or i == steps - 1:
        print(f"step {i + 1} loss {loss:.7f}")
x, y = batch(1024)
print(f"accuracy {((jax.jit(model)(params, x) > 0) == y).mean():.4f}")
