"""Data-parallel gradient over all devices: each has a part of the batch, psum adds up.

HILO_NUM_DEVICES=2 JAX_PLATFORMS=hilo python examples/jax/devices.py
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

devices = jax.devices()
mesh = Mesh(np.array(devices), ("batch",))


def loss(w, x, y):
    return jnp.sum((x @ w - y) ** 2)


def gradient(w, x, y):
    return jax.lax.psum(jax.grad(loss)(w, x, y), "batch")


x = jax.random.normal(jax.random.key(0), (8 * len(devices), 4))
y = x @ jnp.arange(4.0)
w = jnp.zeros(4)
parallel = jax.jit(jax.shard_map(gradient, mesh=mesh, in_specs=(P(), P("batch"), P("batch")), out_specs=P(), check_vma=False))
print(f"{len(devices)} devices:", parallel(w, x, y))
np.testing.assert_allclose(parallel(w, x, y), jax.grad(loss)(w, x, y), rtol=1e-4)
