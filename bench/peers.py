#!/usr/bin/env python3
"""peers.py [options] [NAME|FILE.mlir...]: runs programs through hilo and its peers, XLA:CPU (jaxlib) and IREE, in one run.

A program is DIR/NAME.mlir, or a FILE.mlir, with a recipe NAME.json next to it: its inputs, how far results may differ. A
file of text without a recipe gets uniform random inputs for the parameters of @main. Each program runs in a process of its own:
all engines get the same arrays, take turns in short rounds, and have to agree with the first one that ran. Printed are
medians, ratios (peer / hilo: above 1 hilo is faster) and their geometric mean; --json keeps everything.

Every engine is timed in the same way: around one call from Python with inputs that are on the device, until all results are
there; the results of the call before are released before the clock starts. hilo is called through ctypes. What hilo's runtime
measures itself, without Python, is the column `inside`. A call from Python takes some microseconds in every engine, so programs
that any of the two engines runs in less than 0.1 ms have a geometric mean of their own, which compares calls rather than
kernels. An engine that is not installed is left out. --save adds the figures to bench/results/PROCESSOR/programs.json.

--device gpu compares hilo and XLA on the first NVIDIA GPU (JAX's plugin for CUDA); there programs share a process, which takes
seconds to start, until one of them ends it.

--compile compares the time to compile instead: each engine compiles a small program first, so that what happens once in a
process does not count, then all take turns. Nothing comes from a cache. --json has the time of all processors, too, which
depends less on what else the machine does.
"""

import argparse
import contextlib
import ctypes
import importlib.util
import json
import math
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import results

ROOT = Path(__file__).resolve().parent.parent


class Failed(Exception):
    pass


# ---- inputs ------------------------------------------------------------------------------------


def dtype_of(name):
    import ml_dtypes
    import numpy as np

    return np.dtype(getattr(ml_dtypes, name)) if hasattr(ml_dtypes, name) else np.dtype(name)


def make_input(entry, seed):
    """The array that an entry of a recipe describes; the kinds are those of `hilo bench --help`."""
    import numpy as np

    rng = np.random.default_rng(seed)
    shape, dtype, kind = entry["shape"], dtype_of(entry["dtype"]), entry["kind"]
    if kind == "const":
        return np.full(shape, entry.get("lo", 0), dtype)
    if kind == "randint":
        return rng.integers(entry["lo"], entry["hi"], shape).astype(dtype)
    wide = np.float64 if dtype.itemsize == 8 and dtype.kind == "f" else np.float32
    if kind == "uniform":
        x = rng.random(shape, wide)
        x *= entry["hi"] - entry["lo"]
        x += entry["lo"]
    else:
        x = rng.standard_normal(shape, wide)
        x *= entry["std"]
    if dtype.kind == "c":
        x = x + 1j * rng.standard_normal(shape, wide)
    if kind in ("tril", "spd"):
        n = shape[-1]
        lower = np.tril(x, -1)
        diagonal = np.eye(n) * entry["std"] * n
        x = lower + diagonal if kind == "tril" else lower + lower.swapaxes(-1, -2) + 2 * diagonal
    return np.ascontiguousarray(x.astype(dtype))


def difference(a, b):
    """The largest difference, relative to the largest number of b; infinite where one of them alone is no number."""
    import numpy as np

    if a.shape != b.shape:
        return math.inf
    if a.size == 0:
        return 0.0
    wide = np.complex128 if b.dtype.kind == "c" else np.float64
    worst, scale, all_a, all_b, piece = 0.0, 0.0, a.reshape(-1), b.reshape(-1), 1 << 20
    for at in range(0, a.size, piece):  # temporaries as large as the results would take longer than the runs
        a, b = all_a[at : at + piece].astype(wide), all_b[at : at + piece].astype(wide)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if not np.array_equal(np.isfinite(a) | same, np.isfinite(b) | same):
            return math.inf
        away = np.where(same, 0, np.abs(np.where(same, 0, a) - np.where(same, 0, b)))
        worst = max(worst, float(np.max(away)))
        scale = max(scale, float(np.max(np.abs(np.where(np.isfinite(b), b, 0)))))
    return worst / (scale if scale > 0 else 1)


# ---- hilo --------------------------------------------------------------------------------------


def options(*fields):
    """A struct of options, with room for fields to come: its _init function sets how much of it is used."""

    class Options(ctypes.Structure):
        _fields_ = [("struct_size", ctypes.c_size_t), *fields, ("rest", ctypes.c_byte * 512)]

    return Options


ClientOptions = options(("threads", ctypes.c_int32), ("device", ctypes.c_char_p))
CompileOptions = options(("level", ctypes.c_int32), ("backend", ctypes.c_int))
ExecuteOptions = options(("donate", ctypes.c_void_p), ("timing", ctypes.c_void_p))


class Type(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int), ("rank", ctypes.c_uint32), ("dims", ctypes.POINTER(ctypes.c_int64))]


class Stats(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("executions", ctypes.c_uint64),
        ("ms", ctypes.c_double * 4),
        ("peak_bytes", ctypes.c_uint64),
    ]


class Hilo:
    name, needs = "hilo", ("numpy", "ml_dtypes")

    def __init__(self, args):
        os.environ["HILO_CACHE_DIR"] = ""  # compiling is timed, too
        path = Path(args.library) if args.library else ROOT / "build" / "libhilo.so"
        if not path.exists():
            raise Failed(f"{path} is not there; build it, or give --library")
        self.lib = ctypes.CDLL(str(path))
        self.lib.hilo_buffer_data.restype = ctypes.c_void_p
        self.lib.hilo_buffer_bytes.restype = ctypes.c_size_t
        for name in ("input_count", "output_count"):
            getattr(self.lib, f"hilo_executable_{name}").restype = ctypes.c_size_t
        self.client, self.exe = ctypes.c_void_p(), ctypes.c_void_p()
        options = ClientOptions()
        self.lib.hilo_client_options_init_sized(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        options.threads, options.device = args.threads, getattr(args, "device", "cpu").encode()
        if self.lib.hilo_client_create(ctypes.byref(options), ctypes.byref(self.client)):
            raise Failed("no client")
        self.level, self.backend = args.level, {"auto": 0, "reference": 1}[args.backend]

    def check(self, status):
        if status == 0:
            return
        text = []
        write = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)(
            lambda _, p, n: text.append(ctypes.string_at(p, n).decode(errors="replace"))
        )
        self.lib.hilo_diagnostics_write(self.client, 0, write, None)
        raise Failed(("".join(text).strip().splitlines() or [f"status {status}"])[0][:200])

    def compile(self, program):
        """A program's text or bytecode, or the path of its file."""
        module = ctypes.c_void_p()
        if isinstance(program, Path):
            self.check(self.lib.hilo_module_load(self.client, os.fsencode(program), None, ctypes.byref(module)))
        else:
            size = ctypes.c_size_t(len(program))
            self.check(self.lib.hilo_module_parse(self.client, program, size, None, ctypes.byref(module)))
        options = CompileOptions()
        self.lib.hilo_compile_options_init_sized(ctypes.byref(options), ctypes.c_size_t(ctypes.sizeof(options)))
        options.level, options.backend = self.level, self.backend
        status = self.lib.hilo_compile(self.client, module, ctypes.byref(options), ctypes.byref(self.exe))
        self.lib.hilo_module_release(module)
        self.check(status)

    def settle(self):
        """The first run is over: waits until the code is optimised, which would happen while it runs for long."""
        self.check(self.lib.hilo_executable_optimise(self.exe))

    def take(self, arrays):
        self.arrays = arrays
        n = self.lib.hilo_executable_input_count(self.exe)
        if n != len(arrays):
            raise Failed(f"{n} inputs, not {len(arrays)}")
        self.inputs = (ctypes.c_void_p * n)()
        for i, a in enumerate(arrays):
            t, b = Type(), ctypes.c_void_p()
            self.check(self.lib.hilo_executable_input_type(self.exe, ctypes.c_size_t(i), ctypes.byref(t)))
            dims = (ctypes.c_int64 * a.ndim)(*a.shape)
            data, rank = ctypes.c_void_p(a.ctypes.data), ctypes.c_uint32(a.ndim)
            self.check(self.lib.hilo_buffer_wrap(self.client, t.dtype, dims, rank, data, None, None, ctypes.byref(b)))
            self.inputs[i] = b
        self.noutputs = self.lib.hilo_executable_output_count(self.exe)
        self.outputs = (ctypes.c_void_p * self.noutputs)()
        self.timing = (ctypes.c_double * 2)()
        self.inside = []  # times that the library reports
        self.options = ExecuteOptions()
        self.lib.hilo_execute_options_init_sized(ctypes.byref(self.options), ctypes.c_size_t(ctypes.sizeof(self.options)))
        self.options.timing = ctypes.addressof(self.timing)

    def run(self):
        for i in range(self.noutputs):
            self.lib.hilo_buffer_release(ctypes.c_void_p(self.outputs[i]))
            self.outputs[i] = None
        n, noutputs = ctypes.c_size_t(len(self.inputs)), ctypes.c_size_t(self.noutputs)
        begin = time.perf_counter()
        status = self.lib.hilo_execute(self.exe, ctypes.byref(self.options), self.inputs, n, self.outputs, noutputs)
        ms = (time.perf_counter() - begin) * 1e3
        self.check(status)
        self.inside.append(self.timing[0])
        return ms

    def results(self, like):
        import numpy as np

        out = []
        for i, (dtype, shape) in enumerate(like):
            b = ctypes.c_void_p(self.outputs[i])
            n = self.lib.hilo_buffer_bytes(b)
            if n != dtype.itemsize * math.prod(shape):
                raise Failed(f"result {i} has {n} bytes, expected {dtype.itemsize * math.prod(shape)}")
            data = ctypes.string_at(self.lib.hilo_buffer_data(b), n) if n else b""
            out.append(np.frombuffer(data, dtype).reshape(shape))
        return out

    def figures(self):
        stats = Stats(struct_size=ctypes.sizeof(Stats))
        self.lib.hilo_executable_stats(self.exe, ctypes.byref(stats))
        return {"peak_bytes": stats.peak_bytes, "inside_ms": statistics.median(self.inside)}


# ---- peers -------------------------------------------------------------------------------------


class Xla:
    name, needs = "xla", ("jax", "jaxlib")

    def __init__(self, args):
        platform = "cuda" if getattr(args, "device", "cpu") == "gpu" else "cpu"
        os.environ.setdefault("JAX_PLATFORMS", platform)
        import jax
        from jax._src import compiler, xla_bridge
        from jax._src.interpreters import mlir
        from jaxlib import xla_client
        from jaxlib.mlir import ir

        jax.config.update("jax_enable_x64", True)
        self.jax, self.compiler, self.mlir, self.ir = jax, compiler, mlir, ir
        self.backend = xla_bridge.get_backend(platform)
        self.devices = xla_client.DeviceList(tuple(self.backend.local_devices()[:1]))

    def compile(self, text):
        options = self.compiler.get_compile_options(num_replicas=1, num_partitions=1)
        with self.mlir.make_ir_context():
            module = self.ir.Module.parse(text)
            self.exe = self.compiler.backend_compile_and_load(self.backend, module, self.devices, options, [])

    def take(self, arrays):
        self.inputs = [self.jax.device_put(a) for a in arrays]
        self.jax.block_until_ready(self.inputs)
        self.outputs = None

    def run(self):
        self.outputs = None
        begin = time.perf_counter()
        arrays = self.exe.execute_sharded(self.inputs).disassemble_into_single_device_arrays()
        for a in arrays:
            a[0].block_until_ready()
        ms = (time.perf_counter() - begin) * 1e3
        self.outputs = arrays
        return ms

    def results(self, like):
        import numpy as np

        return [np.asarray(a[0]) for a in self.outputs]

    def figures(self):
        return {}


class Iree:
    name, needs = "iree", ("iree", "iree.compiler", "iree.runtime")

    def __init__(self, args):
        import iree.compiler
        import iree.runtime

        self.compiler, self.runtime, self.threads = iree.compiler, iree.runtime, args.threads

    def compile(self, text):
        flags = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3"]
        self.load(self.compiler.compile_str(text, input_type="stablehlo", target_backends=["llvm-cpu"], extra_args=flags))

    def load(self, binary):
        self.runtime.flags.parse_flags(f"--task_topology_max_group_count={self.threads}")
        config = self.runtime.Config("local-task")
        self.device = config.device
        module = self.runtime.load_vm_module(self.runtime.VmModule.copy_buffer(config.vm_instance, binary), config)
        self.main = module["main"]

    def take(self, arrays):
        self.inputs = [self.runtime.asdevicearray(self.device, a) for a in arrays]
        self.outputs = None

    def run(self):
        self.outputs = None
        begin = time.perf_counter()
        out = self.main(*self.inputs)
        ms = (time.perf_counter() - begin) * 1e3
        self.outputs = out if isinstance(out, (list, tuple)) else [out]
        return ms

    def results(self, like):
        arrays = [o.to_host() for o in self.outputs]
        return [a if a.dtype == dtype else a.view(dtype) for a, (dtype, _) in zip(arrays, like)]

    def figures(self):
        return {}


ENGINES = {e.name: e for e in (Xla, Iree, Hilo)}
CALL_MS = 0.1  # below it a figure is that of a call, not of the kernels


# ---- one program, in a process of its own ------------------------------------------------------


def tell(report):
    print(json.dumps(report), flush=True)


def prepare(engine, args, text, arrays, report):
    """Compiles, gives the inputs, runs once; the engine, or None after a note in the report of why not."""
    row = report["engines"].setdefault(engine, {})
    try:
        e = ENGINES[engine](args)
        with surrounded(args.around):
            begin = time.perf_counter()
            e.compile(text)
            row["compile_ms"] = (time.perf_counter() - begin) * 1e3
            e.take(arrays)
            row["first_ms"] = e.run()
        if hasattr(e, "settle"):
            e.settle()
        return e
    except Exception as error:  # whatever a peer raises is its failure, not ours
        row["failed"] = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
        return None


@contextlib.contextmanager
def surrounded(command):
    """While it lasts, the command runs and has printed its first line; its input then ends."""
    if not command:
        yield
        return
    around = subprocess.Popen(command, shell=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    around.stdout.readline()
    try:
        yield
    finally:
        around.stdin.close()
        around.wait()


def measure(engines, args, report):
    """Rounds in which each engine runs for a share of the time, once at least."""
    times = {name: [] for name in engines}
    for _ in range(args.rounds):
        for name, e in engines.items():
            end = time.perf_counter() + args.seconds / args.rounds
            while True:
                times[name].append(e.run())
                if time.perf_counter() >= end:
                    break
    for name, e in engines.items():
        report["engines"][name].update(
            median_ms=statistics.median(times[name]), min_ms=min(times[name]), runs=len(times[name]), **e.figures()
        )


def compare(engines, recipe, report):
    """Against the first engine's results. After the timed runs, those of an engine that overwrites its arguments differ."""
    like = [(dtype_of(o["dtype"]), tuple(o["shape"])) for o in recipe["outputs"]]
    reference = next(iter(engines), None)
    for name, e in engines.items():
        try:
            results = e.results(like)
            if name == reference:
                expected = results
            else:
                worst = max((difference(a, b) for a, b in zip(results, expected)), default=0.0)
                report["engines"][name].update(against=reference, difference=worst, agrees=worst <= recipe["tol"])
        except Exception as error:
            report["engines"][name]["failed"] = str(error)[:200]


SMALL = b"""module @small {
  func.func public @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.add %x, %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
}"""


def compile_only(args, text, report):
    times = {}
    engines = {}
    for name in args.engines.split(","):
        report["engines"][name] = {}
        try:
            engines[name] = ENGINES[name](args)
            engines[name].compile(SMALL)
            times[name] = []
        except Exception as error:
            report["engines"][name]["failed"] = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
    for _ in range(args.rounds):
        for name in list(times):
            try:
                begin, work = time.perf_counter(), time.process_time()
                engines[name].compile(text)
                times[name].append(((time.perf_counter() - begin) * 1e3, (time.process_time() - work) * 1e3))
                for i, key in enumerate(("median_ms", "cpu_ms")):
                    report["engines"][name][key] = statistics.median(t[i] for t in times[name])
            except Exception as error:
                report["engines"][name]["failed"] = (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
                del times[name]
    tell(report)
    sys.stdout.flush()
    os._exit(0)


def program_path(workloads, name):
    """Without its suffix."""
    return Path(name).with_suffix("") if name.endswith(".mlir") else Path(workloads) / name


def recipe_of(path):
    """The recipe next to a program; else one that is made from the types of @main's parameters."""
    if path.with_suffix(".json").exists():
        return json.loads(path.with_suffix(".json").read_text())
    names = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i1": "bool", "i8": "int8", "i16": "int16",
             "i32": "int32", "i64": "int64", "ui8": "uint8", "ui16": "uint16", "ui32": "uint32", "ui64": "uint64"}
    text = re.sub(r"//.*", "", path.with_suffix(".mlir").read_bytes().decode(errors="replace"))
    main = re.search(r"func\.func (?:public )?@main\((.*?)\)\s*->\s*(.*)", text, re.S)
    parts = (main.group(1), re.split(r"\{\s*\n", main.group(2))[0]) if main else ()
    tensors = [re.findall(r"tensor<((?:\d+x)*)(\w+)>", part) for part in parts]
    if not main or any(t not in names for part in tensors for _, t in part) or main.group(1).count("%") != len(tensors[0]):
        sys.exit(f"{path}.mlir: no recipe {path.name}.json, and none can be made from the types of @main's parameters")
    inputs, outputs = ([{"shape": [int(d) for d in dims.split("x")[:-1]], "dtype": names[t]} for dims, t in part]
                       for part in tensors)
    for entry in inputs:
        entry.update({"kind": "uniform", "lo": 0, "hi": 1} if "float" in entry["dtype"] else {"kind": "randint", "lo": 0, "hi": 2})
    return {"inputs": inputs, "outputs": outputs, "tol": 1e-4}


def child(args):
    if args.device == "cpu":
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    for name in args.names:
        run_here(name, args)
    sys.stdout.flush()
    os._exit(0)  # thread pools of several runtimes need not take leave of each other


def run_here(name, args):
    path = program_path(args.workloads, name)
    if args.compile:
        compile_only(args, path.with_suffix(".mlir").read_bytes(), {"name": name, "engines": {}})
    recipe = recipe_of(path)
    text = path.with_suffix(".mlir").read_bytes()
    arrays = [make_input(entry, i) for i, entry in enumerate(recipe["inputs"])]
    report = {"name": name, "engines": {}}
    engines = {}
    for name in args.engines.split(","):
        report["engines"][name] = {"failed": "did not come back"}
        tell(report)
        report["engines"][name] = {}
        e = prepare(name, args, text, arrays, report)
        if e:
            engines[name] = e
        tell(report)
    with surrounded(args.around):
        measure(engines, args, report)
    tell(report)
    compare(engines, recipe, report)
    tell(report)


# ---- all programs ------------------------------------------------------------------------------


def installed(engine):
    if engine not in ENGINES:
        sys.exit(f"peers.py: no engine is called {engine}; there are {', '.join(ENGINES)}")
    absent = next((m for m in ENGINES[engine].needs if not importlib.util.find_spec(m)), None)
    if absent:
        print(f"{engine} is left out: {absent} is not installed", file=sys.stderr)
    return not absent


def run_programs(names, args):
    """A report of each program, as soon as it has ended."""
    left = list(names)
    while left:
        some = left if args.device == "gpu" and not args.compile else left[:1]
        command = [sys.executable, __file__, "--child", *some]
        for option in ("workloads", "library", "engines", "threads", "level", "backend", "seconds", "rounds", "device", "around"):
            if getattr(args, option) is not None:
                command += [f"--{option}", str(getattr(args, option))]
        for report in run_reports(command + (["--compile"] if args.compile else []), some[0], args.timeout):
            left.remove(report["name"])
            yield report


def run_command(command, name, timeout):
    """The last report that the command prints, with a note of how it ended unless it ended well."""
    return list(run_reports(command, name, timeout))[-1]


def run_reports(command, name, timeout):
    """The last report on each program that the command prints, `name` being the first; that of the last one with a note of how
    the command ended unless it ended well. The time limit is for each program."""
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True)
        late = threading.Event()

        def limit():
            def stop():
                late.set()
                process.kill()

            t = threading.Timer(timeout, stop)
            t.start()
            return t

        timer, report = limit(), {"name": name, "engines": {}}
        for line in process.stdout:
            if not line.startswith("{"):
                continue
            new = json.loads(line)
            if new["name"] != report["name"]:
                timer.cancel()
                yield report
                timer = limit()
            report = new
        process.wait()
        timer.cancel()
        errors.seek(0)
        if late.is_set():
            report["note"] = f"did not end within {timeout} s"
        elif process.returncode < 0:
            report["note"] = f"ended by {signal.Signals(-process.returncode).name}"
        elif process.returncode:
            report["note"] = (errors.read().strip().splitlines() or ["failed"])[-1][:200]
        yield report


def ratio(report, peer):
    """Peer's time over hilo's, where both ran and their results are right."""
    mine, theirs = report["engines"].get("hilo", {}), report["engines"].get(peer, {})
    if not all("median_ms" in e and e.get("agrees", True) for e in (mine, theirs)):
        return None
    return theirs["median_ms"] / max(mine["median_ms"], 1e-6)


def cell(row, key="median_ms"):
    return f"{row[key]:.4g}" if key in row else "-"


def print_row(report, engines):
    hilo = report["engines"].get("hilo", {})
    text = f"{report['name']:<26}{cell(hilo):>11}{cell(hilo, 'inside_ms'):>11}"
    for peer in engines:
        if peer != "hilo":
            r = ratio(report, peer)
            text += f"{cell(report['engines'].get(peer, {})):>11}{'-' if r is None else format(r, '.2f'):>8}"
    text += f"{cell(hilo, 'compile_ms'):>11}{cell(hilo, 'difference'):>11}  "
    notes = [f"{n}: {e['failed']}" for n, e in report["engines"].items() if "failed" in e]
    notes += [f"{n} differs by {e['difference']:.2g}" for n, e in report["engines"].items() if not e.get("agrees", True)]
    if "note" in report:
        notes.append(report["note"])
    print(text + "; ".join(notes), flush=True)


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def is_call(report, peer):
    return min(report["engines"][e]["median_ms"] for e in ("hilo", peer)) < CALL_MS


def summarise(reports, engines):
    for peer in engines:
        measured = [r for r in reports if ratio(r, peer) is not None] if peer != "hilo" else []
        for what, calls in ((f"programs of {CALL_MS} ms and more", False), ("shorter ones, mostly calls", True)):
            ratios = {r["name"]: ratio(r, peer) for r in measured if is_call(r, peer) == calls}
            if not ratios:
                continue
            slowest = min(ratios, key=ratios.get)
            print(
                f"against {peer}, {len(ratios)} {what}: {geometric_mean(ratios.values()):.2f} times its speed (geometric "
                f"mean), {sum(v >= 1 for v in ratios.values())} faster, {sum(v < 0.3 for v in ratios.values())} below 0.3, "
                f"least {ratios[slowest]:.2f} ({slowest})"
            )
    wrong = [r["name"] for r in reports if not r["engines"].get("hilo", {}).get("agrees", True)]
    absent = [r["name"] for r in reports if "median_ms" not in r["engines"].get("hilo", {})]
    print(f"hilo: {len(reports) - len(wrong) - len(absent)} right, {len(wrong)} differ, {len(absent)} did not run")
    return not wrong and not absent


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", metavar="NAME", help="programs, files, or beginnings of names such as ARITH-; default: all")
    p.add_argument("--workloads", default=str(ROOT.parent / "shared" / "workloads"), metavar="DIR", help="programs, recipes")
    p.add_argument("--library", metavar="FILE", help="hilo's shared library; build/libhilo.so by default")
    p.add_argument("--engines", default="xla,iree,hilo", metavar="LIST", help="the first one's values are the measure")
    p.add_argument("--device", default="cpu", choices=("cpu", "gpu"), help="where programs run")
    p.add_argument("--threads", type=int, default=2, metavar="N", help="2 by default, on as many cores")
    p.add_argument("--level", type=int, default=2, choices=range(4), help="hilo's level of optimisation")
    p.add_argument("--backend", default="auto", choices=("auto", "reference"), help="hilo's")
    p.add_argument("--seconds", type=float, default=1.0, metavar="S", help="for each engine and program; 1 by default")
    p.add_argument("--rounds", type=int, default=5, metavar="N", help="in which engines take turns; 5 by default")
    p.add_argument("--timeout", type=float, default=300, metavar="S", help="for each program; 300 by default")
    p.add_argument("--around", metavar="COMMAND", help="runs while engines are timed: from its first line until its input ends")
    p.add_argument("--compile", action="store_true", help="compare the time to compile")
    p.add_argument("--json", metavar="FILE", help="write all figures there")
    p.add_argument("--save", action="store_true", help="add the figures to those of this processor in bench/results")
    p.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.child:
        child(args)
    if args.save and args.device == "gpu":
        sys.exit("peers.py: --save is for processors; --json keeps figures of a GPU")
    names = sorted(f.stem for f in Path(args.workloads).glob("*.mlir") if f.with_suffix(".json").exists())
    if args.names:
        names = [n for n in names if any(n.startswith(beginning) for beginning in args.names)]
        names += [n for n in args.names if n.endswith(".mlir")]
    if not names:
        sys.exit(f"peers.py: no such programs in {args.workloads}")
    engines = [e for e in args.engines.split(",") if installed(e)]
    args.engines = ",".join(engines)
    head = f"{'program (ms)':<26}{'hilo':>11}{'inside':>11}" + "".join(f"{e:>11}{'ratio':>8}" for e in engines if e != "hilo")
    print(head + f"{'compile':>11}{'difference':>11}")
    reports = []
    for report in run_programs(names, args):
        reports.append(report)
        print_row(report, engines)
        if args.json:
            figures = {"threads": args.threads, "level": args.level, "programs": reports}
            Path(args.json).write_text(json.dumps(figures, indent=1))
    if args.save and not args.compile:
        results.save("programs", reports, args.threads, results.versions("jaxlib", "iree-base-compiler"))
    sys.exit(0 if summarise(reports, engines) else 1)


if __name__ == "__main__":
    main()
