#!/usr/bin/env python3
"""One step of common parallel programs on 8 devices, by hilo and by XLA's CPU: the bytes that it moves between them, counted in the
compiled text, of which hilo's must not be more; and the memory of a device, of which hilo's must be at most 1.1 times XLA's.
Needs JAX.

usage: collectives.py PJRT_HILO.SO
"""
import os
import re
import sys

import common
from common import check, root

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

# ---- counting --------------------------------------------------------------------------------------------------------------

BYTES = {"pred": 1, "s8": 1, "u8": 1, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8}
OP = re.compile(r"= (\(?[^=]*?\)?) (all-reduce|all-gather|reduce-scatter|all-to-all|collective-permute)(?:-start)?\((.*)")


def group_size(rest):
    listed = re.search(r"replica_groups=\{\{([0-9,]*)\}", rest)
    if listed:
        return len(listed.group(1).split(","))
    iota = re.search(r"replica_groups=\[(\d+),(\d+)\]", rest)
    return int(iota.group(2)) if iota else 8


def moved(text):
    """Bytes that each device receives, by the fewest that each collective can be done with: kind to sum. One iteration of
    each loop."""
    sums = {}
    for line in re.sub(r"/\*.*?\*/", "", text).splitlines():
        found = OP.search(line)
        if not found:
            continue
        size = sum(BYTES[t] * int(np.prod([int(d) for d in dims.split(",") if d] or [1]))
                   for t, dims in re.findall(r"\b([a-z]+[0-9]*)\[([0-9,]*)\]", found.group(1)))
        kind, n = found.group(2), group_size(found.group(3))
        parts = {"all-reduce": 2 * (n - 1) / n, "all-gather": (n - 1) / n, "reduce-scatter": n - 1, "all-to-all": (n - 1) / n}
        sums[kind] = sums.get(kind, 0) + size * parts.get(kind, 1)
    return sums


def memory(c):
    """Bytes of a device: arguments, results, and temporaries between kernels. XLA does not count what a kernel needs for itself,
    such as the operands that Eigen packs: the same is left out of hilo's, and returned besides."""
    m, scratch = c.memory_analysis(), int(c.cost_analysis().get("scratch bytes", 0))
    return m.argument_size_in_bytes + m.output_size_in_bytes + m.temp_size_in_bytes - m.alias_size_in_bytes - scratch, scratch


# ---- programs: each gives a function, its arguments' shapes and shardings, and its results' shardings ------------------------


def mlp_data():
    def step(w1, w2, x, y):
        def loss(w1, w2):
            return jnp.mean((jnp.tanh(x @ w1) @ w2 - y) ** 2)

        g1, g2 = jax.grad(loss, (0, 1))(w1, w2)
        return w1 - 0.1 * g1, w2 - 0.1 * g2

    specs = P(), P(), P("d"), P("d")
    return (8,), ("d",), step, [(64, 256), (256, 32), (128, 64), (128, 32)], specs, specs[:2]


def mlp_tensor():
    def step(w1, w2, x):
        return jnp.tanh(x @ w1) @ w2

    return (2, 4), ("d", "t"), step, [(64, 256), (256, 64), (128, 64)], (P(None, "t"), P("t"), P("d")), P("d")


def transformer():
    heads, head = 8, 8

    def layer(x, wq, wk, wv, wo, w1, w2):
        b, s, _ = x.shape

        def split(w):
            return lax.with_sharding_constraint((x @ w).reshape(b, s, heads, head), P("f", None, "t"))

        q, k, v = split(wq), split(wk), split(wv)
        a = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k))
        x = lax.with_sharding_constraint(x + jnp.einsum("bhqk,bkhd->bqhd", a, v).reshape(b, s, heads * head) @ wo, P("f"))
        return lax.with_sharding_constraint(x + jax.nn.gelu(x @ w1) @ w2, P("f"))

    def step(weights, x, y):
        grads = jax.grad(lambda w: jnp.mean((layer(x, *w) - y) ** 2))(weights)
        return [w - 0.1 * g for w, g in zip(weights, grads)]

    column, row = P("f", "t"), P("t", "f")
    specs = [column, column, column, row, column, row]
    shapes = [(64, 64)] * 4 + [(64, 256), (256, 64)]
    return (4, 2), ("f", "t"), step, [shapes, (16, 32, 64), (16, 32, 64)], (specs, P("f"), P("f")), specs


def embedding():
    def step(table, tokens, g):
        def loss(table):
            return jnp.sum(table[tokens] * g)

        return table - 0.1 * jax.grad(loss)(table)

    return (2, 4), ("d", "t"), step, [(1024, 64), (16, 32), (16, 32, 64)], (P("t"), P("d"), P("d")), P("t")


def experts():
    def step(x, dispatch, w1, w2):
        """Tokens in groups, by device; experts, too."""
        sent = lax.with_sharding_constraint(jnp.einsum("gsec,gsm->egcm", dispatch, x), P("e"))
        out = jnp.einsum("egch,ehm->egcm", jax.nn.relu(jnp.einsum("egcm,emh->egch", sent, w1)), w2)
        out = lax.with_sharding_constraint(out, P(None, "e"))
        return jnp.einsum("gsec,egcm->gsm", dispatch, out)

    return (8,), ("e",), step, [(8, 32, 64), (8, 32, 8, 8), (8, 64, 128), (8, 128, 64)], (P("e"),) * 4, P("e")


def decode():
    def step(q, k, v):
        scores = jnp.einsum("bhd,bshd->bhs", q, k)
        return jnp.einsum("bhs,bshd->bhd", jax.nn.softmax(scores), v)

    cache = P(None, "s", "t")
    return (4, 2), ("s", "t"), step, [(4, 8, 32), (4, 512, 8, 32), (4, 512, 8, 32)], (P(None, "t"), cache, cache), P(None, "t")


def convolutions():
    """Two layers and a pooling of images that are divided by rows, trained."""
    def conv(x, w, stride):
        return lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def step(w1, w2, x):
        def loss(w1, w2):
            y = lax.reduce_window(jax.nn.relu(conv(x, w1, 1)), 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
            return jnp.mean(conv(y, w2, 2) ** 2)

        g1, g2 = jax.grad(loss, (0, 1))(w1, w2)
        return w1 - 0.1 * g1, w2 - 0.1 * g2

    return (8,), ("r",), step, [(3, 3, 4, 16), (3, 3, 16, 16), (2, 64, 64, 4)], (P(), P(), P(None, "r")), (P(), P())


def stencil():
    """Heat that flows on a torus whose rows are divided."""
    def step(x):
        for _ in range(2):
            x = x + 0.1 * (sum(jnp.roll(x, i, axis) for axis in (0, 1) for i in (1, -1)) - 4 * x)
        return x

    return (8,), ("r",), step, [(256, 64)], (P("r"),), P("r")


def compiled(devices, program):
    sizes, names, step, shapes, ins, outs = program()
    mesh = Mesh(np.array(devices).reshape(sizes), names, axis_types=(AxisType.Auto,) * len(names))
    def place(specs):
        return jax.tree.map(lambda s: NamedSharding(mesh, s), specs, is_leaf=lambda x: isinstance(x, P))

    def args(shape, spec):
        if isinstance(shape, list):
            return [args(a, b) for a, b in zip(shape, spec)]
        whole = np.int32 if program is embedding and shape == (16, 32) else np.float32
        return jax.ShapeDtypeStruct(shape, whole, sharding=NamedSharding(mesh, spec))

    with jax.set_mesh(mesh):
        return jax.jit(step, out_shardings=place(outs)).lower(*[args(a, b) for a, b in zip(shapes, ins)]).compile()


for program in mlp_data, mlp_tensor, transformer, embedding, experts, decode, convolutions, stencil:
    both = [compiled(jax.devices(platform), program) for platform in ("hilo", "cpu")]
    ours, theirs = (moved(c.as_text()) for c in both)
    show = lambda sums: ", ".join(f"{kind} {int(n)}" for kind, n in sorted(sums.items())) or "none"
    print(f"{program.__name__}: hilo {int(sum(ours.values()))} ({show(ours)}); XLA {int(sum(theirs.values()))} ({show(theirs)})")
    check(f"{program.__name__}: moves at most what XLA's does", 0 < sum(ours.values()) <= sum(theirs.values()))
    (needs, scratch), (needed, _) = (memory(c) for c in both)
    print(f"  memory: hilo {needs}, and {scratch} of scratch; XLA {needed}; {needs / needed:.2f}")
    check(f"{program.__name__}: needs at most 1.1 times XLA's memory", needs <= 1.1 * needed, f"{needs}, not {needed}")
common.end()
