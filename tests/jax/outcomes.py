#!/usr/bin/env python3
"""What became of JAX's own tests, and how those of two platforms compare.

As a plugin of pytest (-p outcomes) it writes a line for each test to the file that $HILO_OUTCOMES names: its outcome, its name, and the
last line of what went wrong. Lines are written as tests end, so that a crash loses only the test that caused it. $HILO_SAMPLE, such as
2/8, leaves of the tests of a file those whose number divided by 8 has the remainder 2.

usage: outcomes.py TESTED REFERENCE     two folders of such files

Prints, file by file, how many of the tests that pass in REFERENCE pass in TESTED, and those that do not.
"""
import os
import pathlib
import sys

PASSED, FAILED, SKIPPED, RUNNING = "passed", "failed", "skipped", "running"
ENDED = "the process ended here"

# ---- the plugin ------------------------------------------------------------------------------------------------------------


class Recorder:
    def __init__(self, path):
        self.out = open(path, "w", encoding="utf-8")

    def write(self, outcome, name, why=""):
        print(outcome, name.removeprefix("tests/").removeprefix("./"), why, sep="\t", file=self.out, flush=True)

    def pytest_runtest_logstart(self, nodeid, location):
        self.write(RUNNING, nodeid)

    def pytest_runtest_logreport(self, report):
        if report.when == "call" or report.outcome != PASSED:
            text = str(report.longrepr or "").strip().splitlines()
            wrong = [line[1:].strip() for line in text if line.startswith("E ")] or text[-1:]
            self.write(report.outcome, report.nodeid, wrong[0].replace("\t", " ")[:300] if wrong else "")


def pytest_configure(config):
    path = os.environ.get("HILO_OUTCOMES")
    if path:
        config.pluginmanager.register(Recorder(path), "outcomes-recorder")


def pytest_collection_modifyitems(config, items):
    part, _, parts = os.environ.get("HILO_SAMPLE", "").partition("/")
    if parts:
        dropped = [item for i, item in enumerate(items) if i % int(parts) != int(part)]
        items[:] = [item for i, item in enumerate(items) if i % int(parts) == int(part)]
        config.hook.pytest_deselected(items=dropped)


# ---- the comparison --------------------------------------------------------------------------------------------------------


def read(path):
    """Outcome and reason by test; a test that began and did not end is where the process ended."""
    found = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
        outcome, name, why = (line.split("\t") + ["", ""])[:3]
        if found.get(name, (PASSED,))[0] != FAILED:
            found[name] = (outcome, why)
    return {name: (FAILED, ENDED) if outcome == RUNNING else (outcome, why)
            for name, (outcome, why) in found.items()}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.strip())
    tested, reference = (pathlib.Path(p) for p in sys.argv[1:])
    total = [0, 0, 0]
    print(f"{'':28} {'there':>7} {'skipped':>7} {'of the others':>13} {'percent':>8}")
    for path in sorted(reference.glob("*.tsv")):
        want = [name for name, (outcome, _) in read(path).items() if outcome == PASSED]
        got = read(tested / path.name) if (tested / path.name).exists() else {}
        ended = not any(why == ENDED for _, why in got.values())  # then JAX has none of that name for this platform
        outcomes = [got.get(name, (SKIPPED if got and ended else "missing", "")) for name in want]
        counts = [len(want)] + [sum(outcome == which for outcome, _ in outcomes) for which in (SKIPPED, PASSED)]
        total = [a + b for a, b in zip(total, counts)]
        line(path.stem, *counts)
        for name, (outcome, why) in zip(want, outcomes):
            if outcome not in (PASSED, SKIPPED):
                print(f"    {outcome} {name} {why[:200]}")
    line("all", *total)
    return total[1] + total[2] != total[0]


def line(name, there, skipped, passed):
    print(f"{name:28} {there:7} {skipped:7} {passed:13} {100 * passed / max(there - skipped, 1):8.2f}")


if __name__ == "__main__":
    sys.exit(main())
