#!/usr/bin/env python3
"""conv.py [options] [NAME...]: the convolutions of ResNet-50 and MobileNet v2, one by one.

Each distinct convolution is a program of its own, channels last (nhwc) and channels first (nchw), with its weights as constants
and as an argument. hilo takes turns with what is installed of ONNX Runtime, OpenVINO (which both have weights as constants, and
channels first) and PyTorch (oneDNN, in either layout); the results have to agree.

Printed are Gflop/s by the medians, the share of what the machine can do, and the time of the best peer over hilo's (above 1 hilo
is faster). The machine's best is measured in the same run, before and after each convolution, by bench/fma.c on as many threads:
multiply-adds in registers; for depthwise convolutions the slower of that and of copying as many bytes as the input and the
result have. These are measured in C, so that the share is that of the time that hilo measures itself (`inside`): a call from
Python takes a microsecond more.
"""

import argparse
import ctypes
import itertools
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import networks
import peers
import results

# name: image, channels, features, window, stride, groups
CONVS = {
    "r50-stem": (224, 3, 64, 7, 2, 1), "r50-1x1-56-64-64": (56, 64, 64, 1, 1, 1), "r50-3x3-56-64": (56, 64, 64, 3, 1, 1),
    "r50-1x1-56-64-256": (56, 64, 256, 1, 1, 1), "r50-1x1-56-256-64": (56, 256, 64, 1, 1, 1),
    "r50-1x1-56-256-128": (56, 256, 128, 1, 1, 1), "r50-3x3s2-56-128": (56, 128, 128, 3, 2, 1),
    "r50-1x1s2-56-256-512": (56, 256, 512, 1, 2, 1), "r50-1x1-28-128-512": (28, 128, 512, 1, 1, 1),
    "r50-1x1-28-512-128": (28, 512, 128, 1, 1, 1), "r50-3x3-28-128": (28, 128, 128, 3, 1, 1),
    "r50-1x1-28-512-256": (28, 512, 256, 1, 1, 1), "r50-3x3s2-28-256": (28, 256, 256, 3, 2, 1),
    "r50-1x1s2-28-512-1024": (28, 512, 1024, 1, 2, 1), "r50-1x1-14-256-1024": (14, 256, 1024, 1, 1, 1),
    "r50-1x1-14-1024-256": (14, 1024, 256, 1, 1, 1), "r50-3x3-14-256": (14, 256, 256, 3, 1, 1),
    "r50-1x1-14-1024-512": (14, 1024, 512, 1, 1, 1), "r50-3x3s2-14-512": (14, 512, 512, 3, 2, 1),
    "r50-1x1s2-14-1024-2048": (14, 1024, 2048, 1, 2, 1), "r50-1x1-7-512-2048": (7, 512, 2048, 1, 1, 1),
    "r50-1x1-7-2048-512": (7, 2048, 512, 1, 1, 1), "r50-3x3-7-512": (7, 512, 512, 3, 1, 1),
    "mb2-stem": (224, 3, 32, 3, 2, 1), "mb2-dw-112-32": (112, 32, 32, 3, 1, 32), "mb2-dws2-112-96": (112, 96, 96, 3, 2, 96),
    "mb2-dw-56-144": (56, 144, 144, 3, 1, 144), "mb2-dws2-56-144": (56, 144, 144, 3, 2, 144),
    "mb2-dw-28-192": (28, 192, 192, 3, 1, 192), "mb2-dws2-28-192": (28, 192, 192, 3, 2, 192),
    "mb2-dw-14-384": (14, 384, 384, 3, 1, 384), "mb2-dw-14-576": (14, 576, 576, 3, 1, 576),
    "mb2-dws2-14-576": (14, 576, 576, 3, 2, 576), "mb2-dw-7-960": (7, 960, 960, 3, 1, 960),
    "mb2-1x1-112-32-16": (112, 32, 16, 1, 1, 1), "mb2-1x1-56-24-144": (56, 24, 144, 1, 1, 1),
    "mb2-1x1-14-384-96": (14, 384, 96, 1, 1, 1), "mb2-1x1-7-320-1280": (7, 320, 1280, 1, 1, 1),
}
LAYOUTS, WEIGHTS = ("nhwc", "nchw"), ("constant", "argument")


def tensor(shape):
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def aligned(array):
    """A copy that begins with a cache line, as tensors inside a network do. NumPy's own begin 16 bytes after a page where they
    are large: each line of channels is then in two cache lines."""
    import numpy as np

    memory = np.empty(array.nbytes + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    copy = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class Conv:
    """A convolution with its arrays, of which `x` and `w` are channels first."""

    def __init__(self, name, layout, weights, cache):
        import numpy as np

        self.name, self.layout, self.constant, self.cache = name, layout, weights == "constant", cache
        self.dtype, self.onnx = "f32", Path(cache) / f"{name}-{weights}.onnx"
        self.image, channels, features, self.window, self.stride, self.groups = CONVS[name]
        out = (self.image - 1) // self.stride + 1
        rng = np.random.default_rng(0)
        self.x = aligned(rng.standard_normal((1, channels, self.image, self.image), np.float32))
        self.w = aligned(rng.standard_normal((features, channels // self.groups, self.window, self.window), np.float32))
        self.shape = (1, features, out, out)
        self.flops = 2 * self.w.size * out * out
        self.bytes = 4 * (self.x.size + features * out * out)

    def ordered(self):
        """Both arrays, and the shape of the result, in the layout."""
        if self.layout == "nchw":
            return self.x, self.w, self.shape
        x, w = aligned(self.x.transpose(0, 2, 3, 1)), aligned(self.w.transpose(2, 3, 1, 0))
        return x, w, tuple(self.shape[i] for i in (0, 2, 3, 1))

    def arrays(self):
        x, w, _ = self.ordered()
        return [x] if self.constant else [x, w]

    def text(self):
        x, w, shape = self.ordered()
        xs, ws, ys = tensor(x.shape), tensor(w.shape), tensor(shape)
        numbers = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]" if self.layout == "nhwc" else "[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]"
        low = self.window // 2
        # windows of even images with a stride of 2 need less padding at the end
        high = [(n - 1) * self.stride + self.window - low - self.image for n in self.shape[2:]]
        arguments, constant = f"%x: {xs}, %w: {ws}", ""
        if self.constant:
            arguments, constant = f"%x: {xs}", f'  %w = stablehlo.constant dense<"0x{w.tobytes().hex().upper()}"> : {ws}\n'
        return (
            f"func.func @main({arguments}) -> {ys} {{\n{constant}  %0 = stablehlo.convolution(%x, %w) dim_numbers = {numbers}, "
            f"window = {{stride = [{self.stride}, {self.stride}], pad = [[{low}, {high[0]}], [{low}, {high[1]}]]}} "
            f"{{batch_group_count = 1 : i64, feature_group_count = {self.groups} : i64}} : ({xs}, {ws}) -> {ys}\n"
            f"  return %0 : {ys}\n}}\n"
        ).encode()

    def write_onnx(self):
        import onnx
        from onnx import TensorProto, helper, numpy_helper

        inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, self.x.shape)]
        kept = [numpy_helper.from_array(self.w, "w")] if self.constant else []
        if not self.constant:
            inputs.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, self.w.shape))
        low = self.window // 2
        high = max(0, (self.shape[2] - 1) * self.stride + self.window - low - self.image)
        node = helper.make_node("Conv", ["x", "w"], ["y"], strides=[self.stride] * 2, group=self.groups, pads=[low, low, high, high])
        y = helper.make_tensor_value_info("y", TensorProto.FLOAT, self.shape)
        onnx.save(helper.make_model(helper.make_graph([node], "conv", inputs, [y], kept), ir_version=10,
                                    opset_imports=[helper.make_opsetid("", 17)]), str(self.onnx))


class Hilo(peers.Hilo):
    def compile(self, conv):
        super().compile(conv.text())


class Torch(networks.Torch):
    def compile(self, conv):
        import torch

        x, w = torch.from_numpy(conv.x), torch.from_numpy(conv.w)
        if conv.layout == "nhwc":
            x, w = (t.to(memory_format=torch.channels_last) for t in (x, w))
        self.layout = conv.layout
        self.inputs = (x, w)
        self.function = lambda x, w: torch.nn.functional.conv2d(x, w, None, conv.stride, conv.window // 2, 1, conv.groups)

    def results(self, like):
        y = self.outputs[0].numpy()
        return [(y.transpose(0, 2, 3, 1) if self.layout == "nhwc" else y).copy()]


ENGINES = {e.name: e for e in (Hilo, Torch, networks.OnnxRuntime, networks.OpenVino)}


class Machine:
    """Its best rates, on all threads at once."""

    def __init__(self, threads, cache):
        library = Path(cache) / "fma.so"
        subprocess.run(
            [os.environ.get("CC", "cc"), "-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC", "-o", str(library),
             str(Path(__file__).parent / "fma.c")], check=True)
        self.lib, self.threads = ctypes.CDLL(str(library)), threads
        self.lib.fma_rate.restype = self.lib.copy_rate.restype = ctypes.c_double

    def all_threads(self, function):
        rates = [0.0] * self.threads

        def run(i):
            rates[i] = function(i)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(self.threads)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        return sum(rates)

    def fma(self, seconds=0.02):
        return self.all_threads(lambda i: self.lib.fma_rate(ctypes.c_double(seconds)))

    def copy(self, nbytes, seconds=0.02):
        """Each thread copies its part of the bytes, half of which are read."""
        import numpy as np

        part = nbytes // 2 // self.threads
        buffers = [[aligned(np.zeros(part, np.uint8)) for _ in range(2)] for _ in range(self.threads)]
        return self.all_threads(
            lambda i: self.lib.copy_rate(*(ctypes.c_void_p(b.ctypes.data) for b in buffers[i]), ctypes.c_int64(part),
                                         ctypes.c_double(seconds)))


def child(args):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    name, layout, weights = args.names[0].split(":")
    conv = Conv(name, layout, weights, args.cache)
    machine = Machine(args.threads, args.cache)
    report, engines = {"name": args.names[0], "flops": conv.flops, "engines": {}}, {}
    arrays = conv.arrays()
    for engine in args.engines.split(","):
        foreign = engine in ("onnxruntime", "openvino")
        if foreign and layout == "nhwc":
            continue  # that they take channels last says nothing of their best
        if foreign and not conv.onnx.exists():
            conv.write_onnx()
        e = peers.prepare(engine, args, conv, arrays, report)
        if e:
            engines[engine] = e
    recipe = {"outputs": [{"dtype": "float32", "shape": conv.ordered()[2]}], "tol": 1e-4}
    best = lambda: (machine.fma(), machine.copy(conv.bytes) if conv.groups > 1 else 0)
    with peers.surrounded(args.around):
        rates = [best()]
        peers.measure(engines, args, report)
        rates.append(best())
    peers.compare(engines, recipe, report)
    report["fma"], report["copy"] = (statistics.mean(r[i] for r in rates) for i in range(2))
    ms = conv.flops / report["fma"] * 1e-6
    report["bound_ms"] = max(ms, conv.bytes / report["copy"] * 1e-6) if conv.groups > 1 else ms
    peers.tell(report)
    sys.stdout.flush()
    os._exit(0)


def print_row(report):
    row, hilo = report["engines"], report["engines"].get("hilo", {})
    name, layout, weights = report["name"].split(":")
    text = f"{name:<24}{layout:<6}{weights:<10}"
    if "median_ms" in hilo and "bound_ms" in report:
        text += f"{hilo['median_ms']:>9.4g}{report['flops'] / hilo['median_ms'] * 1e-6:>9.4g}"
        share = lambda ms: 100 * report["bound_ms"] / ms
        text += f"{share(hilo.get('inside_ms', hilo['median_ms'])):>8.0f}{share(hilo['min_ms']):>7.0f}"
        best = networks.best_peer(report)
        text += f"{best[1]:>8.2f}  {best[0]:<12}" if best else f"{'-':>8}"
    notes = [f"{n}: {e['failed']}" for n, e in row.items() if "failed" in e]
    notes += [f"{n} differs by {e['difference']:.2g}" for n, e in row.items() if not e.get("agrees", True)]
    print(text + "; ".join(notes + ([report["note"]] if "note" in report else [])), flush=True)


def add_options(p, seconds, each):
    """The options of a program that times others in processes of their own: `each`, for so many seconds by default."""
    p.add_argument("--library", metavar="FILE", help="hilo's shared library; build/libhilo.so by default")
    p.add_argument("--threads", type=int, default=2, metavar="N", help="2 by default, on as many cores")
    p.add_argument("--level", type=int, default=2, choices=range(4), help="hilo's level of optimisation")
    p.add_argument("--seconds", type=float, default=seconds, metavar="S", help=f"for {each}; {seconds} by default")
    p.add_argument("--rounds", type=int, default=4, metavar="N", help="in which engines take turns; 4 by default")
    p.add_argument("--timeout", type=float, default=120, metavar="S", help="for each process; 120 by default")
    p.add_argument("--around", metavar="COMMAND", help="runs while engines are timed: from its first line until its input ends")
    p.add_argument("--cache", metavar="DIR", help=argparse.SUPPRESS)
    p.add_argument("--child", action="store_true", help=argparse.SUPPRESS)


def child_options(args, *more):
    """The arguments of such a process."""
    options = ("library", "threads", "level", "seconds", "rounds", "around", *more)
    return [x for o in options if getattr(args, o) is not None for x in (f"--{o}", str(getattr(args, o)))]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", metavar="NAME", help="expressions that names of convolutions match; default: all")
    p.add_argument("--engines", default=",".join(ENGINES), metavar="LIST", help="the first one's values are the measure")
    p.add_argument("--layouts", default=",".join(LAYOUTS), metavar="LIST", help="nhwc, nchw")
    p.add_argument("--weights", default=",".join(WEIGHTS), metavar="LIST", help="constant, argument")
    add_options(p, 0.4, "each engine and convolution")
    p.add_argument("--json", metavar="FILE", help="write all figures there")
    p.add_argument("--save", action="store_true", help="add the figures to those of this processor in bench/results")
    args = p.parse_args()
    args.backend = "auto"
    peers.ENGINES.clear()
    peers.ENGINES.update(ENGINES)
    if args.child:
        child(args)
        return
    args.engines = ",".join(e for e in args.engines.split(",") if peers.installed(e))
    names = [n for n in CONVS if not args.names or any(re.search(pattern, n) for pattern in args.names)]
    if not names:
        sys.exit("conv.py: no convolution is called so; there are " + ", ".join(CONVS))
    print(f"{'convolution':<24}{'':<6}{'weights':<10}{'ms':>9}{'Gflop/s':>9}{'% best':>8}{'(min)':>7}{'ratio':>8}  best peer")
    reports = []
    with tempfile.TemporaryDirectory() as cache:
        for n, layout, weights in itertools.product(names, args.layouts.split(","), args.weights.split(",")):
            command = [sys.executable, __file__, "--child", f"{n}:{layout}:{weights}", "--cache", cache]
            command += child_options(args, "engines")
            reports.append(peers.run_command(command, f"{n}:{layout}:{weights}", args.timeout))
            print_row(reports[-1])
            if args.save:
                results.save("conv", reports[-1:], args.threads, results.versions("onnxruntime", "openvino", "torch"))
    if args.json:
        Path(args.json).write_text(json.dumps({"threads": args.threads, "convolutions": reports}, indent=1))
    ratios = [b[1] for b in map(networks.best_peer, reports) if b]
    if ratios:
        print(f"{len(ratios)} convolutions: {peers.geometric_mean(ratios):.2f} times the speed of the best peer (geometric mean)")


if __name__ == "__main__":
    main()
