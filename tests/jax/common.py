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


def plugin_environment(plugin, **more):
    """Variables for a Python that has the plugin as an installed package would bring it: a module of the namespace jax_plugins."""
    site = root / "build/jax-site/jax_plugins"
    site.mkdir(parents=True, exist_ok=True)
    (site / "hilo.py").write_text("from jax_hilo import initialize  # noqa: F401\n")
    return dict(os.environ, HILO_PJRT_PLUGIN=os.path.abspath(plugin), PYTHONPATH=f"{site.parent}:{root / 'python'}",
                PYTHONDONTWRITEBYTECODE="1", **more)


def check(what, good, why="failed"):
    global passed, failed
    if good:
        passed += 1
    else:
        failed += 1
        print(f"{what}: {why}")


def near(got, want, rtol=None, added=1.0):
    """Whether each element is near: relative to itself, with an absolute floor for what cancels, 8 units of rounding of `added`, the
    sum of the magnitudes of what was added up, for each element or for all. rtol: 64 units of rounding by default. Integers, and
    infinities and NaNs, must be equal."""
    import numpy as np

    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return False
    if want.dtype.kind in "biu":
        return np.array_equal(got, want)
    widest = np.complex128 if "c" in (got.dtype.kind, want.dtype.kind) else np.float64
    units = [_rounding(x.dtype) for x in (got, want)]
    got, want = got.astype(widest), want.astype(widest)
    same = (got == want) | (np.isnan(got) & np.isnan(want))
    with np.errstate(invalid="ignore"):
        bound = (64 * max(units) if rtol is None else rtol) * np.abs(want) + 8 * max(units) * np.asarray(added)
        return bool(np.all(same | ((np.abs(got - want) <= bound) & np.isfinite(want))))


def _rounding(dtype):
    """The distance from 1 to the next number of a type; 0 for integers."""
    import numpy as np

    if dtype.kind in "fc":
        return float(np.finfo(dtype).eps)
    if dtype.kind in "biu":
        return 0.0
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype).eps)


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
