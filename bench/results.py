"""The figures that are kept by processor: bench/results/PROCESSOR/KIND.json, each figure with its date, commit and versions."""

import datetime
import importlib.metadata
import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent
KEPT = ("median_ms", "min_ms", "inside_ms", "runs", "compile_ms", "first_ms", "difference", "agrees", "peak_bytes", "failed",
        "prefill_tok_s", "decode_tok_s", "share", "tok_s", "first_token_s", "first_token_most_s")
UNITS = {  # what distinguishes processors of one name: the flags of the system, and the usual names
    "avx2": "AVX2", "avx512f": "AVX-512", "avx512_vnni": "AVX512-VNNI", "avx_vnni": "AVX-VNNI", "avx512_bf16": "AVX512-BF16",
    "avx512_fp16": "AVX512-FP16", "amx_tile": "AMX", "asimd": "NEON", "sve": "SVE", "bf16": "BF16", "i8mm": "I8MM",
}


def processor():
    """What the system says of the processor that runs this: a name for a directory, the model, vector units and cores."""
    lines = dict(re.findall(r"^(.*?)\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M))
    flags = lines.get("flags", lines.get("Features", "")).split()
    units = [name for flag, name in UNITS.items() if flag in flags]
    cores = len(re.findall(r"^processor\s*:", Path("/proc/cpuinfo").read_text(), re.M))
    model = lines.get("model name", lines.get("CPU part", "unknown"))
    if "cpu family" in lines:
        model += f", family {lines['cpu family']} model {lines['model']}"
    name = re.sub(r"\((R|TM)\)|Processor|CPU|,|@.*", "", f"{model} {' '.join(u for u in units if u != 'AVX2')}")
    return {"name": "-".join(name.lower().split()), "model": model, "units": units, "cores": cores}


def commit():
    """The one that is measured, with a + where the tree differs from it."""
    run = lambda *words: subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True).stdout.strip()
    changed = run("status", "--porcelain", "--untracked-files=no", "--", ":/", ":(top,exclude)bench/results")
    return run("rev-parse", "--short=10", "HEAD") + ("+" if changed else "")


def versions(*packages):
    found = []
    for p in packages:
        try:
            found.append(f"{p} {importlib.metadata.version(p)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    return found


def save(kind, reports, threads, versions):
    """Replaces the figures of these programs; others stay."""
    machine = processor()
    path = ROOT / "results" / machine["name"] / f"{kind}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = json.loads(path.read_text()) if path.exists() else {"processor": machine, "figures": {}}
    for report in reports:
        engines = {n: {k: e[k] for k in KEPT if k in e} for n, e in report["engines"].items()}
        for e in engines.values():
            e.update({k: float(f"{v:.4g}") for k, v in e.items() if isinstance(v, float)})
        name = report["name"] + ("" if report.get("dtype", "f32") == "f32" else f"-{report['dtype']}")
        kept["figures"][name] = {
            "date": datetime.date.today().isoformat(), "commit": commit(), "threads": threads, "versions": versions,
            "engines": engines,
        }
    path.write_text(json.dumps(kept, indent=1) + "\n")


def all_of(kind):
    """Of every processor, by name."""
    return [json.loads(p.read_text()) for p in sorted(ROOT.glob(f"results/*/{kind}.json"))]
