#!/usr/bin/env python3
"""Times of JAX programs on hilo and on XLA:CPU, from Python: a process for each, in alternation within one run. Prints the
medians, the shortest, and the ratios of the medians (above 1 = hilo is faster).

usage: jax_peers.py [--plugin pjrt_hilo.so] [--rounds N] [CASE...]

Runs with a Python that has JAX. The plugin is that of the package jax_hilo, or $HILO_PJRT_PLUGIN.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PLATFORMS = ("hilo", "cpu")

# ---- the programs ----------------------------------------------------------------------------------------------------------


def cases():
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax import lax

    rng = np.random.default_rng(0)

    def array(*shape, scale=1.0):
        return jnp.asarray(rng.normal(size=shape) * scale, jnp.float32)

    def scalar_add(wait):
        add, a, b = jax.jit(lambda x, y: x + y), jnp.float32(1), jnp.float32(2)
        return (lambda: add(a, b).block_until_ready()) if wait else (lambda: add(a, b))

    def mlp(sizes, batch, donate):
        def loss(p, x, y):
            for w, b in p[:-1]:
                x = jax.nn.relu(x @ w + b)
            logits = x @ p[-1][0] + p[-1][1]
            return -jnp.mean(jax.nn.log_softmax(logits)[jnp.arange(batch), y])

        def step(p, x, y):
            value, g = jax.value_and_grad(loss)(p, x, y)
            return jax.tree.map(lambda a, b: a - 0.01 * b, p, g), value

        step = jax.jit(step, donate_argnums=0 if donate else ())
        x, y = array(batch, sizes[0]), jnp.asarray(rng.integers(0, sizes[-1], batch))
        state = [(array(m, n, scale=m**-0.5), jnp.zeros(n)) for m, n in zip(sizes, sizes[1:])]

        def run():
            nonlocal state
            state, value = step(state, x, y)
            value.block_until_ready()

        return run

    def scan(cell, carry, xs, grad, *parameters):
        def f(p, c, v):
            return lax.scan(lambda c, x: cell(p, c, x), c, v)

        if grad:
            f = jax.grad(lambda p, c, v, f=f: (f(p, c, v)[1] ** 2).sum())
        f = jax.jit(f)
        return lambda: f(parameters, carry, xs)[0 if grad else 1].block_until_ready()

    def rnn(p, h, x):
        h = jnp.tanh(h @ p[0] + x)
        return h, h

    def recurrence(p, h, x):
        h = jnp.sin(h) * p[0] + x
        return h, h.sum()

    def lstm(p, state, x):
        h, c = state
        i, f, g, o = jnp.split(jnp.concatenate([x, h], -1) @ p[0] + p[1], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    small = (784, 512, 256, 10)
    found = {
        "scalar add": (200, lambda: scalar_add(False)),
        "scalar add, waiting": (200, lambda: scalar_add(True)),
        "mlp 64-64-10": (20, lambda: mlp((64, 64, 10), 32, False)),
        "mlp 784-512-256-10": (6, lambda: mlp(small, 32, False)),
        "mlp, donated": (6, lambda: mlp(small, 32, True)),
    }
    for grad in (False, True):
        name = ", gradient" if grad else ""
        found |= {
            "scan of scalars" + name: (40, lambda g=grad: scan(recurrence, jnp.float32(0), array(1000), g, jnp.float32(0.9))),
            "scan of vectors" + name: (40, lambda g=grad: scan(recurrence, jnp.zeros(16), array(1000, 16), g, jnp.float32(0.9))),
            "rnn 16" + name: (20, lambda g=grad: scan(rnn, jnp.zeros(16), array(1000, 16), g, array(16, 16, scale=0.25))),
            "rnn 8x32" + name: (4, lambda g=grad: scan(rnn, jnp.zeros((8, 32)), array(1000, 8, 32), g,
                                                       array(32, 32, scale=0.2))),
            "lstm 4x16" + name: (4, lambda g=grad: scan(lstm, (jnp.zeros((4, 16)),) * 2, array(1000, 4, 16), g,
                                                        array(32, 64, scale=0.2), jnp.zeros(64))),
        }
    return found


# ---- a process -------------------------------------------------------------------------------------------------------------


def serve():
    """Replies to each line, the name of a case, with the seconds that a call of it took."""
    if os.environ["JAX_PLATFORMS"] == "hilo":
        sys.path.insert(0, str(ROOT / "python"))
        sys.dont_write_bytecode = True
        import jax_hilo

        jax_hilo.initialize()
    known, ready = cases(), {}
    print(json.dumps(list(known)), flush=True)
    for line in sys.stdin:
        name = line.strip()
        n, make = known[name]
        if name not in ready:
            ready[name] = make()
            for _ in range(3 * n):
                ready[name]()
        run, begin = ready[name], time.perf_counter()
        for _ in range(n):
            run()
        print((time.perf_counter() - begin) / n, flush=True)


# ---- both ------------------------------------------------------------------------------------------------------------------


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--plugin", help="the plugin of a build")
    parser.add_argument("--rounds", type=int, default=41)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("cases", nargs="*", help="parts of names; all without")
    o = parser.parse_args()
    if o.serve:
        return serve()
    if o.plugin:
        os.environ["HILO_PJRT_PLUGIN"] = os.path.abspath(o.plugin)
    peers = {}
    for platform in PLATFORMS:
        peers[platform] = subprocess.Popen([sys.executable, __file__, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                           text=True, env=os.environ | {"JAX_PLATFORMS": platform})
    names = [json.loads(peer.stdout.readline()) for peer in peers.values()][0]
    print(f"{'median us (shortest)':28} {'hilo':>20} {'XLA CPU':>20} {'ratio':>7}")
    for name in names:
        if o.cases and not any(part in name for part in o.cases):
            continue
        taken = {platform: [] for platform in PLATFORMS}
        for _ in range(o.rounds):
            for platform, peer in peers.items():
                print(name, file=peer.stdin, flush=True)
                taken[platform].append(float(peer.stdout.readline()) * 1e6)
        hilo, cpu = (statistics.median(taken[platform]) for platform in PLATFORMS)
        shortest = [min(taken[platform]) for platform in PLATFORMS]
        print(f"{name:28} {hilo:10.1f} ({shortest[0]:7.1f}) {cpu:10.1f} ({shortest[1]:7.1f}) {cpu / hilo:7.2f}", flush=True)
    for peer in peers.values():
        peer.stdin.close()
        peer.wait()
    return None


if __name__ == "__main__":
    main()
