#!/usr/bin/env python3
"""The platform hilo_gpu of the plugin, on a stand-in for NVIDIA's driver: values, memories, donation, callbacks, saved programs,
DLPack, errors, and that nothing of the driver's is left over. Needs JAX.

usage: gpu.py PJRT_HILO.SO LIBCUDA.SO.1
"""
import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile

import common
from common import check, near, root

os.environ.update(HILO_PJRT_PLUGIN=os.path.abspath(sys.argv[1]), HILO_CUDA_PATH=os.path.abspath(sys.argv[2]),
                  JAX_PLATFORMS="hilo_gpu,hilo", HILO_CACHE_DIR="")
sys.path.insert(0, str(root / "python"))
common.need("jax")
import jax
import jax.numpy as jnp
import jax_hilo
import numpy as np

jax_hilo.initialize()
gpu, cpu = jax.devices("hilo_gpu")[0], jax.devices("hilo")[0]
check("two platforms of one plugin", (gpu.platform, cpu.platform) == ("hilo_gpu", "hilo") and gpu.device_kind == "stand-in GPU")
check("the first is the default", jnp.ones(1).devices() == {gpu})

# Values: kernels on the device, routines on the host, loops, all types; the same as on the processor.
rng = np.random.default_rng(0)
x, w = rng.normal(size=(5, 7)).astype(np.float32), rng.normal(size=(7, 3)).astype(np.float32)


@jax.jit
def program(x, w):
    y = jax.nn.gelu(x @ w)
    z = jax.lax.fori_loop(0, 3, lambda i, v: jnp.sort(v, axis=0) * 0.5 + v[i], y)
    return jax.nn.softmax(z), jax.lax.cond(z.sum() > 0, lambda v: v + 1, lambda v: v - 1, z)


for a, b in zip(program(x, w), jax.device_get(program(*(jax.device_put(v, cpu) for v in (x, w))))):
    check("a program", a.devices() == {gpu} and near(a, b))
for name in ("bool", "int4", "int8", "uint32", "float16", "bfloat16", "float8_e4m3fn", "float32", "complex64"):
    v = rng.integers(0, 2, (3, 5)).astype(jnp.dtype(name))
    for y in (v, np.asfortranarray(v), v[::-1, ::2], np.zeros((0, 2), v.dtype), v[1, 1]):
        check(f"{name} {y.shape}", np.array_equal(np.asarray(jax.device_put(y)), y))
large = rng.normal(size=(64, 128)).astype(np.float32)
there = jax.device_put(large)
large[:] = 0
check("what is uploaded is a copy", np.asarray(there).any())
check("from platform to platform", np.array_equal(jax.device_put(jax.device_put(there, cpu), gpu), there))

# Factors and solves are StableHLO's ops, which a GPU's libraries may compute. gpu_linalg.py has the rest of jnp.linalg.
m = x @ x.T + 9 * np.eye(5, dtype=np.float32)
solve = jax.jit(lambda m, b: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(m), b))
check("a Cholesky factor and its solves", near(m @ solve(m, x), x, 1e-4) and near(jnp.linalg.inv(m) @ m, np.eye(5), 1e-4))
check("no calls of LAPACK", "lapack" not in solve.lower(m, x).as_text() and "stablehlo.cholesky" in solve.lower(m, x).as_text())
check("a matrix that is not positive definite", np.isnan(jnp.linalg.cholesky(-m)).any())

# Runs follow each other without the host waiting; what fails is told by its arrays.
v = jnp.ones(100)
for _ in range(20):
    v = v * 1.5 - 0.25
check("a chain of runs", near(v.block_until_ready(), np.full(100, 1.5**20 - 0.5 * (1.5**20 - 1)), 1e-3))

# Memories.
kinds = [m.kind for m in gpu.addressable_memories()]
check("kinds of memory", kinds == ["device", "pinned_host", "unpinned_host"])
host = jax.device_put(x, jax.memory.Space.Host)
check("pinned_host", host.sharding.memory_kind == "pinned_host" and np.array_equal(host, x))
check("and back", np.array_equal(jax.device_put(host, jax.memory.Space.Device) + 1, x + 1))
both = jax.jit(lambda v: (jax.device_put(v * 2, jax.memory.Space.Host), v + 1))(x)
check("a result in pinned_host", [v.sharding.memory_kind for v in both] == ["pinned_host", "device"] and near(both[0], 2 * x))
before = gpu.memory_stats()["bytes_in_use"]
taken = jnp.zeros(1 << 18).block_until_ready()
check("memory in use", gpu.memory_stats()["bytes_in_use"] - before == 1 << 20 and gpu.memory_stats()["bytes_limit"] == 1 << 32)
place = taken.unsafe_buffer_pointer()
more = jax.jit(lambda v: v + 1, donate_argnums=0)(taken)
check("donation", taken.is_deleted() and more.unsafe_buffer_pointer() == place and near(more[:3], [1, 1, 1]))

# Callbacks run on the host.
seen = []


@jax.jit
def calls(v):
    jax.debug.callback(lambda y: seen.append(float(y)), v.sum(), ordered=True)
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(v.shape, v.dtype), v * 2)


check("pure_callback", near(calls(x), np.sin(2 * x)))
jax.effects_barrier()
check("debug.callback", len(seen) == 1 and near(seen[0], x.sum(), 1e-5))


def fails(_):
    raise ValueError("no such luck")


try:
    jax.jit(lambda v: jax.pure_callback(fails, jax.ShapeDtypeStruct((), np.float32), v))(1.0).block_until_ready()
    check("an error of a callback", False)
except jax.errors.JaxRuntimeError as error:
    check("an error of a callback", "no such luck" in str(error))

# Programs that were saved; programs that are exported for the other platform are refused by name.
from jax import export  # noqa: E402
from jax.experimental.serialize_executable import deserialize_and_load, serialize  # noqa: E402

again = deserialize_and_load(*serialize(program.lower(x, w).compile()))
check("a saved program", all(np.array_equal(a, b) for a, b in zip(again(x, w), program(x, w))))
both = export.deserialize(export.export(jax.jit(lambda v: v * 2), platforms=("hilo_gpu", "hilo"))(x).serialize())
check("an exported program", near(both.call(x), 2 * x) and near(both.call(jax.device_put(x, cpu)), 2 * x))

# DLPack: the device's memory, without a copy; the host's where it is asked for.


def tensor(capsule):
    from jax_hilo import _dlpack

    return ctypes.cast(_dlpack._pointer(id(capsule), b"dltensor"), ctypes.POINTER(_dlpack._Managed)).contents.tensor


y = jnp.arange(6, dtype=jnp.float32).reshape(2, 3)
lent = y.__dlpack__()
t = tensor(lent)
check("exported from the device", y.__dlpack_device__() == (2, 0) and (t.device_type, t.data, list(t.strides[:2])) ==
      (2, y.unsafe_buffer_pointer(), [3, 1]))
check("exported from the host", tensor(y.__dlpack__(dl_device=(1, 0))).device_type == 1)
check("taken in", np.array_equal(jnp.from_dlpack(np.arange(6.0, dtype=np.float32)), np.arange(6)))
check("from the GPU to itself", np.array_equal(jax.dlpack.from_dlpack(y, copy=True), y))


class Lender:
    """An array of something else in the device's memory."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **_):
        return self.array.__dlpack__()

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


view = jnp.from_dlpack(Lender(y))
check("memory of the device taken in", view.unsafe_buffer_pointer() == y.unsafe_buffer_pointer() and np.array_equal(view * 2, y * 2))

# Without a driver there is no such platform, and nothing is said; asked for by name, the reason is told.
PLAIN = "import sys; sys.path.insert(0, sys.argv[1]); import jax, jax_hilo; jax_hilo.initialize(); print(jax.devices()[0].platform)"
for platforms, want in (("", "hilo\n"), ("hilo_gpu", None)):
    env = dict(os.environ, HILO_CUDA_PATH="/nothing", JAX_PLATFORMS=platforms)
    done = subprocess.run([sys.executable, "-c", PLAIN, root / "python"], env=env, capture_output=True, text=True)
    good = done.stdout == want and not done.stderr if want else "libcuda.so.1 comes with it" in done.stderr
    check(f"no driver, JAX_PLATFORMS={platforms}: {done.stdout}{done.stderr[-500:]}", good)

# Nothing of the driver is left over, and memory that ends is told by name.
LEAKS = PLAIN.replace("print(jax.devices()[0].platform)", """
import jax.numpy as jnp
x = jnp.ones(1000)
print(float((x * 2).sum()))
try:
    jnp.ones(1 << 20).block_until_ready()
except jax.errors.JaxRuntimeError as error:
    print(error)
""")
with tempfile.TemporaryDirectory() as folder:
    env = dict(os.environ, HILO_FAKE_CUDA_REPORT=f"{folder}/report", HILO_FAKE_CUDA_MEMORY="100000", JAX_PLATFORMS="hilo_gpu")
    done = subprocess.run([sys.executable, "-c", LEAKS, root / "python"], env=env, capture_output=True, text=True)
    check(f"memory that ends: {done.stdout}{done.stderr[-500:]}", "2000.0" in done.stdout and
          "no 4194304 bytes for" in done.stdout and "are in use" in done.stdout)
    report = pathlib.Path(folder, "report").read_text()
    check(f"nothing is left over: {report}", " leaks 0 " in report)
common.end()
