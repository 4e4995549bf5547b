#!/usr/bin/env python3
"""many_ops.py SHAPE N: a program of N ops, to measure how time and memory of a compiler grow with size.

SHAPE: chain           each op uses the one before it (add, multiply, tanh alternate)
       outputs         N adds of an argument each, all returned
       one_output      N adds, concatenated
       calls           a chain of N calls of one function
       functions       a chain of N functions, each of which calls the next
       concatenations  a chain: each appends one element
       loop            a while with N variables, each updated by a part an iteration
"""
import sys

T = "tensor<4xf32>"


def chain(n):
    print(f"func.func @main(%a: {T}, %b: {T}) -> {T} {{")
    last = "%a"
    for i in range(n):
        op = (f"stablehlo.add {last}, %b", f"stablehlo.multiply {last}, %b", f"stablehlo.tanh {last}")[i % 3]
        print(f"  %{i} = {op} : {T}")
        last = f"%{i}"
    print(f"  return {last} : {T}\n}}")


def adds(n):
    """N adds, each of an argument of its own, so that none equals another."""
    print(f"func.func @main({', '.join(f'%x{i}: {T}' for i in range(n))}, %b: {T}) -> ", end="")


def outputs(n):
    adds(n)
    print(f"({', '.join([T] * n)}) {{")
    for i in range(n):
        print(f"  %{i} = stablehlo.add %x{i}, %b : {T}")
    print(f"  return {', '.join(f'%{i}' for i in range(n))} : {', '.join([T] * n)}\n}}")


def one_output(n):
    adds(n)
    print(f"tensor<{4 * n}xf32> {{")
    for i in range(n):
        print(f"  %{i} = stablehlo.add %x{i}, %b : {T}")
    names = ", ".join(f"%{i}" for i in range(n))
    print(f"  %r = stablehlo.concatenate {names}, dim = 0 : ({', '.join([T] * n)}) -> tensor<{4 * n}xf32>")
    print(f"  return %r : tensor<{4 * n}xf32>\n}}")


def calls(n):
    print(f"func.func private @f(%a: {T}) -> {T} {{\n  %0 = stablehlo.tanh %a : {T}\n  return %0 : {T}\n}}")
    print(f"func.func @main(%a: {T}) -> {T} {{")
    last = "%a"
    for i in range(n):
        print(f"  %{i} = call @f({last}) : ({T}) -> {T}")
        last = f"%{i}"
    print(f"  return {last} : {T}\n}}")


def functions(n):
    for i in range(n):
        op = f"call @f{i + 1}(%a) : ({T}) -> {T}" if i + 1 < n else f"stablehlo.tanh %a : {T}"
        print(f"func.func private @f{i}(%a: {T}) -> {T} {{\n  %0 = {op}\n  return %0 : {T}\n}}")
    print(f"func.func @main(%a: {T}) -> {T} {{\n  %0 = call @f0(%a) : ({T}) -> {T}\n  return %0 : {T}\n}}")


def concatenations(n):
    print(f"func.func @main(%a: tensor<1xf32>) -> tensor<{n + 1}xf32> {{")
    last = "%a"
    for i in range(n):
        print(f"  %{i} = stablehlo.concatenate {last}, %a, dim = 0 : "
              f"(tensor<{i + 1}xf32>, tensor<1xf32>) -> tensor<{i + 2}xf32>")
        last = f"%{i}"
    print(f"  return {last} : tensor<{n + 1}xf32>\n}}")


def loop(n):
    s, t = "tensor<i32>", "tensor<10x4xf32>"
    types = ", ".join([t] * n)
    print(f"func.func @main({', '.join(f'%a{i}: {t}' for i in range(n))}, %b: tensor<1x4xf32>) -> ({types}) {{")
    print(f"  %zero = stablehlo.constant dense<0> : {s}\n  %one = stablehlo.constant dense<1> : {s}")
    print(f"  %ten = stablehlo.constant dense<10> : {s}")
    print(f"  %w:{n + 1} = stablehlo.while(%i = %zero, {', '.join(f'%v{i} = %a{i}' for i in range(n))}) : {s}, {types}")
    print(f"  cond {{\n    %p = stablehlo.compare LT, %i, %ten : ({s}, {s}) -> tensor<i1>")
    print(f"    stablehlo.return %p : tensor<i1>\n  }} do {{\n    %j = stablehlo.add %i, %one : {s}")
    for i in range(n):
        print(f"    %x{i} = stablehlo.dynamic_update_slice %v{i}, %b, %i, %zero : ({t}, tensor<1x4xf32>, {s}, {s}) -> {t}")
    print(f"    stablehlo.return %j, {', '.join(f'%x{i}' for i in range(n))} : {s}, {types}\n  }}")
    print(f"  return {', '.join(f'%w#{i + 1}' for i in range(n))} : {types}\n}}")


shapes = {f.__name__: f for f in (chain, outputs, one_output, calls, functions, concatenations, loop)}
if len(sys.argv) != 3 or sys.argv[1] not in shapes:
    sys.exit(__doc__.strip())
shapes[sys.argv[1]](int(sys.argv[2]))
