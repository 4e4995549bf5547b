#!/usr/bin/env python3
"""tables.py [--check]: writes the tables of docs/PERFORMANCE.md from bench/results, or checks that the page has them.

A table stands between the lines `<!-- figures: KIND -->` and `<!-- end of figures -->`; there is one for each processor. An
asterisk marks a figure whose values differ from those of the first engine.
"""

import math
import re
import sys
from pathlib import Path

import results

PAGE = results.ROOT.parent / "docs" / "PERFORMANCE.md"
TITLES = {
    "hilo": "hilo", "xla": "XLA", "iree": "IREE", "onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "torch": "PyTorch",
    "inductor": "Inductor",
}


def right(engine):
    return "median_ms" in engine and engine.get("agrees", True)


def cell(engine):
    if "median_ms" not in engine:
        return "–"
    return f"{engine['median_ms']:.3g}" + ("" if engine.get("agrees", True) else "*")


def table(kept):
    machine, figures = kept["processor"], kept["figures"]
    names = [t for t in TITLES if any(t in f["engines"] for f in figures.values())]
    versions = sorted({v for f in figures.values() for v in f["versions"]})
    threads = sorted({f["threads"] for f in figures.values()})
    lines = [
        f"### {machine['model']}: {', '.join(machine['units'])}; {machine['cores']} cores", "",
        f"Medians in ms with {' or '.join(map(str, threads))} threads, beside {', '.join(versions)}.", "",
        f"| program | {' | '.join(TITLES[n] for n in names)} | hilo against the best | measured |",
        "|---" * (len(names) + 3) + "|",
    ]
    ratios = []
    for name, f in figures.items():
        engines = f["engines"]
        peers = [e["median_ms"] for n, e in engines.items() if n != "hilo" and right(e)]
        ratio = min(peers) / engines["hilo"]["median_ms"] if peers and right(engines.get("hilo", {})) else None
        if ratio:
            ratios.append(ratio)
        cells = [name, *(cell(engines.get(n, {})) for n in names), f"{ratio:.2f}" if ratio else "–"]
        lines.append(f"| {' | '.join(cells)} | {f['date']}, {f['commit']} |")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines += ["", f"Geometric mean of {len(ratios)} ratios: {mean:.2f}; the least is {min(ratios):.2f}."]
    return "\n".join(lines)


def filled(text):
    def replace(match):
        tables = "\n\n".join(table(kept) for kept in results.all_of(match.group(1)))
        return f"<!-- figures: {match.group(1)} -->\n\n{tables}\n\n<!-- end of figures -->"

    return re.sub(r"<!-- figures: (\w+) -->.*?<!-- end of figures -->", replace, text, flags=re.S)


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    text = PAGE.read_text()
    new = filled(text)
    if new.count("<!-- figures:") != new.count("<!-- end of figures -->") or "<!-- figures:" not in new:
        sys.exit(f"{PAGE.name}: no place for figures")
    if not sys.argv[1:]:
        PAGE.write_text(new)
    elif new != text:
        sys.exit(f"docs/{PAGE.name} differs from bench/results; bench/tables.py writes it")
    else:
        print("1 passed, 0 failed")


if __name__ == "__main__":
    main()
