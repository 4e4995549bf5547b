#!/usr/bin/env python3
"""tables.py [--check]: writes the tables of docs/PERFORMANCE.md from bench/results, or checks that the page has them.

A table stands between the lines `<!-- figures: KIND -->` and `<!-- end of figures -->`; there is one for each processor. An
asterisk marks a figure of an engine whose values differ from those of the first one.
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


def median(engine):
    return engine.get("median_ms")


def first(engine):
    """From a program in memory to its first results, nothing coming from a cache."""
    return engine["compile_ms"] + engine["first_ms"] if {"compile_ms", "first_ms"} <= engine.keys() else None


# KIND of a place on the page: the file of figures, what is shown of an engine, and what the table says of itself.
KINDS = {
    "networks": ("networks", median, "Medians in ms"),
    "llama": ("llama", None, ""),
    "programs": ("programs", median, "Medians in ms"),
    "starts": ("networks", first, "Compilation (of other engines, the creation of a session) and the first run, in ms,"),
}


def cell(engine, value):
    if value(engine) is None:
        return "–"
    return f"{value(engine):.3g}" + ("" if engine.get("agrees", True) else "*")


def heading(kept):
    machine = kept["processor"]
    return f"### {machine['model']}: {', '.join(machine['units'])}; {machine['cores']} cores"


def language_models(kept):
    """Tokens a second of prompts and answers."""
    lines = [
        heading(kept), "",
        "| | prompt, tok/s | llama.cpp | ratio | decode, tok/s | llama.cpp | ratio | bandwidth | peak, MB | llama.cpp | measured |",
        "|---" * 11 + "|",
    ]
    for name, f in kept["figures"].items():
        hilo, other = f["engines"]["hilo"], f["engines"].get("llama.cpp", {})
        cells = [name]
        for key in ("prefill_tok_s", "decode_tok_s"):
            both = hilo[key], other.get(key)
            cells += [f"{both[0]:.3g}", f"{both[1]:.3g}" if both[1] else "–", f"{both[0] / both[1]:.2f}" if both[1] else "–"]
        cells += [f"{100 * hilo['share']:.0f} %"]
        cells += [f"{e['peak_bytes'] / 1e6:.0f}" if "peak_bytes" in e else "–" for e in (hilo, other)]
        cells.append(", ".join([f["date"], f["commit"], f"{f['threads']} threads, {hilo['runs']} run{'s'[:hilo['runs'] > 1]}", *f["versions"]]))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def table(kept, value, caption):
    if not value:
        return language_models(kept)
    figures = kept["figures"]
    names = [t for t in TITLES if any(t in f["engines"] for f in figures.values())]
    versions = sorted({v for f in figures.values() for v in f["versions"]})
    threads = sorted({f["threads"] for f in figures.values()})
    lines = [
        heading(kept), "",
        f"{caption} with {' or '.join(map(str, threads))} threads, beside {', '.join(versions)}.", "",
        f"| program | {' | '.join(TITLES[n] for n in names)} | hilo against the best | measured |",
        "|---" * (len(names) + 3) + "|",
    ]
    ratios = []
    for name, f in figures.items():
        right = {n: value(e) for n, e in f["engines"].items() if value(e) is not None and e.get("agrees", True)}
        hilo = right.pop("hilo", None)
        ratio = min(right.values()) / hilo if hilo and right else None
        if ratio:
            ratios.append(ratio)
        cells = [name, *(cell(f["engines"].get(n, {}), value) for n in names), f"{ratio:.2f}" if ratio else "–"]
        lines.append(f"| {' | '.join(cells)} | {f['date']}, {f['commit']} |")
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines += ["", f"Geometric mean of {len(ratios)} ratios: {mean:.2f}; the least is {min(ratios):.2f}."]
    return "\n".join(lines)


def filled(text):
    def replace(match):
        name, value, caption = KINDS[match.group(1)]
        tables = "\n\n".join(table(kept, value, caption) for kept in results.all_of(name))
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
