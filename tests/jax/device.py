#!/usr/bin/env python3
"""hilo as a JAX backend, by the package in python/: values of programs, and the JAX features that name platforms. Needs JAX.

usage: device.py PJRT_HILO.SO
"""
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile


import common
from common import check, near, root

os.environ.update(HILO_PJRT_PLUGIN=os.path.abspath(sys.argv[1]), JAX_PLATFORMS="hilo")
sys.path.insert(0, str(root / "python"))
common.need("jax")
import jax
import jax.numpy as jnp
import jax_hilo
import numpy as np
from jax import lax
from jaxlib import xla_client

jax_hilo.initialize()


def by_text(text, *arguments):
    """What a program with one result gives."""
    client = jax.devices()[0].client
    devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
    loaded = client.compile_and_load(text.encode(), devices, xla_client.CompileOptions())
    results = loaded.execute_sharded([jax.device_put(x) for x in arguments])
    return np.asarray(results.disassemble_into_single_device_arrays()[0][0])


rng = np.random.default_rng(0)
check("platform", jax.devices()[0].platform == "hilo")

# Numbers of every type go there and back, from and to memory of any order.
for name in ("bool", "int2", "int4", "int8", "int16", "int32", "uint2", "uint4", "uint8", "uint16", "uint32", "float16", "float32",
             "bfloat16", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "complex64"):
    x = rng.integers(0, 2, (3, 5)).astype(jnp.dtype(name))
    for y in (x, np.asfortranarray(x), x[::-1, ::2], np.zeros((0, 2), x.dtype), x[1, 1]):
        check(f"{name} {y.shape}", np.array_equal(np.asarray(jax.device_put(y)), y))
large = rng.normal(size=(64, 128)).astype(np.float32)
check("large", np.array_equal(np.asarray(jax.jit(lambda v: v.T)(large)), large.T))
copied = jnp.array(large)
large[0, 0] = 7
check("jnp.array copies", copied[0, 0] != 7)


# A gradient, by finite differences.
def loss(p, v):
    for w in p:
        v = jnp.tanh(v @ w)
    return (v**2).sum()


p = [jnp.asarray(rng.normal(size=(4, 4)), jnp.float32) for _ in range(2)]
v = jnp.asarray(rng.normal(size=(2, 4)), jnp.float32)
g = jax.jit(jax.grad(loss))(p, v)
e = np.zeros((4, 4), np.float32)
e[1, 2] = 1e-2
difference = (loss([p[0] + e, p[1]], v) - loss([p[0] - e, p[1]], v)) / 2e-2
check("gradient", near(g[0][1, 2], difference, 1e-2))

# Linear algebra is LAPACK's.
a = rng.normal(size=(2, 5, 5)).astype(np.float32)
s = a @ a.swapaxes(-1, -2)
w, q = jnp.linalg.eigh(s)
check("eigh", near(q * w[..., None, :] @ q.swapaxes(-1, -2), s, 1e-4))
u, d, vt = jnp.linalg.svd(a)
check("svd", near(u * d[..., None, :] @ vt, a, 1e-4))
q, r = jnp.linalg.qr(a)
check("qr", near(q @ r, a, 1e-4))
check("inv", near(jnp.linalg.inv(a) @ a, np.broadcast_to(np.eye(5), a.shape), 1e-3))
check("eigvals", near(np.sort(np.abs(jnp.linalg.eigvals(a[0]))), np.sort(np.abs(np.linalg.eigvals(a[0]))), 1e-4))
empty = jax.jit(jax.lax.linalg.eig)(jnp.zeros((0, 0)))
check("eig of nothing", [x.shape for x in empty] == [(0,), (0, 0), (0, 0)])

# Windows that are partly outside are left out, as by XLA.
window = jax.lax.ScatterDimensionNumbers(update_window_dims=(1,), inserted_window_dims=(), scatter_dims_to_operand_dims=(0,))
for kind in (np.int32, np.int8, np.uint8):
    z = jax.lax.scatter_add(jnp.zeros(5), np.array([[0], [4], [3]], kind), jnp.ones((3, 2)), window)
    check(f"scatter of windows, {kind.__name__}", np.array_equal(z, [1, 1, 0, 1, 1]))

# Custom calls that JAX emits for platforms of any name; the values are those of XLA's CPU.
PLAIN = """
import sys
import numpy as np, jax, jax.numpy as jnp
from jax import lax
data = np.load(sys.argv[1])
r = lax.approx_max_k(data["x"], 4), lax.approx_min_k(data["x"], 3, reduction_dimension=0, recall_target=0.8)
np.savez(sys.argv[2], *[v for pair in r for v in pair], lax.linalg.householder_product(data["a"], data["t"]))
"""
with tempfile.TemporaryDirectory() as folder:
    data = {"x": rng.normal(size=(30, 50)).astype(np.float32), "a": rng.normal(size=(2, 5, 3)).astype(np.float32),
            "t": rng.normal(size=(2, 3)).astype(np.float32)}
    data["x"][:, 10:20] = data["x"][:, 20:30]  # ties
    np.savez(f"{folder}/in.npz", **data)
    subprocess.run([sys.executable, "-c", PLAIN, f"{folder}/in.npz", f"{folder}/out.npz"], env=dict(os.environ, JAX_PLATFORMS="cpu"),
                   check=True)
    with np.load(f"{folder}/out.npz") as out:
        want = [out[name] for name in out.files]
    top = jax.jit(lambda v: lax.approx_max_k(v, 4))(data["x"]), jax.jit(
        lambda v: lax.approx_min_k(v, 3, reduction_dimension=0, recall_target=0.8))(data["x"])
    check("ApproxTopK", all(np.array_equal(a, b) for a, b in zip([v for pair in top for v in pair], want)))
    text = """func.func @main(%a: tensor<2x5x3xf32>, %t: tensor<2x3xf32>) -> tensor<2x5x3xf32> {
      %0 = stablehlo.custom_call @ProductOfElementaryHouseholderReflectors(%a, %t) : (tensor<2x5x3xf32>, tensor<2x3xf32>) -> tensor<2x5x3xf32>
      return %0 : tensor<2x5x3xf32>
    }"""
    check("ProductOfElementaryHouseholderReflectors", near(by_text(text, data["a"], data["t"]), want[4], added=8))

# Callbacks, in order and with their errors.
seen = []


@jax.jit
def calls(x):
    jax.debug.callback(lambda y: seen.append(float(y)), x, ordered=True)
    jax.debug.callback(lambda y: seen.append(-float(y)), x, ordered=True)
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


check("pure_callback", near(calls(jnp.float32(2)), np.sin(2)))
jax.effects_barrier()
check("debug.callback", seen == [2.0, -2.0])


def fails(_):
    raise ValueError("no such luck")


try:
    jax.jit(lambda x: jax.pure_callback(fails, jax.ShapeDtypeStruct((), np.float32), x))(1.0).block_until_ready()
    check("an error of a callback", False)
except jax.errors.JaxRuntimeError as error:
    check("an error of a callback", "no such luck" in str(error))

# What scans forward of numpy's arrays is on hilo's device, where there is no other.
check("scan of numpy's arrays", jax.lax.scan(lambda c, y: (c + y, y), 0.0, np.zeros(0, np.float32))[1].shape == (0,))

# Donation.
x = jnp.ones(8)
y = jax.jit(lambda z: z + 1, donate_argnums=0)(x)
check("donation", x.is_deleted() and near(y, np.full(8, 2)))

# Layouts: given, chosen, constrained; each is the order of the elements in memory.
from jax.experimental.layout import Format, Layout  # noqa: E402

one = jax.sharding.SingleDeviceSharding(jax.devices()[0])
columns, rows = Format(Layout((1, 0)), one), Format(Layout((0, 1)), one)
m = np.arange(32, dtype=np.float32).reshape(4, 8)


def order(x):
    return x.format.layout.major_to_minor


def memory(x):
    """The elements in memory order."""
    return np.ctypeslib.as_array((ctypes.c_float * x.size).from_address(x.unsafe_buffer_pointer()))


x = jax.device_put(m, columns)
check("device_put in columns", order(x) == (1, 0) and np.array_equal(x, m) and np.array_equal(memory(x), m.T.ravel()))
check("copies keep the layout", np.array_equal(jax.device_put(x, jax.devices()[0]), m))
f = jax.jit(lambda v, w: (v.T, v + w), in_shardings=(columns, rows), out_shardings=(Format(Layout.AUTO), columns))
t, y = f(x, m)
check("a transpose that costs nothing", order(t) == (0, 1) and np.array_equal(t, m.T) and np.array_equal(memory(t), m.T.ravel()))
check("a result in columns", order(y) == (1, 0) and np.array_equal(y, 2 * m) and np.array_equal(memory(y), 2 * m.T.ravel()))
z = jax.jit(lambda v: jax.lax.with_sharding_constraint(v.T, Format(Layout((0, 1)), one)))(x)
check("a constraint", order(z) == (0, 1) and np.array_equal(z, m.T))
donated = jax.device_put(m, columns)
y = jax.jit(lambda v: v * v, in_shardings=columns, out_shardings=columns, donate_argnums=0)(donated)
check("a donation in columns", donated.is_deleted() and np.array_equal(y, m * m))
from jax.experimental.serialize_executable import deserialize_and_load, serialize  # noqa: E402

again = deserialize_and_load(*serialize(f.lower(x, m).compile()))
check("saved layouts", [order(v) for v in again(x, m)] == [(0, 1), (1, 0)] and np.array_equal(again(x, m)[1], 2 * m))
try:
    jax.device_put(m, Format(Layout((0, 1), tiling=((8, 128),)), one))
    check("tiles", False)
except jax.errors.JaxRuntimeError as error:
    check(f"tiles are refused by name: {error}", "8,128" in str(error) or "tile" in str(error))

# Memories: what a program puts into the host's.
host = jax.jit(lambda v: (jax.device_put(v * 2, jax.memory.Space.Host), v))(jnp.ones(4))
check("a result in pinned_host", [v.sharding.memory_kind for v in host] == ["pinned_host", "device"] and near(host[0], [2] * 4))

# Transfer guards, also where numpy would share the array's memory.
for level, name, allowed in (("disallow", "asarray", False), ("disallow", "device_get", True), ("disallow_explicit", "device_get", False),
                             ("log", "asarray", True)):
    fresh = jnp.ones(3) + 1
    with jax.transfer_guard_device_to_host(level):
        try:
            (np.asarray if name == "asarray" else jax.device_get)(fresh)
            check(f"{name} under {level}", allowed)
        except jax.errors.JaxRuntimeError as error:
            check(f"{name} under {level}", not allowed and "Disallowed" in str(error))

# DLPack: exported without a copy; the memory lives as long as the last consumer; a donation does not change it.
x = jnp.arange(12, dtype=jnp.float32).reshape(3, 4)
lent = np.from_dlpack(x)
check("exported", np.array_equal(lent, x) and lent.ctypes.data == x.unsafe_buffer_pointer())
y = jax.jit(lambda z: z + 1, donate_argnums=0)(x)
check("exported and donated", x.is_deleted() and lent[2, 3] == 11 and y[2, 3] == 12)
own = np.empty(1100, np.float32)
own = own[-own.ctypes.data // 4 % 16:][:1024]
taken = jnp.from_dlpack(own)
check("taken in", taken.devices() == {jax.devices()[0]} and taken.unsafe_buffer_pointer() == own.ctypes.data)
for a in (own[3:], own.reshape(32, 32).T, own[::2], own[:0]):
    check("taken in by a copy", np.array_equal(jnp.from_dlpack(a), a, equal_nan=True))
for name in ("bfloat16", "float16", "int8", "uint32", "bool", "complex64"):
    x = jnp.ones((2, 3), name)
    check(f"from hilo to hilo, {name}", np.array_equal(jax.dlpack.from_dlpack(x, copy=True), x))


class Lender:
    """An array of something else, such as a tensor of PyTorch."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, stream=None):
        return self.array.__dlpack__(stream=stream)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


check("a lender", all(jnp.from_dlpack(Lender(a)).sum() == 3 for a in (np.ones(3, np.float32), jnp.ones(3, jnp.bfloat16))))

# Errors name the line; options are known or refused.
lowered = jax.jit(lambda z: z * 2).lower(1.0)
check("a compile option", near(lowered.compile(compiler_options={"hilo_level": "0"})(1.0), 2))


def attention(q, k, v):
    s = jnp.where(jnp.tri(512, dtype=bool), q @ k.T, -jnp.inf)
    return (jnp.tanh(jax.nn.softmax(s) @ v) ** 2).sum()


# Gradients of attention in less memory than a matrix of its weights.
rows = [jnp.asarray(np.random.default_rng(i).standard_normal((512, 16)), jnp.float32) for i in range(3)]
gradients = jax.jit(jax.grad(attention, (0, 1, 2))).lower(*rows)
limited = gradients.compile(compiler_options={"hilo_memory_limit": "700000"})
check("a memory limit", limited.memory_analysis().temp_size_in_bytes < 700000 < gradients.compile().memory_analysis().temp_size_in_bytes)
check("gradients within it", all(np.allclose(a, b, atol=1e-5) for a, b in zip(limited(*rows), gradients.compile()(*rows))))
check("an unchanged array", near(lowered.compile(compiler_options={"hilo_unchanged": "0"})(1.0), 2))
try:
    lowered.compile(compiler_options={"no_such_option": "1"})
    check("an unknown option", False)
except jax.errors.JaxRuntimeError as error:
    check("an unknown option", "No such compile option: 'no_such_option'" in str(error))
check("cost", lowered.compile().cost_analysis()["flops"] == 1)


# Sizes are those of the plan, before any run.
def network(w, b, v):
    return jax.nn.gelu(v @ w + b, approximate=True), v.sum()


shapes = [jax.ShapeDtypeStruct(shape, jnp.float32) for shape in ((64, 96), (96,), (32, 64))]
lowered_network = jax.jit(network, donate_argnums=()).lower(*shapes)
compiled_network = lowered_network.compile()
sizes = compiled_network.memory_analysis()
check("argument bytes", sizes.argument_size_in_bytes == 4 * (64 * 96 + 96 + 32 * 64))
check("output bytes", sizes.output_size_in_bytes == 4 * (32 * 96 + 1))
check("code bytes", 0 < sizes.generated_code_size_in_bytes < 1 << 20)
text = compiled_network.as_text()
fused = [line for line in text.splitlines() if " fusion(" in line]
check(f"as_text shows one fusion around the product, the bias and gelu:\n{text}",
      len([line for line in fused if "f32[32,96]" in line]) == 1 and "calls=" in text and re.search(r"kind=k(Loop|Input|Output)", text))
entry = text[text.index("ENTRY"):]
check(f"and nothing elementwise outside of it:\n{entry}", not re.search(r" (tanh|multiply|add|dot)\(", entry))
hilo_command = os.environ.get("HILO")
if hilo_command:
    with tempfile.TemporaryDirectory() as folder:
        (path := pathlib.Path(folder, "network.mlir")).write_text(lowered_network.as_text())
        plan = subprocess.run([hilo_command, "compile", "--emit", "plan", path], capture_output=True, text=True).stdout
        temporaries = re.search(r"temporaries (\d+) bytes", plan)
        check(f"temporary bytes: {sizes.temp_size_in_bytes}, plan:\n{plan}",
              temporaries and sizes.temp_size_in_bytes == int(temporaries[1]))


# The program that is shown is the one that runs, its kernels as fusions: one around the product, the bias and the activation.
shown = jax.jit(lambda w, b, v: jax.nn.gelu(v @ w + b)).lower(*shapes).compile()
check(f"one fusion:\n{shown.as_text()}",
      re.findall(r" fusion\(.*?\), kind=(k\w+), calls=", shown.as_text()) == ["kOutput"] and " tanh(" in shown.as_text())
if hilo_command:
    arrays = [np.random.default_rng(3).standard_normal(s.shape).astype(np.float32) for s in shapes]
    with tempfile.TemporaryDirectory() as folder:
        np.savez(pathlib.Path(folder, "in.npz"), *arrays)
        pathlib.Path(folder, "shown.txt").write_text(shown.as_text())
        done = subprocess.run([hilo_command, "run", "shown.txt", "--input", "in.npz", "-o", "out.npz"], cwd=folder,
                              capture_output=True, text=True)
        check(f"hilo runs it: {done.stderr}", done.returncode == 0)
        with np.load(pathlib.Path(folder, "out.npz")) as out:
            check("and gives the same", (out[out.files[0]] == np.asarray(shown(*arrays))).all())

# The cache: a program that was saved is found again.
with tempfile.TemporaryDirectory() as folder:
    from jax._src import compilation_cache

    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", 0)
    compilation_cache.reset_cache()
    first = jax.jit(lambda z: z * 3 + 1)(jnp.arange(4.0))
    check("the cache is written", any(pathlib.Path(folder).iterdir()))
    jax.clear_caches()
    hits = []
    jax.monitoring.register_event_listener(lambda event, **_: hits.append("cache_hits" in event))
    check("the cache is read", near(jax.jit(lambda z: z * 3 + 1)(jnp.arange(4.0)), first) and any(hits))

# A second process compiles nothing: whatever it runs comes from JAX's cache, or from hilo's. LLVM is opened to compile only.
TRAIN = """
import sys
sys.path.insert(0, sys.argv[1])
import jax, jax_hilo, jax.numpy as jnp
jax_hilo.initialize()
events = []
jax.monitoring.register_event_listener(lambda event, **_: events.append(event))

def loss(w, x):
    h = jax.lax.scan(lambda c, v: (jnp.tanh(c @ w + v), None), jnp.zeros(4), x)[0]
    return (h ** 2).sum() + jnp.linalg.norm(jnp.linalg.qr(w)[1])

step = jax.jit(lambda w, x: w - 0.1 * jax.grad(loss)(w, x), donate_argnums=0)
w = jax.random.normal(jax.random.key(0), (4, 4))
for i in range(3):
    w = step(w, jnp.ones((5, 4)) * i)
print(float(w.sum()), sum("cache_hits" in e for e in events), sum("cache_misses" in e for e in events),
      "LLVM" in open("/proc/self/maps").read())
"""


def two_processes(env):
    """What each of them printed: the result, hits and misses of JAX's cache, whether LLVM was opened."""
    told = [subprocess.run([sys.executable, "-c", TRAIN, root / "python"], env=dict(os.environ, **env), capture_output=True,
                           text=True) for _ in range(2)]
    return [(t.stdout.split() + [""] * 3 + [t.stderr])[:4] for t in told]


with tempfile.TemporaryDirectory() as folder:
    (one, hits, misses, opened), (two, again, missed, loaded) = two_processes(
        dict(JAX_COMPILATION_CACHE_DIR=folder, JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
             JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="0", HILO_CACHE_DIR=""))
    check(f"the first process compiles: {misses}", hits == "0" and int(misses or 0) > 3 and opened == "True")
    check(f"the second process does not: {again}, {missed}", (again, missed) == (misses, "0") and one == two)
    check(f"nor does it open LLVM: {loaded}", loaded == "False")
with tempfile.TemporaryDirectory() as folder:
    (one, _, _, opened), (two, _, _, loaded) = two_processes(dict(HILO_CACHE_DIR=folder, HILO_TIER="optimised"))
    check(f"without JAX's cache, hilo's: {opened}, {loaded}", (opened, loaded) == ("True", "False") and one == two)

common.end()
