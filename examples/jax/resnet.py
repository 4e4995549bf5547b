#!/usr/bin/env python3
"""A residual network of Flax NNX on pictures of CIFAR's shape: JAX_PLATFORMS=hilo python resnet.py [STEPS]

The pictures are made here: stripes of ten directions, in any colour, under noise.
"""
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
rng = np.random.default_rng(0)


def batch(n):
    labels = rng.integers(0, 10, n)
    y, x = np.mgrid[:32, :32]
    angle = labels[:, None, None] * np.pi / 10
    phase = rng.uniform(0, 2 * np.pi, (n, 1, 1))
    stripes = np.sin((np.cos(angle) * x + np.sin(angle) * y) * 0.8 + phase)
    pictures = stripes[..., None] * rng.normal(size=(n, 1, 1, 3)) + 0.5 * rng.normal(size=(n, 32, 32, 3))
    return pictures.astype(np.float32), labels


class Block(nnx.Module):
    def __init__(self, m, n, stride, rngs):
        self.conv1 = nnx.Conv(m, n, (3, 3), (stride, stride), use_bias=False, rngs=rngs)
        self.norm1 = nnx.BatchNorm(n, momentum=0.9, rngs=rngs)
        self.conv2 = nnx.Conv(n, n, (3, 3), use_bias=False, rngs=rngs)
        self.norm2 = nnx.BatchNorm(n, momentum=0.9, rngs=rngs)
        self.shortcut = nnx.Conv(m, n, (1, 1), (stride, stride), use_bias=False, rngs=rngs) if m != n else lambda x: x

    def __call__(self, x):
        y = nnx.relu(self.norm1(self.conv1(x)))
        return nnx.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nnx.Module):
    def __init__(self, rngs):
        self.conv = nnx.Conv(3, 16, (3, 3), use_bias=False, rngs=rngs)
        self.norm = nnx.BatchNorm(16, momentum=0.9, rngs=rngs)
        self.blocks = nnx.List([Block(16, 16, 1, rngs), Block(16, 32, 2, rngs), Block(32, 64, 2, rngs)])
        self.out = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, x):
        x = nnx.relu(self.norm(self.conv(x)))
        for block in self.blocks:
            x = block(x)
        return self.out(x.mean((1, 2)))


def loss_of(model, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(model(x), y).mean()


@nnx.jit
def step(model, optimizer, x, y):
    loss, gradient = nnx.value_and_grad(loss_of)(model, x, y)
    optimizer.update(model, gradient)
    return loss


@nnx.jit
def classify(model, x):
    return model(x).argmax(-1)


model = ResNet(nnx.Rngs(0))
optimizer = nnx.Optimizer(model, optax.adam(2e-3), wrt=nnx.Param)
model.train()
for i in range(steps):
    loss = step(model, optimizer, *batch(32))
    if i % 20 == 19 or i == steps - 1:
        print(f"step {i + 1} loss {loss:.7f}")
model.eval()
x, y = batch(256)
print(f"accuracy {(classify(model, x) == y).mean():.4f}")
