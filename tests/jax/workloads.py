#!/usr/bin/env python3
"""The programs of bench/make_workloads.py are what their recipes say, and small ones compute what the evaluator does.

Where ../shared/workloads has a program of the same name, inputs and results have the same types. Needs JAX.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import common
from common import check, root

common.need("jax")
sys.path.insert(0, str(root / "bench"))
import make_workloads  # noqa: E402

hilo = os.path.abspath(os.environ["HILO"])
# The numbers of MetalHLO's ids, by their beginnings.
COUNTS = {
    "MAT-DOT-0": 13, "MAT-BATCH-": 4, "MAT-TR-": 2, "MAT-RSH-": 2, "ARITH-B-": 8, "ARITH-U-": 6, "ARITH-BC-": 3, "RED-": 9,
    "CONV-": 8, "NORM-BN-": 4, "NORM-LN-": 4, "CF-00": 5, "IDX-00": 7, "MLP-INF-": 5, "CNN-INF-": 5, "XFMR-INF-": 6, "ATTN-": 4,
    "E2E-": 3, "TRAIN-": 3, "COMP-": 5, "FUSION-": 4, "MEM-": 3, "FFT-00": 6,
}
SMALL = ("ARITH-BC-003", "MAT-DOT-001", "CF-001", "CF-002", "CF-003", "IDX-003", "IDX-007", "RED-009", "FFT-003", "FFT-005",
         "MLP-INF-001", "TRAIN-001", "CALL-SCALAR")


def types(ports):
    return [(p["shape"], p["dtype"]) for p in ports]


for beginning, n in COUNTS.items():
    found = [name for name in make_workloads.WORKLOADS if name.startswith(beginning)]
    check(beginning, len(found) == n, f"{len(found)} programs, not {n}: {found}")
with tempfile.TemporaryDirectory() as directory:
    sys.argv = ["make_workloads.py", directory]
    make_workloads.main()
    programs = sorted(Path(directory).glob("*.mlir"))
    done = subprocess.run([hilo, "verify", *programs], capture_output=True, text=True)
    check("verify", done.returncode == 0 and len(programs) == len(make_workloads.WORKLOADS), done.stderr)
    for path in programs:
        given = root.parent / "shared" / "workloads" / f"{path.stem}.json"
        if given.exists():
            ours, theirs = json.loads(path.with_suffix(".json").read_text()), json.loads(given.read_text())
            same = types(ours["inputs"]) == types(theirs["inputs"]) and types(ours["outputs"]) == types(theirs["outputs"])
            check(path.stem, same, f"{types(ours['inputs'])} {types(ours['outputs'])}, in ../shared/workloads {theirs}")
    for name in SMALL:
        command = [hilo, "run", f"{directory}/{name}.mlir", "--input", "random:1", "--compare", "reference"]
        done = subprocess.run(command, capture_output=True, text=True)
        check(name, done.returncode == 0, done.stdout + done.stderr)
common.end()
