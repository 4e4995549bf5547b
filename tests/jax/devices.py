#!/usr/bin/env python3
"""Several devices: HILO_NUM_DEVICES=8, and jaxlib's CPU with as many. Programs over meshes of both must agree, in values
and in their placement. Needs JAX.

usage: devices.py PJRT_HILO.SO
"""
import os
import pathlib
import sys


import common
from common import check, near, root

os.environ.update(HILO_PJRT_PLUGIN=os.path.abspath(sys.argv[1]), JAX_PLATFORMS="hilo,cpu", HILO_NUM_DEVICES="8",
                  XLA_FLAGS="--xla_force_host_platform_device_count=8")
sys.path.insert(0, str(root / "python"))
common.need("jax")
import jax
import jax.numpy as jnp
import jax_hilo
import numpy as np
from jax import lax
from jax.sharding import AxisType, Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

jax_hilo.initialize()
hilo, cpu = jax.devices("hilo"), jax.devices("cpu")


check("devices", len(hilo) == 8 and len(cpu) == 8)


def mesh(devices, shape, names):
    return Mesh(np.array(devices).reshape(shape), names, axis_types=(AxisType.Auto,) * len(names))


def same(what, program, where=True):
    """What `program` makes of the devices of both platforms: arrays with equal values, spread in the same way."""
    try:
        ours, theirs = jax.tree.leaves(program(hilo)), jax.tree.leaves(program(cpu))
        for a, b in zip(ours, theirs, strict=True):
            check(f"{what}: values", near(a, b))
            if where:
                check(f"{what}: places",
                      [(s.device.id, s.index) for s in a.addressable_shards] == [(s.device.id, s.index) for s in b.addressable_shards])
    except Exception as error:  # noqa: BLE001: a test that fails must not stop the others
        check(f"{what}: {type(error).__name__}: {str(error)[:300]}", False)


rng = np.random.default_rng(0)
x = rng.normal(size=(16, 24)).astype(np.float32)
eight = rng.normal(size=(8, 3, 4)).astype(np.float32)

# ---- placing ---------------------------------------------------------------------------------------------------------------

for spec in (P(), P("a"), P("b"), P(None, "a"), P("a", "b"), P("b", "a"), P(("a", "b")), P(("b", "a")), P(None, ("a", "b"))):
    same(f"device_put {spec}", lambda d, spec=spec: jax.device_put(x, NamedSharding(mesh(d, (4, 2), ("a", "b")), spec)))
same("device_put from one to another", lambda d: jax.device_put(jax.device_put(x, d[1]), d[6]))
same("device_put to another sharding", lambda d: jax.device_put(
    jax.device_put(x, NamedSharding(mesh(d, (4, 2), ("a", "b")), P("a"))),
    NamedSharding(mesh(d[::-1], (2, 4), ("a", "b")), P("b", "a"))))
same("on the fifth device", lambda d: jax.jit(lambda v: v * 2 + 1)(jax.device_put(x, d[5])))

# ---- pmap ------------------------------------------------------------------------------------------------------------------

for name, f in {
    "nothing": lambda v: v * 2,
    "psum": lambda v: lax.psum(v, "i"),
    "pmax": lambda v: lax.pmax(v, "i") - lax.pmin(v, "i"),
    "pmean": lambda v: v - lax.pmean(v, "i"),
    "all_gather": lambda v: lax.all_gather(v, "i").sum((1, 2)),
    "ppermute": lambda v: lax.ppermute(v, "i", [(i, (i + 3) % 8) for i in range(8)]),
    "ppermute to some": lambda v: lax.ppermute(v, "i", [(0, 1), (1, 0), (5, 2)]),
    "axis_index": lambda v: v + lax.axis_index("i"),
    "groups": lambda v: lax.psum(v, "i", axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]]),
    "a loop": lambda v: lax.fori_loop(0, 5, lambda k, u: lax.psum(u, "i") / 8 + u * k, v),
    "a gradient": jax.grad(lambda v: (lax.pmean(jnp.sin(v), "i") ** 2).sum()),
}.items():
    same(f"pmap {name}", lambda d, f=f: jax.pmap(f, axis_name="i", devices=d)(eight))

large = rng.normal(size=(8, 70, 71)).astype(np.float32)
same("pmap psum of much", lambda d: jax.pmap(lambda v: lax.psum((v, v[0], v * 2), "i"), axis_name="i", devices=d)(large))

# ---- shard_map -------------------------------------------------------------------------------------------------------------


def mapped(f, inside, outside, shape=(4, 2), names=("a", "b"), **options):
    def run(devices):
        m = mesh(devices, shape, names)
        program = jax.shard_map(f, mesh=m, in_specs=inside, out_specs=outside, check_vma=False, **options)
        return jax.jit(program)(jax.device_put(x, NamedSharding(m, P())))
    return run


same("shard_map psum", mapped(lambda v: lax.psum(v, "a"), P("a", "b"), P(None, "b")))
same("shard_map psum of both", mapped(lambda v: lax.psum(v, ("a", "b")), P("a", "b"), P()))
same("shard_map all_gather", mapped(lambda v: lax.all_gather(v, "b", axis=1, tiled=True), P("a", "b"), P("a")))
same("shard_map psum_scatter", mapped(lambda v: lax.psum_scatter(v, "b", scatter_dimension=1, tiled=True), P("a"), P("a", "b")))
same("shard_map all_to_all", mapped(lambda v: lax.all_to_all(v, "a", 1, 0, tiled=True), P("a"), P(None, "a")))
same("shard_map ppermute", mapped(lambda v: lax.ppermute(v, "a", [(0, 1), (1, 2), (2, 3), (3, 0)]), P("a", "b"), P("a", "b")))
same("shard_map axis_index", mapped(lambda v: v * (lax.axis_index("a") * 10 + lax.axis_index("b")), P("a", "b"), P("a", "b")))
same("shard_map over one axis", mapped(lambda v: lax.psum(v, "a"), P("a"), P(), axis_names={"a"}))
same("shard_map within control flow", mapped(
    lambda v: lax.cond(v.shape[0] > 3, lambda u: lax.psum(u, "a"), lambda u: u, v), P("a"), P()))


def ring(v, w):
    """Rows of v times w, whose rows go round."""
    n, index = 8, lax.axis_index("i")

    def step(k, state):
        total, part = state
        block = lax.dynamic_slice_in_dim(v, ((index + k) % n) * part.shape[0], part.shape[0], 1)
        return total + block @ part, lax.ppermute(part, "i", [(j, (j - 1) % n) for j in range(n)])

    return lax.fori_loop(0, n, step, (jnp.zeros((v.shape[0], w.shape[1]), v.dtype), w))[0]


w = rng.normal(size=(24, 16)).astype(np.float32)
same("a product in a ring", lambda d: jax.jit(jax.shard_map(
    ring, mesh=mesh(d, (8,), ("i",)), in_specs=(P("i"), P("i")), out_specs=P("i"), check_vma=False))(x, w))


def train(devices):
    """Steps of data-parallel training; the parameters are donated."""
    m = mesh(devices, (8,), ("batch",))

    def loss(p, inputs, targets):
        return jnp.mean((jnp.tanh(inputs @ p["w"]) @ p["v"] - targets) ** 2)

    def step(p, inputs, targets):
        value, g = jax.value_and_grad(loss)(p, inputs, targets)
        g, value = lax.pmean((g, value), "batch")
        return jax.tree.map(lambda a, b: a - 0.1 * b, p, g), value

    step = jax.jit(jax.shard_map(step, mesh=m, in_specs=(P(), P("batch"), P("batch")), out_specs=(P(), P()), check_vma=False),
                   donate_argnums=0)
    p = jax.device_put({"w": w / 4, "v": w.T[:, :3] / 4}, NamedSharding(m, P()))
    losses = []
    for _ in range(10):
        p, value = step(p, x, x[:, :3])
        losses.append(value)
    return p, losses


same("training", train)

# ---- programs without manual sharding --------------------------------------------------------------------------------------


def spread(f, *specs):
    def run(devices):
        m = mesh(devices, (4, 2), ("a", "b"))
        return jax.jit(f)(*(jax.device_put(x, NamedSharding(m, s)) for s in specs))
    return run


def accumulated(v):
    """A loop whose variables are sharded, one of them constant at first; and one that each iteration needs replicated."""
    def step(k, state):
        total, part, first = state
        return total + part * k, jnp.cos(part) + total, first[::-1] + v[0]

    return lax.fori_loop(0, 3, step, (jnp.zeros_like(v), v, v[1]))


for name, f in {
    "element by element": lambda v: jnp.where(v > 0, jnp.sin(v), 2.0) + jnp.arange(24) - jnp.arange(16)[:, None],
    "random bits": lambda v: jax.random.uniform(jax.random.key(3), v.shape) + v,
    "a row": lambda v: v[3],
    "columns": lambda v: v[:, 4:],
    "every other row": lambda v: v[1::2] * 2,
    "taken": lambda v: jnp.take(v, jnp.array([3, 1, 20]), 1),
    "transposed": lambda v: v.T + 1,
    "reversed": lambda v: v[::-1],
    "joined": lambda v: jnp.concatenate([v, v * 2], 1)[None],
    "a scan": lambda v: lax.scan(lambda c, e: (c + e, c * e), jnp.zeros(24), v)[1],
    "a sharded loop": accumulated,
}.items():
    for spec in (P("a"), P(None, "b"), P("a", "b"), P("b", "a")):
        same(f"{name}, {spec}", spread(f, spec), where=name not in ("columns", "every other row", "joined", "a sharded loop"))
same("rows of one, columns of another", spread(lambda v, u: v @ u.T, P("a"), P("b")))
same("a sum", spread(lambda v: v.sum(), P("a", "b")), where=False)
same("a product", spread(lambda v, u: v @ u.T, P("a"), P(None, "b")), where=False)
same("all replicated", spread(lambda v: v * 2, P()))
same("eager", lambda d: jax.device_put(x, NamedSharding(mesh(d, (4, 2), ("a", "b")), P("a", "b")))[3:5] + 1, where=False)


def stated(devices):
    m = mesh(devices, (4, 2), ("a", "b"))
    out = NamedSharding(m, P("b", "a"))
    return jax.jit(lambda v: lax.with_sharding_constraint(v * 2, NamedSharding(m, P("a"))) + 1, out_shardings=out)(x)


same("stated results", stated)


def ordered(devices):
    """A mesh whose devices are in another order than their numbers."""
    m = mesh([devices[i] for i in (3, 1, 4, 7, 5, 2, 6, 0)], (2, 4), ("a", "b"))
    v = jax.device_put(x, NamedSharding(m, P("b", "a")))
    return jax.jit(jax.shard_map(lambda u: lax.all_gather(u, "b", tiled=True), mesh=m, in_specs=P("b", "a"),
                                 out_specs=P(None, "a"), check_vma=False))(v)


same("another order", ordered)
half = lambda d: jax.pmap(lambda v: lax.psum(v, "i"), axis_name="i", devices=d[2:6])(eight[:4])  # noqa: E731
same("four of eight", half)

# ---- callbacks, ragged exchanges -------------------------------------------------------------------------------------------


def called(devices, **options):
    """With what debug.callback calls its function."""
    seen = []
    sharding = NamedSharding(mesh(devices, (8,), ("a",)), P("a"))

    def program(v):
        jax.debug.callback(lambda w: seen.append(np.array(w)), v, **options)
        return v + 1

    jax.jit(program)(jax.device_put(np.arange(16, dtype=np.float32), sharding)).block_until_ready()
    jax.effects_barrier()
    return sorted(seen, key=lambda v: v[0])


same("debug.callback of a whole array", called, where=False)
same("debug.callback of shards", lambda d: called(d, partitioned=True), where=False)
asked = []
m = mesh(hilo, (8,), ("a",))
ask = jax.jit(lambda v: jax.pure_callback(lambda w: asked.append(1) or w * 2, v, v), in_shardings=NamedSharding(m, P("a")))
check("pure_callback of a whole array", near(ask(np.arange(16.0, dtype=np.float32)), np.arange(16.0) * 2) and len(asked) == 1)


def ragged(v, out, sizes):
    """Member i sends its first sizes[i, k] rows to member k, which has them one after the other."""
    me = lax.axis_index("a")
    received = lax.all_gather(sizes, "a", tiled=True)
    offsets = jnp.cumsum(received, axis=0) - received  # where in k what i sends begins
    return lax.ragged_all_to_all(v, out, jnp.zeros(8, jnp.int32), sizes[0], offsets[me], received[:, me], axis_name="a")


sizes = rng.integers(0, 4, size=(8, 8)).astype(np.int32)
rows = rng.normal(size=(8 * 3, 5)).astype(np.float32)
got = jax.jit(jax.shard_map(ragged, mesh=m, in_specs=P("a"), out_specs=P("a"), check_vma=False))(
    rows, np.full((8 * 24, 5), -1, np.float32), sizes).reshape(8, 24, 5)
for k in range(8):
    want = np.concatenate([rows[3 * i:3 * i + sizes[i, k]] for i in range(8)])
    check(f"ragged_all_to_all to {k}", near(got[k][:len(want)], want) and bool((got[k][len(want):] == -1).all()))

# ---- failures --------------------------------------------------------------------------------------------------------------


def one_fails(v):
    def host(u):
        if u[0] == 5:
            raise ValueError("no such luck")
        return u

    return lax.psum(jax.pure_callback(host, jax.ShapeDtypeStruct(v.shape, v.dtype), v), "i")


try:
    jax.block_until_ready(jax.pmap(one_fails, axis_name="i", devices=hilo)(np.arange(8, dtype=np.float32)[:, None]))
    check("a device that fails", False)
except jax.errors.JaxRuntimeError as error:
    check("a device that fails", "no such luck" in str(error))
# Shardings of global arrays in a called function are inlined with it; the program that is shown is that of one partition.
spread = NamedSharding(mesh(hilo, (8,), ("a",)), P("a"))
called = jax.jit(lambda v: lax.with_sharding_constraint(v * 2, spread))
shown = jax.jit(lambda v: called(v) + called(v + 1)).lower(jax.device_put(jnp.arange(16.0), spread)).compile().as_text()
check("the program of a partition is shown", "f32[2]" in shown)
shown = jax.jit(jnp.sum).lower(jax.device_put(jnp.arange(16.0), spread)).compile().as_text()
check("with its collectives", " all-reduce(" in shown and "all-gather" not in shown)

from jax._src import dispatch  # noqa: E402: JAX would raise the error again at its end

dispatch.runtime_tokens.clear()
same("and goes on", lambda d: jax.pmap(lambda v: lax.psum(v, "i"), axis_name="i", devices=d)(eight))

common.end()
