#!/usr/bin/env python3
"""The programs of examples/jax print on hilo what they print on XLA's CPU: losses and logits near each other, the same accuracy, the
same tokens. Without HILO_TEST_LONG only the short ones run, for some steps.

usage: examples.py PJRT_HILO.SO LIBHILO.SO [EXAMPLE...]
"""
import os
import subprocess
import sys

import common
from common import check, plugin_environment, root, skip

steps = "200" if os.environ.get("HILO_TEST_LONG") else "20"
# name: its arguments, how far a loss or logit may be from the other's, relatively
EXAMPLES = {"mlp": ([steps], 1e-4), "transformer": ([steps], 1e-2), "rnn": ([steps], 1e-2), "resnet": ([steps], 1e-1),
            "gpt2": (["2", "256"], 1e-4), "export": ([], 1e-4)}
SHORT = ("mlp", "export")
ACCURACY = 0.01


def run(name, platform):
    env = plugin_environment(sys.argv[1], JAX_PLATFORMS=platform, HILO_LIBRARY=os.path.abspath(sys.argv[2]))
    return subprocess.run([sys.executable, root / f"examples/jax/{name}.py", *EXAMPLES[name][0]], env=env, capture_output=True,
                          text=True)


def difference(name, ours, theirs):
    """What differs, or ""."""
    if len(ours) != len(theirs) or not ours:
        return f"{len(ours)} lines, not {len(theirs)}"
    for a, b in zip(ours, theirs):
        words = list(zip(a.split(), b.split()))
        for (x, y), (before, _) in zip(words, [("", ""), *words]):
            if x == y:
                continue
            try:
                x, y = float(x), float(y)
            except ValueError:
                return f"{a!r}, not {b!r}"
            near = abs(x - y) <= ACCURACY if before == "accuracy" else "." in b and abs(x - y) <= EXAMPLES[name][1] * abs(y)
            if not near:
                return f"{a!r}, not {b!r}"
    return ""


common.need("jax")
for name in sys.argv[3:] or (EXAMPLES if os.environ.get("HILO_TEST_LONG") else SHORT):
    theirs = run(name, "cpu")
    if theirs.returncode and "ModuleNotFoundError" in theirs.stderr or "Please install 'flatbuffers'" in theirs.stderr:
        skip(name, theirs.stderr.strip().splitlines()[-1])
        continue
    ours = run(name, "hilo")
    wrong = next((done.stderr for done in (theirs, ours) if done.returncode), None)
    wrong = wrong or difference(name, ours.stdout.splitlines(), theirs.stdout.splitlines())
    check(name, not wrong, wrong)
common.end()
