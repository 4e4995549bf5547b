#!/usr/bin/env python3
"""make_workloads.py DIRECTORY [NAME...]: writes the programs of MetalHLO's benchmarks, and some more, as JAX exports them.

Each is NAME.mlir with its recipe NAME.json, for `hilo bench` and peers.py --workloads. Whole networks are exported by
networks.py, language models by `hilo emit`. Needs JAX.
"""

import json
import math
import os
import sys
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from jax import lax, nn

EPSILON = 1e-5


# ---- inputs: dimensions, and the recipe's distribution ----------------------------------------------


def uniform(*shape, lo=0.0, hi=1.0):
    return {"shape": list(shape), "dtype": "float32", "kind": "uniform", "lo": lo, "hi": hi}


def normal(*shape, std=1.0, dtype="float32"):
    return {"shape": list(shape), "dtype": dtype, "kind": "normal", "std": std}


def constant(*shape, value=0.0, dtype="float32"):
    return {"shape": list(shape), "dtype": dtype, "kind": "const", "lo": value}


def integers(*shape, lo=0, hi=2, dtype="int32"):
    return {"shape": list(shape), "dtype": dtype, "kind": "randint", "lo": lo, "hi": hi}


def weights(*widths, std=0.05):
    """Of a perceptron: a matrix and a bias for each layer."""
    return [x for i, o in zip(widths, widths[1:]) for x in (normal(i, o, std=std), constant(o))]


# ---- what programs are made of ---------------------------------------------------------------------


def conv(x, w, stride=1, padding="VALID"):
    return lax.conv_general_dilated(x, w, (stride, stride), padding, dimension_numbers=("NHWC", "HWIO", "NHWC"))


def batch_norm(x, scale, offset, mean, variance):
    return (x - mean) * lax.rsqrt(variance + EPSILON) * scale + offset


def layer_norm(x, scale, offset):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * lax.rsqrt(jnp.square(x - mean).mean(-1, keepdims=True) + EPSILON) * scale + offset


def pool(x, window, stride, maximum):
    shape, strides = (1, window, window, 1), (1, stride, stride, 1)
    if maximum:
        return lax.reduce_window(x, -jnp.inf, lax.max, shape, strides, "VALID")
    return lax.reduce_window(x, 0.0, lax.add, shape, strides, "VALID") / (window * window)


def perceptron(x, *parameters):
    layers = list(zip(parameters[::2], parameters[1::2]))
    for w, b in layers[:-1]:
        x = nn.relu(x @ w + b)
    return x @ layers[-1][0] + layers[-1][1]


def ffn(x, w1, b1, w2, b2):
    return nn.gelu(x @ w1 + b1) @ w2 + b2


def attention(q, k, v):
    return nn.softmax(q @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])) @ v


def self_attention(x, wq, wk, wv, wo, heads=12):
    b, s, c = x.shape
    q, k, v = ((x @ w).reshape(b, s, heads, c // heads).swapaxes(1, 2) for w in (wq, wk, wv))
    return attention(q, k, v).swapaxes(1, 2).reshape(b, s, c) @ wo


def encoder(x, s1, o1, wq, wk, wv, wo, s2, o2, w1, b1, w2, b2):
    x = x + self_attention(layer_norm(x, s1, o1), wq, wk, wv, wo)
    return x + ffn(layer_norm(x, s2, o2), w1, b1, w2, b2)


def cross_entropy(logits, labels):
    return -jnp.mean(jnp.take_along_axis(nn.log_softmax(logits), labels[:, None], 1))


def lenet(x, w1, w2, *parameters):
    x = pool(nn.relu(conv(x, w1)), 2, 2, True)
    x = pool(nn.relu(conv(x, w2)), 2, 2, True)
    return perceptron(x.reshape(x.shape[0], -1), *parameters)


def residual(x, w1, w2, *norms):
    y = nn.relu(batch_norm(conv(x, w1, padding="SAME"), *norms[:4]))
    return nn.relu(x + batch_norm(conv(y, w2, padding="SAME"), *norms[4:]))


def repeat(n, step):
    """A loop of StableHLO: the number of iterations is in the condition."""
    return lambda x, *given: lax.while_loop(lambda s: s[0] < n, lambda s: (s[0] + 1, step(s[1], *given)), (0, x))[1]


def gradients(function, learned):
    """Loss and gradients for the arguments of these numbers."""
    return jax.value_and_grad(function, argnums=learned)


# ---- the tables ------------------------------------------------------------------------------------

WORKLOADS = {}  # name: function, inputs, tolerance


def add(name, function, *inputs, tolerance=1e-4):
    WORKLOADS[name] = (function, inputs, tolerance)


def numbered(prefix, rows, first=1):
    return ((f"{prefix}-{i:03}", row) for i, row in enumerate(rows, first))


def products():
    sizes = [(128,) * 3, (512,) * 3, (1024,) * 3, (2048,) * 3, (4096,) * 3, (32, 4096, 768), (128, 768, 3072), (1, 4096, 4096)]
    for name, (m, n, k) in numbered("MAT-DOT", sizes):
        add(name, jnp.matmul, normal(m, k), normal(k, n))
        if (m, n) in ((1024, 1024), (2048, 2048), (4096, 4096), (1, 4096)):
            add(f"{name}-BF16", jnp.matmul, *(normal(*s, dtype="bfloat16") for s in ((m, k), (k, n))), tolerance=2e-2)
    bytes_ = [integers(1024, 1024, lo=-127, hi=128, dtype="int8")] * 2
    add("MAT-DOT-003-I8", lambda a, b: lax.dot(a, b, preferred_element_type=jnp.int32), *bytes_, tolerance=0)
    batches = [(8, 512, 512, 512), (32, 256, 256, 256), (64, 128, 128, 64), (12, 64, 512, 64)]
    for name, (b, m, n, k) in numbered("MAT-BATCH", batches):
        add(name, jnp.matmul, normal(b, m, k), normal(b, k, n))
    add("MAT-TR-001", jnp.transpose, uniform(1024, 1024))
    add("MAT-TR-002", lambda x: x.swapaxes(1, 2), uniform(32, 128, 64))
    add("MAT-RSH-001", jnp.ravel, uniform(1024, 1024))
    add("MAT-RSH-002", lambda x: x.reshape(32, -1), uniform(32, 64, 128))


def elementwise():
    binary = [(lax.add, 1024), (lax.add, 4096), (lax.add, 8192), (lax.mul, 1024), (lax.mul, 4096), (lax.div, 1024),
              (lax.pow, 1024), (lax.max, 4096)]
    for name, (op, n) in numbered("ARITH-B", binary):
        add(name, op, uniform(n, n, lo=0.1, hi=2.0), uniform(n, n, lo=0.5, hi=2.5))
    unary = [(lax.exp, 1024), (lax.log, 4096), (lax.tanh, 1024), (lax.sqrt, 4096), (lax.rsqrt, 4096), (lax.logistic, 1024)]
    for name, (op, n) in numbered("ARITH-U", unary):
        add(name, op, uniform(n, n, lo=0.1, hi=3.0))
    add("ARITH-BC-001", jnp.add, uniform(1024, 1024), uniform(1024))
    add("ARITH-BC-002", jnp.add, uniform(1024, 1024), uniform(1))
    add("ARITH-BC-003", jnp.multiply, uniform(32, 64, 128), uniform(128))


def reductions():
    rows = [(jnp.sum, None, (1024, 1024)), (jnp.sum, 1, (1024, 1024)), (jnp.sum, 0, (1024, 1024)), (jnp.max, 1, (4096, 4096)),
            (jnp.sum, 2, (32, 128, 768)), (jnp.sum, 3, (32, 12, 512, 512))]
    for name, (op, axis, shape) in numbered("RED", rows):
        add(name, lambda x, op=op, axis=axis: op(x, axis), uniform(*shape))
    pools = [(2, 2, True, (1, 224, 224, 64)), (2, 2, False, (1, 56, 56, 256)), (7, 7, False, (1, 7, 7, 512))]
    for name, (window, stride, maximum, shape) in numbered("RED", pools, 7):
        add(name, lambda x, a=(window, stride, maximum): pool(x, *a), uniform(*shape))
    three = ((1, 3, 3, 1), (1, 2, 2, 1), "SAME")
    add("POOL-MAX", lambda x: lax.reduce_window(x, -jnp.inf, lax.max, *three), normal(8, 112, 112, 64))


def images():
    rows = [(1, 224, 3, 64, 7, 2), (1, 56, 64, 128, 3, 1), (1, 28, 128, 256, 3, 1), (1, 14, 256, 512, 3, 1),
            (32, 56, 64, 64, 3, 1), (1, 112, 32, 64, 1, 1), (1, 56, 128, 128, 3, 1)]
    for name, (b, n, i, o, k, stride) in numbered("CONV", rows):
        add(name, lambda x, w, s=stride: conv(x, w, s), uniform(b, n, n, i), normal(k, k, i, o, std=0.1))
    add("CONV-008", lambda x, w, b: nn.relu(conv(x, w) + b), uniform(1, 56, 56, 64), normal(3, 3, 64, 64, std=0.1), uniform(64))
    scale, offset = (lambda n: uniform(n, lo=0.8, hi=1.2)), (lambda n: uniform(n, lo=-0.1, hi=0.1))
    norm = lambda n: (scale(n), offset(n), offset(n), scale(n))
    for name, shape in numbered("NORM-BN", [(1, 56, 56, 64), (32, 56, 56, 64), (1, 28, 28, 128), (1, 14, 14, 256)]):
        add(name, batch_norm, uniform(*shape), *norm(shape[-1]))
    net = [normal(5, 5, 1, 6, std=0.1), normal(5, 5, 6, 16, std=0.1), *weights(256, 120, 84, 10)]
    block = [normal(3, 3, 64, 64, std=0.05), normal(3, 3, 64, 64, std=0.05), *norm(64), *norm(64)]
    for name, (function, batch, n, channels, parameters) in numbered("CNN-INF", [
        (lenet, 1, 28, 1, net), (lenet, 32, 28, 1, net), (residual, 1, 56, 64, block), (residual, 8, 56, 64, block),
        (lambda x, a, b: pool(nn.relu(conv(nn.relu(conv(x, a, padding="SAME")), b, padding="SAME")), 2, 2, True), 1, 56, 64,
         [normal(3, 3, 64, 128, std=0.05), normal(3, 3, 128, 128, std=0.05)]),
    ]):
        add(name, function, uniform(batch, n, n, channels), *parameters, tolerance=1e-3)
    loss = lambda x, labels, *p: cross_entropy(lenet(x, *p), labels)
    step = gradients(loss, tuple(range(2, 2 + len(net))))
    add("TRAIN-002", step, uniform(32, 28, 28, 1), integers(32, hi=10), *net, tolerance=1e-3)


def transformers():
    for name, shape in numbered("NORM-LN", [(1, 128, 768), (32, 128, 768), (1, 512, 1024), (8, 2048, 768)]):
        add(name, layer_norm, uniform(*shape), uniform(shape[-1], lo=0.8, hi=1.2), uniform(shape[-1], lo=-0.1, hi=0.1))
    projections, two = [normal(768, 768, std=0.02)] * 4, weights(768, 3072, 768, std=0.02)
    for name, (b, s) in numbered("XFMR-INF", [(1, 128), (1, 512), (8, 128)]):
        add(name, self_attention, uniform(b, s, 768), *projections)
    add("XFMR-INF-004", ffn, uniform(8, 128, 768), *two)
    add("XFMR-INF-005", nn.softmax, normal(8, 12, 128, 128))
    norm = [uniform(768, lo=0.8, hi=1.2), uniform(768, lo=-0.1, hi=0.1)]
    add("XFMR-INF-006", encoder, uniform(1, 128, 768), *norm, *projections, *norm, *two)
    for name, shape in numbered("ATTN", [(1, 12, 128, 64), (8, 12, 128, 64), (1, 12, 512, 64), (32, 8, 128, 64)]):
        add(name, attention, *[normal(*shape)] * 3)
    step = gradients(lambda q, k, v, y: jnp.square(attention(q, k, v) - y).mean(), (0, 1, 2))
    add("TRAIN-003", step, *[normal(8, 12, 128, 64)] * 4, tolerance=1e-3)
    for name, (batch, widths) in numbered("MLP-INF", [(1, (784, 256, 10)), (32, (784, 256, 10)), (128, (784, 256, 10)),
                                                      (32, (784, 512, 256, 128, 10))]):
        add(name, perceptron, uniform(batch, widths[0]), *weights(*widths))
    add("MLP-INF-005", ffn, uniform(32, 768), *two)
    step = gradients(lambda x, *p: jnp.square(perceptron(x, *p[:-1]) - p[-1]).mean(), (1, 2, 3, 4))
    add("TRAIN-001", step, uniform(32, 784), *weights(784, 256, 10), uniform(32, 10))
    add("E2E-001", lambda table, ids: table[ids], normal(30000, 768), integers(8, 128, hi=30000))
    add("E2E-002", lambda x: (x / 255 - jnp.array([0.485, 0.456, 0.406])) / jnp.array([0.229, 0.224, 0.225]),
        uniform(32, 224, 224, 3, hi=255.0))
    add("E2E-003", cross_entropy, normal(32, 1000), integers(32, hi=1000))
    add("COMP-001", jnp.add, uniform(1024, 1024), uniform(1024, 1024))
    add("COMP-002", perceptron, uniform(32, 784), *weights(784, 512, 256, 128, 10))
    add("COMP-003", lambda x, w, *n: nn.relu(batch_norm(conv(x, w), *n)), uniform(32, 28, 28, 64),
        normal(3, 3, 64, 64, std=0.05), *[uniform(64, lo=0.5)] * 4)
    add("COMP-004", encoder, uniform(8, 128, 768), *norm, *projections, *norm, *two)
    chain = lambda x: jnp.tanh(jnp.exp(-jnp.abs(jnp.sqrt(jnp.abs(jnp.sin(x * 2 + 1) - 0.5)) * x)) + x)
    add("COMP-005", chain, uniform(1024, 1024))


def others():
    add("CF-001", repeat(100, lambda x: x + 1), constant())
    add("CF-002", repeat(100, lambda x: x * 1.01 + 1), uniform(1024))
    add("CF-003", repeat(10, lambda x, w: x @ w), normal(128, 128), normal(128, 128, std=0.08))
    true, half = constant(dtype="int32", value=1), uniform(512, 512)
    add("CF-004", lambda p, x: lax.cond(p > 0, lambda v: v * 2, lambda v: v + 1, x), true, uniform(1024, 1024))
    add("CF-005", lambda p, x, y: lax.cond(p > 0, jnp.matmul, lambda a, b: jnp.exp(a + b), x, y), true, half, half)
    add("CF-FORI-MAT", repeat(100, lambda x, w: jnp.tanh(x @ w)), normal(128, 128), normal(128, 128, std=0.1), tolerance=1e-2)
    add("CF-WHILE-10K", repeat(10000, lambda x: x * 0.5 + 1), constant(value=1.0))
    add("CF-SCAN-RNN", lambda x, w, u: lax.scan(lambda h, t: (jnp.tanh(t @ w + h @ u),) * 2, jnp.zeros((8, 256)), x)[1],
        normal(256, 8, 128), normal(128, 256, std=0.05), normal(256, 256, std=0.05), tolerance=1e-3)
    square, at = uniform(1024, 1024), integers(hi=700)
    add("IDX-001", lambda x: x[256:768, 256:768], square)
    add("IDX-002", lambda x, i, j: lax.dynamic_slice(x, (i, j), (256, 256)), square, at, at)
    add("IDX-003", lambda x, y, i, j: lax.dynamic_update_slice(x, y, (i, j)), square, uniform(256, 256), at, at)
    add("IDX-004", lambda x, i: x[i], uniform(10000, 256), integers(1024, hi=10000))
    add("IDX-005", lambda x, i, y: x.at[i].add(y), uniform(10000, 256), integers(1024, hi=10000), uniform(1024, 256))
    add("IDX-006", lambda *x: jnp.concatenate(x), *[half] * 4)
    add("IDX-007", lambda x: jnp.pad(x, 64), half)
    add("IDX-EMBED", lambda table, ids: table[ids], normal(30000, 768), integers(8, 128, hi=30000))
    add("IDX-SCATTER-ADD", lambda x, i, y: x.at[i].add(y), constant(30000, 768), integers(1024, hi=30000), normal(1024, 768))
    big = uniform(4096, 4096)
    add("FUSION-001", lambda x, y, z: jnp.exp((x + y) * z), big, big, uniform(4096, 4096, hi=0.5))
    add("FUSION-002", lambda x, y: (x * y).sum(1), big, big)
    add("FUSION-003", lambda x, y: x + y, big, uniform(4096))
    add("FUSION-004", lambda x, w, b: nn.relu(x @ w + b), normal(128, 1024), normal(1024, 1024, std=0.05), uniform(1024))
    add("MEM-001", jnp.matmul, normal(2048, 2048), normal(2048, 2048))
    add("MEM-002", lambda x: jnp.tanh(jnp.sqrt(jnp.exp(x * 2) + 1)), big)
    add("MEM-003", lambda x: x / x.sum(-1, keepdims=True), uniform(32, 1024, 1024, lo=0.5))
    parts = lambda *n: (normal(*n), normal(*n))
    pair = lambda z: (z.real, z.imag)
    for name, (n, transform) in numbered("FFT", [((1024,), jnp.fft.fft), ((4096,), jnp.fft.fft), ((1024,), jnp.fft.ifft)]):
        add(name, lambda a, b, f=transform: pair(f(a + 1j * b)), *parts(*n))
    add("FFT-004", lambda x: pair(jnp.fft.rfft(x)), normal(1024))
    add("FFT-005", lambda a, b: jnp.fft.irfft(a + 1j * b, 1024), *parts(513))
    add("FFT-006", lambda a, b: pair(jnp.fft.fft2(a + 1j * b)), *parts(64, 64))
    add("FFT-RFFT", lambda x: pair(jnp.fft.rfft(x)), normal(1024, 1024))
    add("FFT-C2C-1M", lambda a, b: pair(jnp.fft.fft(a + 1j * b)), *parts(1 << 20))
    add("SORT-1M", jnp.sort, uniform(1 << 20))
    add("ARGSORT-1M", lambda x: jnp.argsort(x, stable=True), uniform(1 << 20))
    add("TOPK-64", lambda x: lax.top_k(x, 64), normal(8, 128256))
    add("CUMSUM-1M", jnp.cumsum, uniform(1 << 20), tolerance=1e-3)
    add("RNG-NORMAL-1M", lambda key: jax.random.normal(key, (1 << 20,)), integers(2, hi=1 << 31, dtype="uint32"))
    add("CALL-SCALAR", lambda x: x + 1, constant(value=1.0))


for group in (products, elementwise, reductions, images, transformers, others):
    group()


def main():
    absent = [n for n in sys.argv[2:] if n not in WORKLOADS]
    if len(sys.argv) < 2 or sys.argv[1].startswith("-") or absent:
        sys.exit(f"{__doc__}\nprograms: {', '.join(WORKLOADS)}")
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or WORKLOADS:
        function, inputs, tolerance = WORKLOADS[name]
        specs = [jax.ShapeDtypeStruct(i["shape"], i["dtype"]) for i in inputs]
        lowered = jax.jit(function, keep_unused=True).lower(*specs)
        outputs = [{"shape": list(o.shape), "dtype": o.dtype.name} for o in jax.tree.leaves(lowered.out_info)]
        (out / f"{name}.mlir").write_text(lowered.as_text())
        recipe = {"inputs": inputs, "outputs": outputs, "tol": tolerance}
        (out / f"{name}.json").write_text(json.dumps(recipe, indent=1) + "\n")


if __name__ == "__main__":
    main()
