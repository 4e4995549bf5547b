#!/usr/bin/env python3
"""networks.py [options] [NAME...]: runs whole networks through hilo and what people deploy, in one run.

The networks are the PyTorch modules of models.py with random weights. Each is exported once, to StableHLO for hilo, XLA:CPU
(jaxlib) and IREE and to ONNX for ONNX Runtime and OpenVINO, with its weights as constants; PyTorch runs the module itself,
eagerly and compiled by Inductor. A training step has its parameters as arguments and results; ONNX has none. Exported
programs, inputs and what peers cache are files of --cache: NAME.bc with NAME.json and NAME.npz are also a program with a recipe
for `hilo bench` and inputs for `hilo run`.

Each network runs in a process of its own: all engines get the same inputs, take turns in short rounds with the same number of
threads, and have to agree with the first one that ran. Printed are medians in ms, and the time of the best peer over hilo's
(above 1 hilo is faster) with the geometric mean. An engine that is not installed is left out by name. Files of programs are
in the page cache when engines start. --json keeps all figures; --save adds those of a network to
bench/results/PROCESSOR/networks.json, from which bench/tables.py makes the tables of docs/PERFORMANCE.md.
"""

import argparse
import hashlib
import importlib.util
import json
import os
import sys
import time
from pathlib import Path

import peers
import results
from peers import Failed

EXPORT = 1  # another number exports everything again
LEARNING_RATE = 1e-3
TOLERANCES = {"f32": 2e-3, "bf16": 6e-2}


# ---- export ------------------------------------------------------------------------------------


class Program:
    """The files of a network in the cache, all of which are written by export()."""

    def __init__(self, cache, name, dtype):
        self.name, self.dtype = name, dtype
        stem = Path(cache) / (name if dtype == "f32" else f"{name}-{dtype}")
        self.bytecode, self.onnx, self.inputs, self.recipe = (
            stem.parent / f"{stem.name}.{end}" for end in ("bc", "onnx", "npz", "json")
        )

    def key(self):
        text = (Path(__file__).parent / "models.py").read_text()
        return hashlib.sha256(f"{EXPORT} {results.versions('jax', 'torch', 'torchax')} {text}".encode()).hexdigest()

    def ready(self):
        return self.recipe.exists() and json.loads(self.recipe.read_text()).get("key") == self.key()

    def build(self):
        """The module and its inputs in the type of the program."""
        import models
        import torch

        module, inputs = models.build(self.name)
        if self.dtype == "bf16":
            module = module.to(torch.bfloat16)
            inputs = tuple(x.to(torch.bfloat16) if x.is_floating_point() else x for x in inputs)
        return module, inputs

    def training(self):
        return self.name.startswith("train-")


def to_numpy(x):
    """A tensor as an array: 64-bit integers as 32-bit ones, which is what JAX programs have; bf16 by its bits."""
    import ml_dtypes
    import torch

    if x.dtype == torch.bfloat16:
        return x.detach().contiguous().view(torch.uint16).numpy().view(ml_dtypes.bfloat16)
    x = x.detach().contiguous().numpy()
    return x.astype("int32") if x.dtype == "int64" else x


def import_torchax():
    """torchax registers overloads by name, of which newer versions of PyTorch lack some: a placeholder takes their place."""
    from unittest import mock

    from torch import _ops

    def tolerant(kind):
        lookup = kind.__getattr__

        def find(self, name):
            try:
                return lookup(self, name)
            except AttributeError:
                if name.startswith("__"):
                    raise
                return mock.MagicMock(name=name)

        return mock.patch.object(kind, "__getattr__", find)

    with tolerant(_ops._OpNamespace), tolerant(_ops.OpOverloadPacket):
        import torchax.export

        torchax.default_env()
    return torchax


def as_function(module, inputs):
    """The module as a function of JAX, of its parameters and buffers and of its inputs, and the values of the former."""
    import jax.numpy as jnp
    import models
    import torch
    from jax import lax

    if isinstance(module, models.Recurrent):
        return models.scan(module, jnp, lax), None
    torchax = import_torchax()
    with torch.no_grad():
        program = torch.export.export(module, inputs)
    states, function = torchax.export.exported_program_to_jax(program)
    return function, states


def training_step(function, states):
    """Parameters and inputs to the loss and the parameters after a step of gradient descent."""
    import jax
    import jax.numpy as jnp

    learned = [i for i, s in enumerate(states) if jnp.issubdtype(s.dtype, jnp.floating)]

    def step(parameters, *inputs):
        def loss(parameters):
            given = list(states)
            for i, p in zip(learned, parameters):
                given[i] = p
            (out,) = function(given, inputs[:-1])
            out = out.reshape(-1, out.shape[-1])
            picked = jnp.take_along_axis(jax.nn.log_softmax(out), inputs[-1][:, None], 1)
            return -jnp.mean(picked)

        value, slopes = jax.value_and_grad(loss)(parameters)
        return (value, *(p - LEARNING_RATE * g for p, g in zip(parameters, slopes)))

    return step, [states[i] for i in learned]


def export_stablehlo(program, module, inputs):
    """Writes the program and its inputs; returns the types of its results."""
    import jax
    import jax.export
    import numpy as np

    arrays = [to_numpy(x) for x in inputs]
    function, states = as_function(module, inputs[:-1] if program.training() else inputs)
    specs = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in arrays]
    if program.training():
        step, parameters = training_step(function, states)
        specs = [[jax.ShapeDtypeStruct(p.shape, p.dtype) for p in parameters], *specs]
        arrays = [np.asarray(p) for p in parameters] + arrays
        forward = step
    elif states is None:
        forward = function
    else:
        forward = lambda *given: function(states, given)
    exported = jax.export.export(jax.jit(forward), platforms=["cpu"])(*specs)
    program.bytecode.write_bytes(exported.mlir_module_serialized)
    np.savez(program.inputs, **{str(i): a.view("uint16") if a.dtype.name == "bfloat16" else a for i, a in enumerate(arrays)})
    return arrays, [{"shape": list(a.shape), "dtype": a.dtype.name} for a in exported.out_avals]


def export(program):
    import torch

    program.recipe.unlink(missing_ok=True)
    module, inputs = program.build()
    arrays, outputs = export_stablehlo(program, module, inputs)
    if not program.training() and importlib.util.find_spec("onnxscript"):
        with torch.no_grad():
            torch.onnx.export(module, inputs, str(program.onnx), dynamo=True, external_data=True, verbose=False)
    described = []
    for a in arrays:
        entry = {"shape": list(a.shape), "dtype": a.dtype.name, "kind": "normal", "std": 1}
        if a.dtype.kind == "i":
            entry.update(kind="randint", lo=0, hi=int(a.max()) + 1)
        elif program.training():
            entry["std"] = max(float(a.astype("float32").std()), 1e-3)
        described.append(entry)
    recipe = {"inputs": described, "outputs": outputs, "tol": TOLERANCES[program.dtype], "key": program.key()}
    program.recipe.write_text(json.dumps(recipe, indent=1) + "\n")


# ---- engines: compile(program), take(arrays), run() in ms, results(like) ---------------------------


class Hilo(peers.Hilo):
    def compile(self, program):
        super().compile(program.bytecode)


class Xla(peers.Xla):
    def compile(self, program):
        from jaxlib.mlir.dialects import stablehlo

        options = self.compiler.get_compile_options(num_replicas=1, num_partitions=1)
        with self.mlir.make_ir_context() as context:
            module = stablehlo.deserialize_portable_artifact(context, program.bytecode.read_bytes())
            self.exe = self.compiler.backend_compile_and_load(self.backend, module, self.devices, options, [])


class Iree(peers.Iree):
    """Its compiler takes minutes and gigabytes where constants are large, so its binaries are kept."""

    def compile(self, program):
        flags = ["--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", "--iree-input-type=stablehlo"]
        key = hashlib.sha256(program.bytecode.read_bytes() + ",".join(results.versions("iree-base-compiler") + flags).encode())
        binary = program.bytecode.with_name(f"{program.name}-{key.hexdigest()[:16]}.vmfb")
        if not binary.exists():
            self.compiler.compile_file(
                str(program.bytecode), target_backends=["llvm-cpu"], extra_args=flags, output_file=str(binary)
            )
        self.load(binary.read_bytes())


class Torch:
    name, needs = "torch", ("torch",)

    def __init__(self, args):
        import torch

        torch.set_num_threads(args.threads)
        self.torch = torch

    def prepare(self, function):
        return function

    def compile(self, program):
        import models

        module, inputs = program.build()
        if not program.training():
            self.inputs, self.function = inputs, self.prepare(module)
            return
        parameters = list(module.parameters())
        loss = self.prepare(lambda *given: models.loss_of(module, given))

        def step(*given):
            value = loss(*given)
            with self.torch.no_grad():
                slopes = self.torch.autograd.grad(value, parameters)
                self.torch._foreach_add_(parameters, slopes, alpha=-LEARNING_RATE)
            return (value, *parameters)

        self.inputs, self.function = inputs, step
        self.run = self.train

    def take(self, arrays):
        pass  # it has the tensors that the arrays were made from

    def run(self):
        with self.torch.inference_mode():
            return self.train()

    def train(self):
        self.outputs = None
        begin = time.perf_counter()
        out = self.function(*self.inputs)
        ms = (time.perf_counter() - begin) * 1e3
        self.outputs = out if isinstance(out, tuple) else (out,)
        return ms

    def results(self, like):
        return [to_numpy(x).copy() for x in self.outputs]

    def figures(self):
        return {}


class Inductor(Torch):
    name = "inductor"

    def prepare(self, function):
        import torch._inductor.config

        torch._inductor.config.freezing = True  # weights are constants: folded and laid out once
        return self.torch.compile(function)


class OnnxRuntime:
    name, needs = "onnxruntime", ("onnxruntime",)

    def __init__(self, args):
        import onnxruntime

        self.options = onnxruntime.SessionOptions()
        self.options.intra_op_num_threads, self.options.inter_op_num_threads = args.threads, 1
        self.options.add_session_config_entry("session.force_spinning_stop", "1")  # idle while others run
        self.runtime = onnxruntime

    def compile(self, program):
        if not program.onnx.exists():
            raise Failed("no ONNX program")
        self.session = self.runtime.InferenceSession(str(program.onnx), self.options, providers=["CPUExecutionProvider"])

    def take(self, arrays):
        self.binding = self.session.io_binding()
        for port, a in zip(self.session.get_inputs(), arrays):
            self.binding.bind_cpu_input(port.name, a.astype("int64") if a.dtype == "int32" else a)
        for port in self.session.get_outputs():
            self.binding.bind_output(port.name)

    def run(self):
        begin = time.perf_counter()
        self.session.run_with_iobinding(self.binding)
        return (time.perf_counter() - begin) * 1e3

    def results(self, like):
        return self.binding.copy_outputs_to_cpu()

    def figures(self):
        return {}


class OpenVino:
    name, needs = "openvino", ("openvino",)

    def __init__(self, args):
        import openvino

        self.core, self.args = openvino.Core(), args

    def compile(self, program):
        if not program.onnx.exists():
            raise Failed("no ONNX program")
        options = {
            "INFERENCE_NUM_THREADS": self.args.threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": program.dtype, "ENABLE_CPU_PINNING": False,
        }
        self.request = self.core.compile_model(str(program.onnx), "CPU", options).create_infer_request()

    def take(self, arrays):
        self.inputs = [a.astype("int64") if a.dtype == "int32" else a for a in arrays]

    def run(self):
        begin = time.perf_counter()
        self.outputs = self.request.infer(self.inputs, share_inputs=True, share_outputs=True)
        return (time.perf_counter() - begin) * 1e3

    def results(self, like):
        return [a.copy() for a in self.outputs.to_tuple()]

    def figures(self):
        return {}


ENGINES = {e.name: e for e in (Torch, Inductor, OnnxRuntime, OpenVino, Xla, Iree, Hilo)}
PACKAGES = {"xla": "jaxlib", "iree": "iree-base-compiler", "inductor": "torch"}  # where they have other names than engines


# ---- one network, in a process of its own -----------------------------------------------------------


def read_files(program):
    """Into the page cache: a start is timed, not the disk, for the first engine as well."""
    for path in program.bytecode.parent.glob(f"{program.bytecode.stem}.*"):
        if path.suffix in (".bc", ".onnx", ".data"):
            with open(path, "rb", buffering=0) as file:
                while file.read(1 << 24):
                    pass


def child(args):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(args.cache).absolute() / "inductor"))
    import numpy as np

    program = Program(args.cache, args.names[0], args.dtype)
    if args.export:
        export(program)
        return
    recipe = json.loads(program.recipe.read_text())
    with np.load(program.inputs) as kept:
        arrays = [kept[str(i)].view(peers.dtype_of(entry["dtype"])) for i, entry in enumerate(recipe["inputs"])]
    report, engines = {"name": program.name, "dtype": program.dtype, "engines": {}}, {}
    read_files(program)
    for name in args.engines.split(","):
        report["engines"][name] = {"failed": "did not come back"}
        peers.tell(report)
        report["engines"][name] = {}
        engine = peers.prepare(name, args, program, arrays, report)
        if engine:
            engines[name] = engine
        peers.tell(report)
    peers.compare(engines, recipe, report)
    peers.tell(report)
    with peers.surrounded(args.around):
        peers.measure(engines, args, report)
    peers.tell(report)
    sys.stdout.flush()
    os._exit(0)


# ---- all networks ------------------------------------------------------------------------------------


def run_child(name, args, exporting=False):
    command = [sys.executable, __file__, "--child", name]
    for option in ("cache", "library", "engines", "threads", "level", "backend", "seconds", "rounds", "dtype", "around"):
        if getattr(args, option) is not None:
            command += [f"--{option}", str(getattr(args, option))]
    return peers.run_command(command + (["--export"] if exporting else []), name, args.timeout)


def best_peer(report):
    """Its name and its time over hilo's; None where hilo did not run, or differs."""
    hilo = report["engines"].get("hilo", {})
    times = {
        n: e["median_ms"] for n, e in report["engines"].items() if n != "hilo" and "median_ms" in e and e.get("agrees", True)
    }
    if "median_ms" not in hilo or not hilo.get("agrees", True) or not times:
        return None
    best = min(times, key=times.get)
    return best, times[best] / hilo["median_ms"]


def print_row(report, engines):
    best = best_peer(report)
    row = report["engines"]
    text = f"{report['name']:<18}" + "".join(f"{peers.cell(row.get(e, {})):>12}" for e in engines)
    text += f"{best[1]:>8.2f}  {best[0]:<12}" if best else f"{'-':>8}  {'':<12}"
    notes = [f"{n}: {e['failed']}" for n, e in row.items() if "failed" in e]
    notes += [f"{n} differs by {e['difference']:.2g}" for n, e in row.items() if not e.get("agrees", True)]
    print(text + "; ".join(notes + ([report["note"]] if "note" in report else [])), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", metavar="NAME", help="networks, or beginnings of their names; default: all")
    p.add_argument("--cache", required=True, metavar="DIR", help="for exported programs, gigabytes of them")
    p.add_argument("--library", metavar="FILE", help="hilo's shared library; build/libhilo.so by default")
    p.add_argument("--engines", default=",".join(ENGINES), metavar="LIST", help="the first one's values are the measure")
    p.add_argument("--threads", type=int, default=2, metavar="N", help="2 by default, on as many cores")
    p.add_argument("--level", type=int, default=2, choices=range(4), help="hilo's level of optimisation")
    p.add_argument("--backend", default="auto", choices=("auto", "reference"), help="hilo's")
    p.add_argument("--dtype", default="f32", choices=TOLERANCES, help="of weights and activations")
    p.add_argument("--seconds", type=float, default=2.0, metavar="S", help="for each engine and network; 2 by default")
    p.add_argument("--rounds", type=int, default=4, metavar="N", help="in which engines take turns; 4 by default")
    p.add_argument("--timeout", type=float, default=1800, metavar="S", help="for each network; 1800 by default")
    p.add_argument("--around", metavar="COMMAND", help="runs while engines are timed: from its first line until its input ends")
    p.add_argument("--export", action="store_true", help="only export the networks")
    p.add_argument("--json", metavar="FILE", help="write all figures there")
    p.add_argument("--save", action="store_true", help="add the figures to those of this processor in bench/results")
    p.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    args = p.parse_args()
    peers.ENGINES.clear()
    peers.ENGINES.update(ENGINES)
    if args.child:
        child(args)
        return
    import models

    absent = [n for n in args.names if not any(m.startswith(n) for m in models.NAMES)]
    if absent:
        sys.exit(f"networks.py: no network is called {absent[0]}; there are {', '.join(models.NAMES)}")
    names = [m for m in models.NAMES if not args.names or any(m.startswith(n) for n in args.names)]
    Path(args.cache).mkdir(parents=True, exist_ok=True)
    engines = [e for e in args.engines.split(",") if peers.installed(e)]
    args.engines = ",".join(engines)
    print(f"{'network (ms)':<18}" + "".join(f"{e:>12}" for e in engines) + f"{'ratio':>8}  best peer")
    reports, failed = [], False
    for name in names:
        if not Program(args.cache, name, args.dtype).ready():
            report = run_child(name, args, exporting=True)
            if "note" in report:
                print(f"{name:<18} not exported: {report['note']}", flush=True)
                failed = True
                continue
        if args.export:
            print(name, flush=True)
            continue
        reports.append(run_child(name, args))
        print_row(reports[-1], engines)
        if args.json:
            Path(args.json).write_text(json.dumps({"threads": args.threads, "networks": reports}, indent=1))
        if args.save:
            packages = sorted({PACKAGES.get(e, e) for e in engines} - {"hilo"})
            results.save("networks", reports[-1:], args.threads, results.versions(*packages))
    ratios = [b[1] for b in map(best_peer, reports) if b]
    if ratios:
        print(f"{len(ratios)} networks: {peers.geometric_mean(ratios):.2f} times the speed of the best peer (geometric mean)")
    sys.exit(1 if failed or len(ratios) < len(reports) else 0)


if __name__ == "__main__":
    main()
