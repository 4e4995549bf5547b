#!/usr/bin/env python3
"""The package hilo in python/: programs as functions of numpy's arrays; where JAX is installed, what jax.export writes too, on the
command as well. Needs numpy.

usage: module.py LIBHILO.SO
"""
import gc
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

import common
from common import check, near, root, skip

os.environ.update(HILO_LIBRARY=os.path.abspath(sys.argv[1]), JAX_PLATFORMS="cpu")
sys.path.insert(0, str(root / "python"))
common.need("numpy")
import numpy as np
import hilo


def refuses(what, kind, call, part):
    try:
        call()
        check(what, False)
    except kind as error:
        check(f"{what}: {error}", part in str(error))


AFFINE = """func.func @main(%x: tensor<3x4xf32> loc("x"), %b: tensor<4xf32>) -> (tensor<3x4xf32>, tensor<3x4xi1>) {
  %0 = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<3x4xf32>
  %1 = stablehlo.add %x, %0 : tensor<3x4xf32>
  %2 = stablehlo.compare GT, %1, %0 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xi1>
  return %1, %2 : tensor<3x4xf32>, tensor<3x4xi1>
}"""

MINIMUM = """func.func @main(%x: tensor<2xi8>, %y: tensor<2xi8>) -> tensor<2xi8> {
  %0 = stablehlo.minimum %x, %y : tensor<2xi8>
  return %0 : tensor<2xi8>
}"""


def identity(dtype, shape="2x3x"):
    return f"func.func @main(%x: tensor<{shape}{dtype}>) -> tensor<{shape}{dtype}> {{ return %x : tensor<{shape}{dtype}> }}"


rng = np.random.default_rng(0)
x, b = rng.normal(size=(3, 4)).astype(np.float32), np.arange(4, dtype=np.float32)
f = hilo.compile(AFFINE)
y, positive = f(x, b)
check("values", np.array_equal(y, x + b) and np.array_equal(positive, x + b > b) and positive.dtype == bool)
check("ports", [str(p) for p in f.inputs] == ["3x4xf32", "4xf32"] and f.inputs[0].name == "x" and f.outputs[1].dtype == "i1")
check("memory of any order", np.array_equal(f(np.asfortranarray(x), b[::-1])[0], x + b[::-1]))
check("lists and numbers", np.array_equal(f([[1, 2, 3, 4]] * 3, [0] * 4)[0], np.array([[1, 2, 3, 4]] * 3)))
del f, positive
gc.collect()
check("results outlive the program", np.array_equal(y, x + b))
for backend in ("auto", "reference", "interpreter"):
    same = hilo.compile(AFFINE, backend=backend, level=0)(x, b)
    check(backend, np.array_equal(same[0], y))
    given = hilo.compile(identity("f32"), backend=backend)
    z = np.ones((2, 3), np.float32)
    back = given(z)
    z[0, 0] = 7
    check(f"{backend}: results are not arguments", back[0, 0] == 1)

# Every element type, scalars, empty arrays, tokens.
for number in hilo._library._NAMES:
    try:
        dtype = hilo._library.numpy_dtype(number)
    except ImportError:
        skip(hilo._library.library().hilo_dtype_name(number).decode(), "ml_dtypes is not installed")
        continue
    name = hilo._library.library().hilo_dtype_name(number).decode()
    value = rng.integers(0, 2, (2, 3)).astype(dtype)
    back = hilo.compile(identity(name))(value)
    check(name, back.dtype == dtype and back.tobytes() == value.tobytes())
    if name in ("i2", "i4"):
        low, high = np.array([-2, 1]).astype(dtype), np.array([1, -1]).astype(dtype)
        for backend in ("auto", "reference"):
            least = hilo.compile(MINIMUM.replace("i8", name), backend=backend)(low, high).astype(np.int8)
            check(f"{backend}: negative numbers of {name}", least.tolist() == [-2, -1])
check("a scalar", hilo.compile(identity("f64", ""))(2.5) == 2.5)
check("an empty array", hilo.compile(identity("f32", "0x3x"))(np.zeros((0, 3), np.float32)).shape == (0, 3))
token = "func.func @main(%t: !stablehlo.token, %x: tensor<i32>) -> (!stablehlo.token, tensor<i32>) " \
        "{ return %t, %x : !stablehlo.token, tensor<i32> }"
check("a token", hilo.compile(token)(None, 3) == (None, 3))

# Clients, entries, threads.
client = hilo.Client(threads=1, level=0)
check("a client", client.threads == 1 and "level=0" in repr(client))
two = "func.func @a(%x: tensor<i32>) -> tensor<i32> { return %x : tensor<i32> }\n" \
      "func.func @b() -> tensor<i32> { %0 = stablehlo.constant dense<5> : tensor<i32> return %0 : tensor<i32> }"
check("an entry", hilo.compile(two, entry="b", client=client)() == 5)
shared, wrong = hilo.compile(AFFINE), []


def work(k):
    for _ in range(20):
        if not np.array_equal(shared(x + k, b)[0], x + k + b):
            wrong.append(k)
        try:
            hilo.compile("nonsense")
        except hilo.Error as error:
            if len(error.diagnostics) != 1:
                wrong.append(error)


threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
check("threads", not wrong)

# What is wrong is said.
refuses("a wrong program", hilo.Error, lambda: hilo.compile(AFFINE.replace("%x, %0", "%x, %b")), "<input>:3:")
try:
    hilo.compile(AFFINE.replace("%x, %0", "%x, %b"))
except hilo.Error as error:
    check("a diagnostic", error.status == "INVALID_ARGUMENT" and error.diagnostics[0].line == 3 and error.diagnostics[0].source)
refuses("no such file", hilo.Error, lambda: hilo.load("no/such.hilo"), "no/such.hilo")
refuses("no executable", hilo.Error, lambda: hilo.load(b"nothing"), "")
refuses("no program", hilo.Error, lambda: hilo.compile(3), "int")
refuses("no backend", hilo.Error, lambda: hilo.compile(AFFINE, backend="best"), "reference")
refuses("no level", hilo.Error, lambda: hilo.compile(AFFINE, level=9), "level")
refuses("no entry", hilo.Error, lambda: hilo.compile(two, entry="c"), "@a, @b")
refuses("too few arguments", hilo.Error, lambda: shared(x), "2 arguments")
refuses("named arguments", hilo.Error, lambda: shared(x, b=b), "'b'")
refuses("another element type", hilo.Error, lambda: shared(x.astype(np.float64), b), "float32")
refuses("another shape", hilo.Error, lambda: shared(x[:2], b), "2x4")
refuses("a shape of its own", hilo.Error, lambda: shared([[1, 2], [3]], b), "argument 0")
refuses("no tier", hilo.Error, lambda: hilo.Client(tier="best").compile(AFFINE), "optimised")
refuses("threads", hilo.Error, lambda: hilo.Client(threads=-1), "")

# Files and explanations.
with tempfile.TemporaryDirectory() as folder:
    source = pathlib.Path(folder, "affine.mlir")
    source.write_text(AFFINE)
    check("a program from a file", np.array_equal(hilo.compile(source)(x, b)[0], x + b))
    try:
        shared.save(source.with_suffix(".hilo"))
        loaded = hilo.load(source.with_suffix(".hilo"))
        check("load a file", np.array_equal(loaded(x, b)[0], x + b) and loaded.inputs == shared.inputs)
        check("load bytes", np.array_equal(hilo.load(shared.serialize())(x, b)[0], x + b))
    except hilo.Error as error:  # without a code generator
        check(f"not saved: {error}", error.status == "UNIMPLEMENTED")
        skip("files", "there is no code generator")
for tier in ("baseline", "optimised", "auto"):
    f = hilo.Client(tier=tier, cache_dir="").compile(AFFINE)
    check(f"tier {tier}", np.array_equal(f(x, b)[0], x + b))
try:
    f.optimise()
    check("optimised code", np.array_equal(f(x, b)[0], x + b))
except hilo.Error as error:  # without LLVM
    check("no optimised code", error.status == "UNAVAILABLE")
told = shared.explain()
check("explain", told.steps and told.steps[0].bytes > 0 and "3x4xf32" in str(told) and "steps" in str(told))
check("explain in a notebook", told._repr_html_().startswith("<p>") and told._repr_html_().count("<tr>") == len(told.steps) + 1)
check("explain arguments", len(shared.explain(x, b).steps) == len(told.steps))
check("stats", shared.stats["executions"] > 0 and shared.stats["compile_ms"] > 0)
check("version", hilo.version().count(".") == 2)

# What JAX exports: as it is, loaded again from bytes, and with a batch size known at run time; here and on the command line.
try:
    import jax
    import jax.numpy as jnp
    from jax import export
except ImportError:
    jax = None
    skip("what JAX exports", "jax is not installed")


def tree(p, v, unused, *, scale):
    return {"out": jnp.tanh(v @ p["w"] + p["b"]) * scale, "sum": v.sum()}


def dynamic(v):
    return jax.nn.softmax(v @ jnp.ones((4, 4)), axis=-1), jnp.concatenate([v, v]), v.reshape(-1), jnp.cumsum(v, 0)


if jax:
    p = {"w": rng.normal(size=(4, 2)).astype(np.float32), "b": np.ones(2, np.float32)}
    spec = jax.tree_util.tree_map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), (p, x, b))
    exported = export.export(jax.jit(tree))(*spec, scale=jax.ShapeDtypeStruct((), np.float32))
    again = export.deserialize(exported.serialize())
    want = jax.jit(tree)(p, x, b, scale=np.float32(2))
    for what, program in (("exported", exported), ("deserialized", again)):
        got = hilo.compile(program)(p, x, b, scale=np.float32(2))
        check(what, all(near(got[key], want[key]) for key in want))
    refuses("another tree", hilo.Error, lambda: hilo.compile(exported)(p, x, scale=np.float32(2)), "takes")
    lowered = jax.jit(lambda v: jnp.sin(v)).lower(x)
    check("lowered", near(hilo.compile(lowered)(x), np.sin(x), 1e-6))

    batch, = export.symbolic_shape("batch")
    exported = export.export(jax.jit(dynamic))(jax.ShapeDtypeStruct((batch, 4), np.float32))
    exported = export.deserialize(exported.serialize())
    g = hilo.compile(exported)
    check("a dynamic batch is told", g.inputs[0].shape == (None, 4) and "?x4xf32" in repr(g))
    refuses("explain needs arguments", hilo.Error, lambda: g.explain(), "shapes")
    check("explain a dynamic batch", g.explain(x).steps)
    for n in (1, 3, 8):
        v = rng.normal(size=(n, 4)).astype(np.float32)
        want, got = dynamic(v), g(v)
        check(f"a batch of {n}", all(near(a, c) for a, c in zip(got, want)))
    hilo_command = os.environ.get("HILO")
    if hilo_command:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder)
            (path / "exported").write_bytes(exported.serialize())
            np.save(path / "x.npy", x)
            done = subprocess.run([hilo_command, "run", path / "exported", "--input", path / "x.npy", "-o", path / "y.npz"],
                                  capture_output=True, text=True)
            check(f"hilo run {done.stderr}", done.returncode == 0)
            if done.returncode == 0:
                with np.load(path / "y.npz") as data:
                    got = [data[name] for name in data.files]
                check("what hilo run writes", all(near(a, c) for a, c in zip(got, dynamic(x))))

common.end()
