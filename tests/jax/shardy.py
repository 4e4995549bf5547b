#!/usr/bin/env python3
"""Shardings: hilo's passes against Shardy's own, which jaxlib contains, on programs as text.

What each leaves is parsed and printed by jaxlib, and the two texts are to be equal. Programs: Shardy's test files,
where HILO_SHARDY_TESTS names its directory `sdy`; and random ones. Shardy's files that run are partitioned by hilo and
run: they compare values.

    shardy.py [--runs N] [--seed S] [--keep DIR] [FILE ...]
"""
import argparse
import math
import os
import pathlib
import random
import re
import subprocess
import tempfile

import common

try:
    from jaxlib.mlir import ir, passmanager
    from jaxlib.mlir._mlir_libs import _jax_mlir_ext
    from jaxlib.mlir.dialects import sdy, stablehlo
except ImportError as missing:
    common.skip("shardings", f"{missing}")
    common.end()

FUNC = "func.func({})".format
IMPORT = ("sdy-import-pipeline,sdy-flatten-call-graph,symbol-dce,sdy-import-func-calls,symbol-dce,"
          "sdy-apply-sharding-constraints,sdy-sharding-group-import")
# Before what is inserted for a partitioner. An export of named computations as functions is not part of it.
EXPORT = ",".join([FUNC("sdy-constant-or-scalar-merger"), FUNC("sdy-sink-data-flow-edges"), "sdy-remove-sharding-groups",
                   FUNC("sdy-sharding-constraint-to-reshard"), "sdy-update-non-divisible-input-output-shardings",
                   "sdy-remove-sub-axes-in-input-output-shardings", "sdy-close-shardings", FUNC("sdy-drop-sharding-rules")])
PASSES = {
    "sdy-import": IMPORT,
    "sdy-basic": "sdy-basic-propagate",
    "sdy-aggressive": "sdy-aggressive-propagate",
    "sdy-op-priority": "sdy-op-priority-propagate",
    "sdy-user-priority": "sdy-user-priority-propagate",
    "sdy-export": EXPORT,
    "sdy-propagate": ",".join([IMPORT, "sdy-pre-order-funcs,sdy-user-priority-propagate", EXPORT]),
    "sdy-rules": FUNC("sdy-populate-op-sharding-rules"),
}

# Files that test an option of Shardy's that is never set (conservative-propagation, keep-sharding-rules, dedup-functions-fully)
# are programs like others, without it.
SHARDY_FILES = {
    "basic_propagation.mlir": "sdy-basic", "basic_propagation_conservative.mlir": "sdy-basic",
    "basic_propagation_keep_sharding_rules.mlir": "sdy-basic", "basic_propagation_manual_computation.mlir": "sdy-basic",
    "basic_propagation_token.mlir": "sdy-basic", "basic_propagation_data_flow_edges.mlir": "sdy-propagate",
    "aggressive_propagation.mlir": "sdy-aggressive", "op_priority_propagation.mlir": "sdy-op-priority",
    "user_priority_propagation.mlir": "sdy-user-priority", "sharding_group_propagation.mlir": "sdy-user-priority",
    "op_sharding_rule_registry.mlir": "sdy-rules", "op_sharding_rule_registry_conservative.mlir": "sdy-rules",
    "propagation_pipeline.mlir": "sdy-propagate", "propagation_pipeline_data_flow_edges.mlir": "sdy-propagate",
    "propagation_pipeline_dedup_functions_fully_true.mlir": "sdy-propagate",
}

registry, ctx = ir.DialectRegistry(), ir.Context()
_jax_mlir_ext.register_dialects(registry)
ctx.append_dialect_registry(registry)
ctx.load_all_available_dialects()
ctx.allow_unregistered_dialects = True
for dialect in stablehlo, sdy:
    dialect.register_dialect(ctx)
hilo = os.environ.get("HILO", str(common.root / "build/hilo"))


def parse(text):
    with ctx:
        return ir.Module.parse(text)


def oracle(text, name):
    """What Shardy makes of it; None where it refuses."""
    with ctx:
        try:
            module = ir.Module.parse(text)
            passmanager.PassManager.parse(f"builtin.module({PASSES[name]})").run(module.operation)
            return str(module)
        except Exception:
            return None


def ours(text, name):
    done = subprocess.run([hilo, "opt", "--passes", name, "-"], input=text, capture_output=True, text=True, timeout=60)
    if done.returncode:
        return None, done.stderr
    try:
        return normal(done.stdout), ""
    except Exception as error:
        return None, f"what hilo wrote is not accepted: {error}"


def normal(text):
    """Without an annotation that jaxlib's reader adds to meshes, and with one kind of constant. hilo needs no other against folding."""
    text = str(parse(text.replace("sdy.constant", "stablehlo.constant")))
    return re.sub(r" \{stablehlo\.mesh = .*\}$", "", text, flags=re.M)


def same(what, text, name, keep=None):
    want = oracle(text, name)
    if want is None:
        return
    got, why = ours(text, name)
    want = normal(want)
    if got is not None and name != "sdy-rules":  # hilo keeps rules for its partitioner; Shardy drops them
        got = re.sub(r"(, )?sdy\.sharding_rule = #sdy\.op_sharding_rule<.*?}>", "", got)
    if got is not None and got != want:
        lines = [(a, b) for a, b in zip(want.split("\n"), got.split("\n")) if a != b]
        why = "Shardy has\n    {}\n  hilo has\n    {}".format(*lines[0]) if lines else "more or fewer lines"
    common.check(f"{what}: {name}", got == want, why)
    if got != want and keep:
        path = pathlib.Path(keep)
        path.mkdir(exist_ok=True)
        (path / re.sub(r"[^A-Za-z0-9]+", "-", f"{what}-{name}") + ".mlir").write_text(text)


def functions(text):
    """Each public function of each part of a file, with meshes and private functions, as a program of its own."""
    for part in re.split(r"^// -----.*$", text, flags=re.M):
        try:
            module = parse(part)
        except Exception:
            continue
        names = [op.attributes["sym_name"].value for op in module.body.operations if op.operation.name == "func.func" and
                 "sym_visibility" not in op.attributes and len(op.regions[0].blocks)]
        for name in names:
            one = parse(part)
            for op in list(one.body.operations):
                if op.operation.name == "func.func" and op.attributes["sym_name"].value in names and \
                        op.attributes["sym_name"].value != name:
                    op.operation.erase()
            try:
                if one.operation.verify():
                    yield name, str(one)
            except Exception:
                continue


# ---- random programs --------------------------------------------------------------------------------------------------------

class Program:
    """A function of random ops over a random mesh, with random shardings."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        sizes = self.r.choice([[2, 2], [2, 4], [4], [2, 2, 2], [2, 3], [6, 2], [8, 2, 2], [4, 1, 2]])
        self.axes = {"xyzw"[i]: size for i, size in enumerate(sizes)}
        self.dims = self.r.choice([[2, 4, 8], [4, 6, 8], [8, 16], [1, 4, 12], [2, 3, 8]])
        self.priorities = self.r.random() < 0.2
        self.lines, self.values, self.n, self.groups = [], [], 0, 0
        self.functions = []

    def axis_refs(self):
        """Disjoint axes and parts of axes."""
        refs = []
        for name, size in self.axes.items():
            parts = [(1, p) for p in range(2, size) if size % p == 0]
            if parts and self.r.random() < 0.25:
                pre, part = self.r.choice(parts)
                refs += [f'"{name}":({pre}){part}', f'"{name}":({part}){size // part}']
            else:
                refs.append(f'"{name}"')
        self.r.shuffle(refs)
        return refs

    def sharding(self, rank, closed=None):
        refs = [ref for ref in self.axis_refs() if self.r.random() < 0.6]
        dims = [[] for _ in range(rank)]
        replicated, unreduced = [], []
        for ref in refs:
            at = self.r.random()
            if at < 0.08 or not rank:
                replicated.append(ref)
            elif at < 0.1:
                unreduced.append(ref)
            else:
                dim = self.r.choice(dims)
                if not dim or dim[-1].split(":")[0] != ref.split(":")[0]:
                    dim.append(ref)
        text = []
        for dim in dims:
            is_open = self.r.random() < 0.5 if closed is None else not closed
            items = ", ".join(dim + (["?"] if is_open else []))
            priority = f"p{self.r.randrange(3)}" if self.priorities and (dim or is_open) and self.r.random() < 0.5 else ""
            text.append("{" + items + "}" + priority)
        order = {name: i for i, name in enumerate(self.axes)}
        key = lambda ref: (order[ref[1]], int(re.search(r"\((\d+)\)", ref).group(1)) if "(" in ref else 0)
        out = f"<@mesh, [{', '.join(text)}]"
        for name, axes in ("replicated", replicated), ("unreduced", unreduced):
            axes.sort(key=key)
            kept = [a for i, a in enumerate(axes) if not i or a.split(":")[0] != axes[i - 1].split(":")[0]]
            if kept:
                out += f", {name}={{{', '.join(kept)}}}"
        return out + ">"

    def attr(self, rank, chance=0.12):
        if self.r.random() > chance:
            return ""
        return f" {{sdy.sharding = #sdy.sharding_per_value<[{self.sharding(rank)}]>}}"

    def name(self):
        self.n += 1
        return f"%v{self.n}"

    def shape(self, low=0, high=3):
        return tuple(self.r.choice(self.dims) for _ in range(self.r.randint(low, high)))

    def pick(self, test=lambda shape: True):
        found = [v for v in self.values if test(v[1])]
        if not found:
            return None
        return self.r.choice(found[-6:] if self.r.random() < 0.7 else found)

    def emit(self, text, shape):
        name = self.name()
        self.lines.append(f"{name} = {text}")
        self.values.append((name, shape))
        return name

    def constant(self, shape):
        return self.emit(f"stablehlo.constant dense<1.0> : {t(shape)}", shape)

    def step(self):
        kind = self.r.choice(STEPS)
        v = self.pick()
        if v:
            kind(self, *v)

    def text(self):
        args = []
        for i in range(self.r.randint(1, 4)):
            shape = self.shape(1, 3)
            given = f" {{sdy.sharding = #sdy.sharding{self.sharding(len(shape))}}}" if self.r.random() < 0.7 else ""
            args.append(f"%arg{i}: {t(shape)}{given}")
            self.values.append((f"%arg{i}", shape))
        for _ in range(self.r.randint(1, 14)):
            self.step()
        used = "\n".join(self.lines)
        results = [v for v in self.values if not re.search(re.escape(v[0]) + r"\b(?! =)", used)] or [self.values[-1]]
        if self.r.random() < 0.3:
            results.append(self.r.choice(self.values))
        given = [f"{t(s)} {{sdy.sharding = #sdy.sharding{self.sharding(len(s))}}}" if self.r.random() < 0.3 else t(s)
                 for _, s in results]
        mesh = ", ".join(f'"{name}"={size}' for name, size in self.axes.items())
        body = "\n  ".join(self.lines)
        return (f"sdy.mesh @mesh = <[{mesh}]>\n" + "\n".join(self.functions) +
                f"\nfunc.func @main({', '.join(args)}) -> ({', '.join(given)}) {{\n  {body}\n"
                f"  return {', '.join(v for v, _ in results)} : {', '.join(t(s) for _, s in results)}\n}}\n")


def t(shape, kind="f32"):
    return "tensor<{}>".format("x".join([*map(str, shape), kind]))


def unary(p, v, shape):
    p.emit(f"stablehlo.{p.r.choice(['negate', 'tanh', 'exponential'])} {v}{p.attr(len(shape))} : {t(shape)}", shape)


def binary(p, v, shape):
    w = p.pick(lambda s: s == shape)[0]
    p.emit(f"stablehlo.{p.r.choice(['add', 'multiply', 'maximum'])} {v}, {w}{p.attr(len(shape))} : {t(shape)}", shape)


def with_constant(p, v, shape):
    c = p.constant(shape if p.r.random() < 0.5 else ())
    if p.values[-1][1] != shape:
        c = p.emit(f"stablehlo.broadcast_in_dim {c}, dims = [] : (tensor<f32>) -> {t(shape)}", shape)
    p.emit(f"stablehlo.add {v}, {c} : {t(shape)}", shape)


def select(p, v, shape):
    w = p.pick(lambda s: s == shape)[0]
    pred = p.name()
    p.lines.append(f"{pred} = stablehlo.compare LT, {v}, {w} : ({t(shape)}, {t(shape)}) -> {t(shape, 'i1')}")
    p.emit(f"stablehlo.select {pred}, {v}, {w} : {t(shape, 'i1')}, {t(shape)}", shape)


def transpose(p, v, shape):
    order = list(range(len(shape)))
    p.r.shuffle(order)
    out = tuple(shape[i] for i in order)
    p.emit(f"stablehlo.transpose {v}, dims = {order}{p.attr(len(out))} : ({t(shape)}) -> {t(out)}", out)


def reshape(p, v, shape):
    total = 1
    for d in shape:
        total *= d
    out, rest = [], total
    while rest > 1 and len(out) < 3:
        d = p.r.choice([d for d in range(2, rest + 1) if rest % d == 0])
        out.append(d)
        rest //= d
    if rest > 1:
        out.append(rest)
    if p.r.random() < 0.3:
        out.insert(p.r.randint(0, len(out)), 1)
    p.emit(f"stablehlo.reshape {v}{p.attr(len(out))} : ({t(shape)}) -> {t(out)}", tuple(out))


def broadcast(p, v, shape):
    out, dims = [], []
    for i, d in enumerate(shape):
        if p.r.random() < 0.3 and len(shape) + len(out) - i < 4:
            out.append(p.r.choice(p.dims))
        dims.append(len(out))
        out.append(d if d != 1 or p.r.random() < 0.5 else p.r.choice(p.dims))
    p.emit(f"stablehlo.broadcast_in_dim {v}, dims = {dims}{p.attr(len(out))} : ({t(shape)}) -> {t(out)}", tuple(out))


def dot(p, v, shape):
    if not shape:
        return
    w = p.pick(lambda s: any(d in shape for d in s))
    if not w:
        return
    pairs = [(i, k) for i, d in enumerate(shape) for k, e in enumerate(w[1]) if d == e]
    p.r.shuffle(pairs)
    batch, contract = [], []
    for i, k in pairs:
        if any(i == a or k == b for a, b in batch + contract):
            continue
        (contract if not contract or p.r.random() < 0.4 else batch).append((i, k))
        if p.r.random() < 0.5:
            break
    out = ([shape[i] for i, _ in batch] + [d for i, d in enumerate(shape) if i not in [a for a, _ in batch + contract]] +
           [d for k, d in enumerate(w[1]) if k not in [b for _, b in batch + contract]])
    if len(out) > 4:
        return
    batching = f"batching_dims = {[i for i, _ in batch]} x {[k for _, k in batch]}, " if batch else ""
    p.emit(f"stablehlo.dot_general {v}, {w[0]}, {batching}contracting_dims = {[i for i, _ in contract]} x "
           f"{[k for _, k in contract]}{p.attr(len(out))} : ({t(shape)}, {t(w[1])}) -> {t(out)}", tuple(out))


def reduce(p, v, shape):
    dims = sorted(p.r.sample(range(len(shape)), p.r.randint(0, len(shape))))
    out = tuple(d for i, d in enumerate(shape) if i not in dims)
    z = p.name()
    p.lines.append(f"{z} = stablehlo.constant dense<0.0> : tensor<f32>")
    p.emit(f"stablehlo.reduce({v} init: {z}) applies stablehlo.add across dimensions = {dims} : ({t(shape)}, tensor<f32>) -> "
           f"{t(out)}", out)


def slice_(p, v, shape):
    if not shape:
        return
    low = [p.r.randrange(d) if p.r.random() < 0.3 else 0 for d in shape]
    high = [p.r.randint(a + 1, d) if p.r.random() < 0.3 else d for a, d in zip(low, shape)]
    out = tuple(b - a for a, b in zip(low, high))
    p.emit(f"stablehlo.slice {v} [{', '.join(f'{a}:{b}' for a, b in zip(low, high))}] : ({t(shape)}) -> {t(out)}", out)


def pad(p, v, shape):
    high = [p.r.randrange(3) if p.r.random() < 0.5 else 0 for _ in shape]
    out = tuple(d + h for d, h in zip(shape, high))
    z = p.name()
    p.lines.append(f"{z} = stablehlo.constant dense<0.0> : tensor<f32>")
    p.emit(f"stablehlo.pad {v}, {z}, low = {[0] * len(shape)}, high = {high}, interior = {[0] * len(shape)} : ({t(shape)}, "
           f"tensor<f32>) -> {t(out)}", out)


def concatenate(p, v, shape):
    if not shape:
        return
    w = p.pick(lambda s: s == shape)[0]
    d = p.r.randrange(len(shape))
    out = tuple(2 * s if i == d else s for i, s in enumerate(shape))
    if out[d] <= 64:
        p.emit(f"stablehlo.concatenate {v}, {w}, dim = {d}{p.attr(len(out))} : ({t(shape)}, {t(shape)}) -> {t(out)}", out)


def reverse(p, v, shape):
    dims = sorted(p.r.sample(range(len(shape)), p.r.randint(0, len(shape))))
    p.emit(f"stablehlo.reverse {v}, dims = {dims} : {t(shape)}", shape)


def dynamic_slice(p, v, shape):
    out = tuple(p.r.choice([d, 1, d]) for d in shape)
    index = p.name()
    p.lines.append(f"{index} = stablehlo.constant dense<0> : tensor<i32>")
    at = "".join(f", {index}" for _ in shape)
    cut = p.emit(f"stablehlo.dynamic_slice {v}{at}, sizes = {list(out)} : ({', '.join([t(shape)] + ['tensor<i32>'] * len(shape))}"
                 f") -> {t(out)}", out)
    if p.r.random() < 0.5:
        p.emit(f"stablehlo.dynamic_update_slice {v}, {cut}{at} : ({', '.join([t(shape), t(out)] + ['tensor<i32>'] * len(shape))}"
               f") -> {t(shape)}", shape)


def constraint(p, v, shape):
    closed = p.r.choice([None, True, True])
    p.emit(f"sdy.sharding_constraint {v} {p.sharding(len(shape), closed)} : {t(shape)}", shape)


def group(p, v, shape):
    p.lines.append(f"sdy.sharding_group {v} group_id={p.groups} : {t(shape)}")
    w = p.pick(lambda s: s == shape)[0]
    p.lines.append(f"sdy.sharding_group {w} group_id={p.groups} : {t(shape)}")
    p.groups += 1


def propagation_barrier(p, v, shape):
    p.emit(f"sdy.propagation_barrier {v} allowed_direction={p.r.choice(['NONE', 'FORWARD', 'BACKWARD'])} : {t(shape)}", shape)


def optimization_barrier(p, v, shape):
    w, other = p.pick()
    name = p.name()
    p.lines.append(f"{name}:2 = stablehlo.optimization_barrier {v}, {w} : {t(shape)}, {t(other)}")
    p.values += [(f"{name}#0", shape), (f"{name}#1", other)]


def loop(p, v, shape):
    w = p.pick(lambda s: s == shape)[0]
    i, name = p.name(), p.name()
    p.lines.append(f"{i} = stablehlo.constant dense<0> : tensor<i32>")
    body = p.r.choice([f"%y{p.n} = stablehlo.add %x{p.n}, {w}", f"%y{p.n} = stablehlo.tanh %x{p.n}"])
    given = (f"\n    attributes {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, []>, {p.sharding(len(shape))}]>}}"
             if p.r.random() < 0.2 else "")
    p.lines.append(
        f"{name}:2 = stablehlo.while(%i{p.n} = {i}, %x{p.n} = {v}) : tensor<i32>, {t(shape)}{given}\n    cond {{\n"
        f"    %p{p.n} = stablehlo.compare LT, %i{p.n}, %i{p.n} : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        f"    stablehlo.return %p{p.n} : tensor<i1>\n  }} do {{\n    {body} : {t(shape)}\n"
        f"    stablehlo.return %i{p.n}, %y{p.n} : tensor<i32>, {t(shape)}\n  }}")
    p.values.append((f"{name}#1", shape))


def branches(p, v, shape):
    w = p.pick(lambda s: s == shape)[0]
    i, name = p.name(), p.name()
    p.lines.append(f"{i} = stablehlo.constant dense<0> : tensor<i32>")
    p.lines.append(f'{name} = "stablehlo.case"({i}) ({{\n    %a{p.n} = stablehlo.tanh {v} : {t(shape)}\n'
                   f'    stablehlo.return %a{p.n} : {t(shape)}\n  }}, {{\n    stablehlo.return {w} : {t(shape)}\n'
                   f'  }}) : (tensor<i32>) -> {t(shape)}')
    p.values.append((name, shape))


def call(p, v, shape):
    p.n += 1
    arg, out = (f" {{sdy.sharding = #sdy.sharding{p.sharding(len(shape))}}}" if p.r.random() < 0.2 else "" for _ in range(2))
    p.functions.append(f"func.func private @f{p.n}(%a: {t(shape)}{arg}) -> ({t(shape)}{out}) {{\n"
                       f"  %b = stablehlo.add %a, %a : {t(shape)}\n  return %b : {t(shape)}\n}}")
    callee = f"@f{p.n}"
    for _ in range(p.r.randint(1, 2)):
        p.emit(f"call {callee}({v}){p.attr(len(shape))} : ({t(shape)}) -> {t(shape)}", shape)


def manual(p, v, shape):
    """One axis is manual, and divides the first dimension that it can."""
    axis, size = p.r.choice(list(p.axes.items()))
    found = [d for d, s in enumerate(shape) if s % size == 0]
    if not found:
        return
    d = p.r.choice(found)
    inner = tuple(s // size if i == d else s for i, s in enumerate(shape))
    side = [", ".join('{"' + axis + '"' + p.r.choice(["", ", ?"]) + "}" if i == d else p.r.choice(["{}", "{?}"])
                      for i in range(len(shape))) for _ in range(2)]
    name = p.name()
    p.lines.append(f"{name} = sdy.manual_computation({v}) in_shardings=[<@mesh, [{side[0]}]>] out_shardings=[<@mesh, [{side[1]}]>] "
                   f'manual_axes={{"{axis}"}} (%m{p.n}: {t(inner)}) {{\n    %q{p.n} = stablehlo.tanh %m{p.n} : {t(inner)}\n'
                   f"    sdy.return %q{p.n} : {t(inner)}\n  }} : ({t(shape)}) -> {t(shape)}")
    p.values.append((name, shape))


def gather(p, v, shape):
    if not shape:
        return
    indices, n = p.name(), p.r.choice(p.dims)
    p.lines.append(f"{indices} = stablehlo.constant dense<0> : {t((n, 1), 'i32')}")
    out = (n, *shape[1:])
    p.emit(f'"stablehlo.gather"({v}, {indices}) <{{dimension_numbers = #stablehlo.gather<offset_dims = '
           f"{list(range(1, len(shape)))}, collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = "
           f"array<i64: {', '.join(map(str, (1, *shape[1:])))}>}}> : ({t(shape)}, {t((n, 1), 'i32')}) -> {t(out)}", out)


def scatter(p, v, shape):
    if not shape:
        return
    w = p.pick(lambda s: len(s) == len(shape) and s[1:] == shape[1:])
    n = w[1][0]
    indices = p.name()
    p.lines.append(f"{indices} = stablehlo.constant dense<0> : {t((n, 1), 'i32')}")
    p.emit(f'"stablehlo.scatter"({v}, {indices}, {w[0]}) <{{scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = '
           f"{list(range(1, len(shape)))}, inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}}> "
           f"({{\n  ^bb0(%l{p.n}: tensor<f32>, %r{p.n}: tensor<f32>):\n    %s{p.n} = stablehlo.add %l{p.n}, %r{p.n} : tensor<f32>\n"
           f"    stablehlo.return %s{p.n} : tensor<f32>\n  }}) : ({t(shape)}, {t((n, 1), 'i32')}, {t(w[1])}) -> {t(shape)}", shape)


STEPS = [unary, unary, binary, binary, binary, with_constant, with_constant, select, transpose, transpose, reshape, reshape, broadcast,
         dot, dot, dot, reduce, slice_, pad, concatenate, reverse, dynamic_slice, constraint, constraint, group, propagation_barrier,
         optimization_barrier, loop, branches, call, manual, gather, scatter]


# ---- Shardy's programs that run ------------------------------------------------------------------------------------------


def partition(program, meshes, devices, replicas):
    """A function by hilo's partitioner, without the module around it."""
    program = (f"module attributes {{mhlo.num_partitions = {devices} : i32, mhlo.num_replicas = {replicas} : i32}} {{\n"
               f"{meshes}\n{program}\n}}\n")
    done = subprocess.run([hilo, "opt", "--passes=partition", "-"], input=program, capture_output=True, text=True)
    if done.returncode:
        raise ValueError(done.stderr.strip().splitlines()[0])
    return "\n".join(line for line in done.stdout.splitlines()[1:-1] if not line.strip().startswith("sdy.mesh"))


def runnable(text):
    """A file of Shardy's as one module: functions partitioned, and what they are compared with."""
    first, second = re.split(r"//--- part2.mlir\n", text.split("//--- part1.mlir\n")[1])
    meshes = dict(re.findall(r"^sdy\.mesh @(\w+) = (.*)", first, re.M))
    out = [second]
    for function in re.findall(r"^func\.func .*?^}", first, re.M | re.S):
        name = re.search(r"@([\w$.]+)", function).group(1)
        used = {mesh: what for mesh, what in meshes.items() if f"@{mesh}," in function}
        sizes = [math.prod(int(n) for n in re.findall(r"=(\d+)", what)) for what in used.values()]
        if not used:
            out.append(function)
            if name.startswith("transformed_"):
                out.append(function.replace("transformed_", "original_"))
            continue
        replicas, partitions = (int((re.search(name + r"_count=(\d+)", text) or ("", "0"))[1]) for name in ("replica", "partition"))
        declared = "\n".join(f"sdy.mesh @{mesh} = {what}" for mesh, what in used.items())
        for old, new in [("", "")] + re.findall(r"sed 's/(\w+)/(\w+)/g'", text):
            if old == new or name == old:
                out.append(partition(function.replace(f"@{old}", f"@{new}") if old else function, declared, partitions or max(sizes), replicas or 1))
        if name.startswith("parallel_") and "@sequential_" not in first:
            ones = re.sub(r", device_ids=\[.*?\]", "", re.sub(r"=\d+", "=1", declared))
            out.append(partition(function.replace("@parallel_", "@sequential_"), ones, 1, 1))
    return "\n".join(out)


def run_files(folder):
    with tempfile.TemporaryDirectory() as scratch:
        for path in sorted(folder.glob("transforms/**/executable_*/*.mlir")):
            whole = pathlib.Path(scratch) / path.name
            try:
                whole.write_text(runnable(path.read_text()))
                done = subprocess.run([hilo, "check", "--backend", "reference", str(whole)], capture_output=True, text=True)
                why = (done.stdout + done.stderr).strip()
            except ValueError as error:
                done, why = None, str(error)
            common.check(f"{path.parent.name}/{path.name}", done and done.returncode == 0, why)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--runs", type=int, default=150)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--keep", help="a folder for programs on which the two differ")
    options.add_argument("--passes", default="", help="for FILE: names of passes")
    options.add_argument("--show", action="store_true", help="why a random program is none")
    options.add_argument("files", nargs="*")
    o = options.parse_args()
    for path in o.files:
        for name, text in functions(pathlib.Path(path).read_text()):
            for one in o.passes.split(",") if o.passes else ["sdy-propagate"]:
                same(f"{path} @{name}", text, one, o.keep)
    tests = os.environ.get("HILO_SHARDY_TESTS")
    for path, name in SHARDY_FILES.items() if tests and not o.files else ():
        for function, text in functions((pathlib.Path(tests) / "transforms/propagation/test" / path).read_text()):
            same(f"{path} @{function}", text, name, o.keep)
    if tests and not o.files:
        run_files(pathlib.Path(tests))
    if not o.files:
        parsed = 0
        for seed in range(o.seed, o.seed + o.runs):
            text = Program(seed).text()
            try:
                text = str(parse(text))
            except Exception as error:
                if o.show:
                    print(f"random {seed}: {error}\n{text}")
                continue
            parsed += 1
            same(f"random {seed}", text, "sdy-propagate", o.keep)
        common.check("random programs", parsed * 2 > o.runs, f"{parsed} of {o.runs} are programs")
    common.end()


main()
