"""What the tests of this folder share: the Python that runs them, and how they count. Imported before what may be missing.

They run in the environment of $HILO_PYTHON, in .venv, or in python3's, whichever is there first.
"""
import importlib
import os
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True
passed = failed = skipped = 0

for python in (os.environ.get("HILO_PYTHON"), root / ".venv/bin/python"):
    if python and os.path.exists(python) and "HILO_JAX_TEST" not in os.environ:
        os.environ["HILO_JAX_TEST"] = "1"
        os.execv(python, [str(python), *sys.argv])


def check(what, good, why="failed"):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print(f"{what}: {why}")


def skip(what, why):
    global skipped
    skipped += 1
    print(f"skipped: {what}: {why}")


def end():
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(failed > 0)


def need(*packages):
    """Skips everything where a package is not installed."""
    for package in packages:
        try:
            importlib.import_module(package)
        except ImportError as error:
            skip("everything", f"{error}; HILO_PYTHON names a Python that has it")
            end()
