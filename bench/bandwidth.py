#!/usr/bin/env python3
"""bandwidth.py [options] [NAME...]: programs that do little but read and write memory, of 256 MB, which no cache holds.

Elementwise ops, reductions and transposes, each beside what plain loops of C (bench/fma.c) do with as many bytes on as many
threads in the same process, before and after: reads in one and in four streams, copies and sums of two arrays with stores in
caches and past them, whichever is faster. Printed are the median of the times that hilo measures itself (`inside`), its GB/s, the
median of the loops', and the share: of the medians, and of the best runs.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import conv
import peers

N = 8192
SQUARE = f"{N}x{N}"
# name: body, type of the result, what bounds it; the parameters are %x and, of sums, %y: 8192x8192 of f32
F = f"tensor<{SQUARE}xf32>"
REDUCE = "stablehlo.reduce(%x init: %z) applies stablehlo.{op} across dimensions = [{dims}] : ({F}, tensor<f32>) -> {to}"
ZERO = "%z = stablehlo.constant dense<0.0> : tensor<f32>"
LINE = f"tensor<{N}xf32>"
PROGRAMS = {
    "negate": (f"%0 = stablehlo.negate %x : {F}", F, "copy"),
    "exponential": (f"%0 = stablehlo.exponential %x : {F}", F, "copy"),
    "add": (f"%0 = stablehlo.add %x, %y : {F}", F, "sum"),
    "multiply-add": (f"%a = stablehlo.multiply %x, %y : {F}\n%0 = stablehlo.add %a, %x : {F}", F, "sum"),
    "sum-rows": (f"{ZERO}\n%0 = " + REDUCE.format(op="add", dims="1", F=F, to=LINE), LINE, "read"),
    "sum-columns": (f"{ZERO}\n%0 = " + REDUCE.format(op="add", dims="0", F=F, to=LINE), LINE, "read"),
    "sum-all": (f"{ZERO}\n%0 = " + REDUCE.format(op="add", dims="0, 1", F=F, to="tensor<f32>"), "tensor<f32>", "read"),
    "max-rows": (f"{ZERO}\n%0 = " + REDUCE.format(op="maximum", dims="1", F=F, to=LINE), LINE, "read"),
    "transpose": (f"%0 = stablehlo.transpose %x, dims = [1, 0] : ({F}) -> {F}", F, "copy"),
    "transpose-batch": (
        f"%a = stablehlo.reshape %x : ({F}) -> tensor<256x512x512xf32>\n"
        "%0 = stablehlo.transpose %a, dims = [0, 2, 1] : (tensor<256x512x512xf32>) -> tensor<256x512x512xf32>",
        "tensor<256x512x512xf32>", "copy"),
    "transpose-heads": (
        f"%a = stablehlo.reshape %x : ({F}) -> tensor<64x1024x16x64xf32>\n"
        "%0 = stablehlo.transpose %a, dims = [0, 2, 1, 3] : (tensor<64x1024x16x64xf32>) -> tensor<64x16x1024x64xf32>",
        "tensor<64x16x1024x64xf32>", "copy"),
}
BYTES = {"read": 4 * N * N, "copy": 8 * N * N, "sum": 12 * N * N}


class Machine(conv.Machine):
    def __init__(self, threads, cache):
        super().__init__(threads, cache)
        import numpy as np

        self.lib.read_rate.restype = self.lib.store_rate.restype = ctypes.c_double
        part = 4 * N * N // threads // 64 * 64
        self.part, self.kept = part, [np.ones(part // 4 + 16, np.float32) for _ in range(3 * threads)]
        self.at = [ctypes.c_void_p(-(-a.ctypes.data // 64) * 64) for a in self.kept]

    def rates(self, bound, runs=15):
        size, once = ctypes.c_int64(self.part), ctypes.c_double(0)
        of = lambda i: (self.at[3 * i], self.at[3 * i + 1], self.at[3 * i + 2] if bound == "sum" else None)
        if bound == "read":
            one = lambda i: self.lib.read_rate(self.at[3 * i], size, once)
        else:
            one = lambda i: self.lib.store_rate(*of(i), size, once)
        return [self.all_threads(one) for _ in range(runs)]


def child(args):
    import numpy as np

    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.threads])
    name = args.names[0]
    body, result, bound = PROGRAMS[name]
    parameters = f"%x: {F}" + (f", %y: {F}" if "%y" in body else "")
    text = f"func.func @main({parameters}) -> {result} {{\n{body}\nreturn %0 : {result}\n}}\n"
    arrays = [np.random.default_rng(i).standard_normal((N, N), np.float32) for i in range(parameters.count("%"))]
    machine, report, engines = Machine(args.threads, args.cache), {"name": name, "engines": {}}, {}
    e = peers.prepare("hilo", args, text.encode(), arrays, report)
    if e:
        engines["hilo"] = e
    with peers.surrounded(args.around):
        rates = machine.rates(bound)
        peers.measure(engines, args, report)
        rates += machine.rates(bound)
    report["rate"], report["best_rate"] = statistics.median(rates), max(rates)
    report["bytes"] = BYTES[bound]
    peers.tell(report)
    sys.stdout.flush()
    os._exit(0)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", metavar="NAME", help="programs; default: all: " + ", ".join(PROGRAMS))
    conv.add_options(p, 0.5, "each program")
    args = p.parse_args()
    args.backend = "auto"
    if args.child:
        child(args)
        return
    unknown = [n for n in args.names if n not in PROGRAMS]
    if unknown:
        sys.exit(f"bandwidth.py: no program is called {unknown[0]}; there are " + ", ".join(PROGRAMS))
    print(f"{'program':<18}{'inside ms':>10}{'GB/s':>8}{'loops':>8}{'share':>8}{'(best)':>8}")
    with tempfile.TemporaryDirectory() as cache:
        for name in args.names or PROGRAMS:
            command = [sys.executable, __file__, "--child", name, "--cache", cache] + conv.child_options(args)
            report = peers.run_command(command, name, args.timeout)
            hilo = report["engines"].get("hilo", {})
            if "inside_ms" not in hilo:
                print(f"{name:<18}{hilo.get('failed', report.get('note', 'failed'))}")
                continue
            rate = lambda ms: report["bytes"] / ms * 1e-6
            print(f"{name:<18}{hilo['inside_ms']:>10.3f}{rate(hilo['inside_ms']):>8.1f}{report['rate']:>8.1f}"
                  f"{100 * rate(hilo['inside_ms']) / report['rate']:>7.0f}%{100 * rate(hilo['min_ms']) / report['best_rate']:>7.0f}%",
                  flush=True)


if __name__ == "__main__":
    main()
