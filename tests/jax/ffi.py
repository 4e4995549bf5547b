#!/usr/bin/env python3
"""Custom calls of XLA's FFI, with handlers in C++ that are built here with the headers of jaxlib: what a handler learns of its call,
stages, states, the thread pool, aliases, attributes. Needs JAX and a C++ compiler.

usage: ffi.py PJRT_HILO.SO
"""
import ctypes
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import common
from common import check, root, skip

os.environ.update(HILO_PJRT_PLUGIN=os.path.abspath(sys.argv[1]), JAX_PLATFORMS="hilo", HILO_NUM_DEVICES="3")
sys.path.insert(0, str(root / "python"))
common.need("jax")
import jax
import jax.numpy as jnp
import jax_hilo
import numpy as np

compiler = next((path for name in (os.environ.get("CXX"), "c++", "g++", "clang++") if name and (path := shutil.which(name))), None)
if not compiler:
    skip("everything", "there is no C++ compiler")
    common.end()
folder = tempfile.TemporaryDirectory()
library = pathlib.Path(folder.name, "handlers.so")
built = subprocess.run([compiler, "-std=c++17", "-O1", "-shared", "-fPIC", "-I", jax.ffi.include_dir(),
                        pathlib.Path(__file__).with_name("ffi_handlers.cc"), "-o", library], capture_output=True, text=True)
check(f"the handlers build: {built.stderr[-2000:]}", built.returncode == 0)
if built.returncode:
    common.end()
handlers = ctypes.CDLL(str(library))
jax_hilo.initialize()


def capsule(name, call=False):
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    function = getattr(handlers, name)
    function.restype = ctypes.c_void_p
    return new(function() if call else ctypes.cast(function, ctypes.c_void_p).value, None, None)


for name in ("Where", "Pool", "Alias", "Attrs"):
    jax.ffi.register_ffi_target(name.lower(), capsule(name), platform="hilo")
jax.ffi.register_ffi_type("counter", {"type_id": capsule("counter_id", True), "type_info": capsule("counter_type_info", True)},
                          platform="hilo")
jax.ffi.register_ffi_target("count", {"instantiate": capsule("CountInstantiate"), "prepare": capsule("CountPrepare"),
                                      "initialize": capsule("CountInitialize"), "execute": capsule("Count")}, platform="hilo")
scalar = jax.ShapeDtypeStruct((), np.int32)
wide = jax.ShapeDtypeStruct((), np.int64)
jax.config.update("jax_enable_x64", True)

# The device and the run.
where = jax.jit(lambda x: jax.ffi.ffi_call("where", (scalar, wide), has_side_effect=True)() + (x,))
runs = []
for device in jax.devices():
    for _ in range(2):
        ordinal, run, _ = where(jax.device_put(1.0, device))
        check(f"device {device.id}", int(ordinal) == device.id)
        runs.append(int(run))
check(f"each run has an id of its own: {runs}", len(set(runs)) == len(runs) and 0 not in runs)
mesh = jax.make_mesh((3,), ("i",))
spread = jax.jit(jax.shard_map(lambda x: tuple(v[None] for v in jax.ffi.ffi_call("where", (scalar, wide), has_side_effect=True)()),
                               mesh=mesh, in_specs=jax.P("i"), out_specs=jax.P("i"), check_vma=False))
ordinals, ids = spread(jax.device_put(np.arange(3.0), jax.NamedSharding(mesh, jax.P("i"))))
check(f"a program on three devices: {ordinals}, {ids}", np.array_equal(ordinals, [0, 1, 2]) and len(set(np.asarray(ids))) == 1)

# States and stages.
three = jax.ShapeDtypeStruct((3,), np.int32)
one = jax.jit(lambda: jax.ffi.ffi_call("count", three, has_side_effect=True)(first=np.int32(5)))
two = jax.jit(lambda: jax.ffi.ffi_call("count", three, has_side_effect=True)(first=np.int32(50)))
told = [np.asarray(f()) for f in (one, one, two, one, two)]
check(f"a state of each executable: {told}", [int(t[0]) for t in told] == [5, 6, 50, 7, 51])
check("prepared and initialised before each execution", [(int(t[1]), int(t[2])) for t in told] == [(i, i) for i in range(1, 6)])
check("states are alive", handlers.counters_alive() == 2)
one.clear_cache()
two.clear_cache()
jax.clear_caches()
import gc

gc.collect()
check(f"states end with their executables: {handlers.counters_alive()}", handlers.counters_alive() == 0)
try:
    jax.jit(lambda: jax.ffi.ffi_call("count", three, has_side_effect=True)(first=np.int32(-1)))().block_until_ready()
    check("a state that is refused", False)
except jax.errors.JaxRuntimeError as error:
    check(f"a state that is refused: {error}", "first must not be negative" in str(error))

# The thread pool: its tasks run concurrently.
threads, met = jax.jit(lambda x: jax.ffi.ffi_call("pool", (wide, scalar))(x))(jnp.ones(7))
check(f"threads: {threads}, {met}", int(threads) >= 1 and int(met) == int(threads) + 7)

# Aliases and attributes.
x = jnp.linspace(0, 1, 10)
alias = jax.ffi.ffi_call("alias", jax.ShapeDtypeStruct(x.shape, x.dtype), input_output_aliases={0: 0})
check("an alias", np.array_equal(alias(x), x))
total = jax.ffi.ffi_call("attrs", scalar)(number=np.int64(3), list=np.arange(5, dtype=np.int32), text="four")
check(f"attributes: {total}", int(total) == 3 + 10 + 4)
try:
    jax.ffi.ffi_call("attrs", scalar)(number=np.int64(3)).block_until_ready()
    check("a missing attribute", False)
except jax.errors.JaxRuntimeError as error:
    check(f"a missing attribute: {error}", "list" in str(error))
common.end()
