#!/usr/bin/env python3
"""make_programs.py DIRECTORY [NAME...]: writes benchmark programs with their recipes, for `hilo bench` and peers.py --workloads.

Each program is NAME.mlir with NAME.json next to it: inputs, outputs and tolerance.
"""
import json
import pathlib
import sys

DTYPES = {"f32": "float32", "bf16": "bfloat16", "i32": "int32"}


def tensor(dims, dtype="f32"):
    return f"tensor<{''.join(f'{d}x' for d in dims)}{dtype}>"


def program(inputs, output, body, tolerance=1e-4, kind="normal"):
    """`body`: lines with {0}, {1} … for the types of the inputs and {out} for the output's, which ends up in %r."""
    types = [tensor(*t) for t in inputs]
    text = body.format(*types, out=tensor(*output)).strip("\n")
    arguments = ", ".join(f"%a{i}: {t}" for i, t in enumerate(types))
    main = f"  func.func @main({arguments}) -> {tensor(*output)} {{\n{text}\n    return %r : {tensor(*output)}\n  }}\n"
    describe = [{"shape": list(t[0]), "dtype": DTYPES[t[1] if len(t) > 1 else "f32"]} for t in (*inputs, output)]
    for entry in describe[:-1]:
        entry.update({"kind": kind, "std": 1.0, "lo": 0, "hi": 1000})
    return f"module @program {{\n{main}}}\n", {"inputs": describe[:-1], "outputs": describe[-1:], "tol": tolerance}


def matmul(m, n, k, dtype="f32"):
    body = "    %r = stablehlo.dot_general %a0, %a1, contracting_dims = [1] x [0] : ({0}, {1}) -> {out}"
    return program([((m, k), dtype), ((k, n), dtype)], ((m, n), dtype), body, 1e-4 if dtype == "f32" else 2e-2)


def gelu(n):
    body = """
    %half = stablehlo.constant dense<0.5> : {0}
    %root = stablehlo.constant dense<0.70710678> : {0}
    %one = stablehlo.constant dense<1.0> : {0}
    %0 = stablehlo.multiply %a0, %root : {0}
    %1 = chlo.erf %0 : {0} -> {0}
    %2 = stablehlo.add %1, %one : {0}
    %3 = stablehlo.multiply %a0, %half : {0}
    %r = stablehlo.multiply %3, %2 : {0}"""
    return program([((n,),)], ((n,),), body)


def softmax(rows, columns):
    row = tensor((rows,))
    body = f"""
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %least = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %0 = stablehlo.reduce(%a0 init: %least) applies stablehlo.maximum across dimensions = [1] : ({{0}}, tensor<f32>) -> {row}
    %1 = stablehlo.broadcast_in_dim %0, dims = [0] : ({row}) -> {{0}}
    %2 = stablehlo.subtract %a0, %1 : {{0}}
    %3 = stablehlo.exponential %2 : {{0}}
    %4 = stablehlo.reduce(%3 init: %zero) applies stablehlo.add across dimensions = [1] : ({{0}}, tensor<f32>) -> {row}
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : ({row}) -> {{0}}
    %r = stablehlo.divide %3, %5 : {{0}}"""
    return program([((rows, columns),)], ((rows, columns),), body)


def reduction(rows, columns):
    body = """
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %r = stablehlo.reduce(%a0 init: %zero) applies stablehlo.add across dimensions = [1] : ({0}, tensor<f32>) -> {out}"""
    return program([((rows, columns),)], ((rows,),), body, 1e-3)


def transpose(rows, columns):
    body = "    %r = stablehlo.transpose %a0, dims = [1, 0] : ({0}) -> {out}"
    return program([((rows, columns),)], ((columns, rows),), body)


def convolution(side, features, outputs, window):
    pad = window // 2
    body = f"""
    %r = stablehlo.convolution(%a0, %a1) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f],
         window = {{{{pad = [[{pad}, {pad}], [{pad}, {pad}]]}}}}
         {{{{batch_group_count = 1 : i64, feature_group_count = 1 : i64}}}} : ({{0}}, {{1}}) -> {{out}}"""
    return program([((1, side, side, features),), ((window, window, features, outputs),)], ((1, side, side, outputs),), body)


def sort(n):
    body = """
    %r = "stablehlo.sort"(%a0) <{{dimension = 0 : i64, is_stable = true}}> ({{
    ^bb0(%x: tensor<i32>, %y: tensor<i32>):
      %0 = stablehlo.compare LT, %x, %y : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %0 : tensor<i1>
    }}) : ({0}) -> {out}"""
    return program([((n,), "i32")], ((n,), "i32"), body, 0, "randint")


PROGRAMS = {
    "matmul-256": lambda: matmul(256, 256, 256), "matmul-1024": lambda: matmul(1024, 1024, 1024),
    "matmul-1024-bf16": lambda: matmul(1024, 1024, 1024, "bf16"), "matvec-4096": lambda: matmul(1, 4096, 4096),
    "gelu-1M": lambda: gelu(1 << 20), "softmax-1024x1024": lambda: softmax(1024, 1024),
    "reduction-1024x4096": lambda: reduction(1024, 4096), "transpose-1024": lambda: transpose(1024, 1024),
    "convolution-3x3": lambda: convolution(56, 64, 64, 3), "convolution-1x1": lambda: convolution(56, 64, 256, 1),
    "sort-1M": lambda: sort(1 << 20),
}


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-") or any(n not in PROGRAMS for n in sys.argv[2:]):
        sys.exit(f"{__doc__}\nprograms: {', '.join(PROGRAMS)}")
    out = pathlib.Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or PROGRAMS:
        text, recipe = PROGRAMS[name]()
        (out / f"{name}.mlir").write_text(text)
        (out / f"{name}.json").write_text(json.dumps(recipe, indent=1) + "\n")


main()
