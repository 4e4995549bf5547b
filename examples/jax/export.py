#!/usr/bin/env python3
"""A function is exported for batches of any size, and run by JAX again, by hilo without JAX's tracing, and from a file of machine code:
JAX_PLATFORMS=hilo python export.py"""
import pathlib
import tempfile

import hilo
import jax
import jax.numpy as jnp
import numpy as np
from jax import export

weights = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)


@jax.jit
def classify(x):
    return jax.nn.softmax(jnp.tanh(x) @ weights)


x = np.linspace(-1, 1, 3 * 16, dtype=np.float32).reshape(3, 16)
batch, = export.symbolic_shape("batch")
exported = export.export(classify)(jax.ShapeDtypeStruct((batch, 16), np.float32))
with tempfile.TemporaryDirectory() as folder:
    file = pathlib.Path(folder, "classify.bin")
    file.write_bytes(exported.serialize())
    again = export.deserialize(bytearray(file.read_bytes()))
    by_jax = again.call(x)

    by_hilo = hilo.compile(again)  # takes batches of any size
    fixed = hilo.compile(classify.lower(x))
    fixed.save(pathlib.Path(folder, "classify.hilo"))
    from_file = hilo.load(pathlib.Path(folder, "classify.hilo"))

    for name, y in (("jax", by_jax), ("hilo", by_hilo(x)), ("file", from_file(x)), ("batch", by_hilo(x[:1])[0])):
        print(name, *(f"{value:.5f}" for value in np.asarray(y).reshape(-1)[:4]))
