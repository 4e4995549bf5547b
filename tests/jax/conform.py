#!/usr/bin/env python3
"""The conformance checks of pypjrt (PyPI) on the plugin: none fails, and none that a framework needs is unsupported or skipped.

usage: conform.py PJRT_HILO.SO
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import common
from common import check

# Checks that do not apply to this plugin.
SKIPPED = {
    "abi.unknown_slot_is_clean_error": "the plugin has every function that the checks know",
    "plugin.xla_version_present": "the plugin is not built from XLA",
    "triton.compile": "a GPU's extension",
    "device.coords": "a TPU's attribute",
    "abi_version.extension_present": "an extension that no framework uses yet",
    "abi_version.executable_proto": "likewise",
    "abi_version.is_compatible_with_executable": "likewise",
    "stream.external_ready_events": "a GPU's extension",
}

common.need("pypjrt")
with tempfile.TemporaryDirectory() as folder:
    report = pathlib.Path(folder, "report.json")
    done = subprocess.run([sys.executable, "-m", "pypjrt.conform", "--json", report, os.path.abspath(sys.argv[1])],
                          capture_output=True, text=True)
    check(f"the checks run: {done.stdout}{done.stderr}", report.exists())
    if report.exists():
        rows = json.loads(report.read_text())["checks"]
        for row in rows:
            good = row["result"] == "pass" or row["result"] == "skip" and row["id"] in SKIPPED
            check(f"{row['id']}: {row['result']}: {row['detail']}", good)
        check(f"{len(rows)} checks, of 63", len(rows) >= 63)
common.end()
