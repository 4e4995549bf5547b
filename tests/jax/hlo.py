#!/usr/bin/env python3
"""HLO text means to hilo what it means to XLA.

The programs of tests/read/hlo that are run there give the same values. What hilo writes of them, and of the programs of tests/op, is
accepted. Needs JAX.
"""
import collections
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import common
from common import check, near, root, skip

common.need("jax")
import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax.extend.backend import get_backend  # noqa: E402
from jaxlib import xla_client  # noqa: E402

sys.path.append(str(root / "tests/read/hlo"))
import emit  # noqa: E402

hilo = os.path.abspath(os.environ["HILO"])
jax.config.update("jax_enable_x64", True)
# What jaxlib, which compiles StableHLO only, cannot bring there from HLO.
NOT_IN_JAXLIB = dict.fromkeys(("async", "bitcast", "fusion", "tuple_constant"), "what is in it has no form in StableHLO")
DTYPES = {"f32": np.float32, "i32": np.int32, "ui64": np.uint64, "complex<f32>": np.complex64}


def array(text):
    shape, values = text.split("=")
    *dims, dtype = re.match(r"((?:\d+x)*)(.*)", shape).groups()
    dims = [int(d) for d in dims[0].split("x") if d]
    dtype = DTYPES[dtype]
    if dtype is np.complex64:
        values = [complex(float(re_), float(im)) for re_, im in re.findall(r"\(([^,]*),([^)]*)\)", values)]
    else:
        values = [float(v) if dtype is np.float32 else int(v) for v in values.split(",")]
    return np.broadcast_to(np.array(values, dtype).reshape(dims if len(values) > 1 else [1] * len(dims)), dims)


def by_xla(text, inputs):
    module = xla_client.hlo.hlo_module_from_text(text)
    computation = xla_client.hlo.XlaComputation(module.as_serialized_hlo_module_proto())
    program = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
    client = get_backend("cpu")
    devices = xla_client.DeviceList(tuple(client.local_devices()[:1]))
    loaded = client.compile_and_load(program, devices, xla_client.CompileOptions())
    results = loaded.execute_sharded([jax.device_put(x) for x in inputs])
    return [np.asarray(x[0]) for x in results.disassemble_into_single_device_arrays()]


def by_hilo(path, arguments):
    with tempfile.TemporaryDirectory() as scratch:
        out = os.path.join(scratch, "out.npz")
        subprocess.run([hilo, "run", str(path), *arguments, "-o", out], check=True, capture_output=True)
        with np.load(out) as data:
            return [data[name] for name in data.files]


def same(a, b):
    if a.shape != b.shape or a.dtype.itemsize != b.dtype.itemsize:
        return False
    if a.dtype != b.dtype or a.dtype.kind not in "fc":  # of ml_dtypes hilo writes the bytes
        return b.tobytes() in (a.tobytes(), a.astype(np.int8).tobytes() if a.dtype.itemsize == 1 else b"")
    return near(a, b)


def main():
    for path in [pathlib.Path(f) for f in sys.argv[1:]] or sorted(root.glob("tests/read/hlo/*.hlo")):
        text = path.read_text()
        run = re.search(r"^// run:(.*)$", text, re.M)
        if not run:
            continue
        if path.stem in NOT_IN_JAXLIB:
            skip(path.name, NOT_IN_JAXLIB[path.stem])
            continue
        arguments = shlex.split(run[1].replace("(", "'(").replace(")", ")'"))
        try:
            want = by_xla(text, [array(a) for a in arguments if a != "--input"])
            got = by_hilo(path, arguments)
            bad = [i for i, (a, b) in enumerate(zip(want, got)) if not same(a, b)]
            message = f"results {bad} of {len(want)} differ" if bad or len(want) != len(got) else ""
            for i in bad:
                message += f"\n  XLA {want[i]}\n  hilo {got[i]}"
        except Exception as error:  # noqa: BLE001: whatever it is, the file failed
            message = f"{type(error).__name__} {error}"
        check(path.name, not message, message)
    for name, _, _, text, _ in emit.emitted([], collections.Counter()):
        try:
            xla_client.hlo.hlo_module_from_text(text.decode())
            message = ""
        except Exception as error:  # noqa: BLE001
            message = f"{error}\n{text.decode()}"
        check(name, not message, message)
    common.end()


main()
