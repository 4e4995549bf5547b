#!/usr/bin/env python3
"""jnp.linalg on hilo_gpu, on a stand-in for NVIDIA's driver: factors, solves and their gradients, by stand-ins for its libraries, which
count them, and without libraries by the host. Needs JAX.

usage: gpu_linalg.py PJRT_HILO.SO LIBCUDA.SO.1
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import common
from common import check, near, root

common.need("jax")
GPU = "--gpu"  # in a process of its own, whose libraries report what they were asked for when it ends


def on_gpu(backend):
    """Results against NumPy and definitions, gradients against those on hilo's processor, in f64."""
    sys.path.insert(0, str(root / "python"))
    import jax
    import jax.numpy as jnp
    import jax_hilo
    import numpy as np

    jax_hilo.initialize()
    jax.config.update("jax_enable_x64", True)
    cpu = jax.devices("hilo")[0]
    rng = np.random.default_rng(1)

    def run(f, *args):
        return jax.jit(f, compiler_options={"hilo_backend": backend})(*args)

    def h(a):
        return jnp.conj(jnp.swapaxes(a, -1, -2))

    def is_close(what, a, b, added=100):
        check(f"{backend} {what}", near(a, b, added=added))

    def random(shape, kind):
        a = rng.normal(size=shape)
        return jnp.asarray(a + 1j * rng.normal(size=shape) if np.issubdtype(kind, np.complexfloating) else a, kind)

    for shape in (2, 5, 3), (2, 3, 5), (2, 4, 4):
        for kind in np.float32, np.complex64:
            what, a, k = f"{shape} {kind.__name__}", random(shape, kind), min(shape[1:])
            lu, _, order = run(jax.lax.linalg.lu, a)
            lower = jnp.tril(lu[..., :k], -1) + jnp.eye(shape[1], k, dtype=kind)
            is_close(f"lu {what}", lower @ jnp.triu(lu[:, :k]), jnp.take_along_axis(a, order[..., None], axis=1))
            for full in False, True:
                q, r = run(lambda a: jnp.linalg.qr(a, mode="complete" if full else "reduced"), a)
                u, s, v = run(lambda a: jnp.linalg.svd(a, full_matrices=full), a)
                is_close(f"qr {what}", q @ r, a)
                is_close(f"svd {what}", (u[..., :k] * s[:, None]) @ v[:, :k], a)
                is_close(f"singular values {what}", s, np.linalg.svd(np.asarray(a), compute_uv=False))
                for m in q, u, v:
                    is_close(f"columns {what}", h(m) @ m if m.shape[-2] >= m.shape[-1] else m @ h(m),
                             jnp.broadcast_to(jnp.eye(min(m.shape[1:]), dtype=kind), (2,) + 2 * (min(m.shape[1:]),)))
            b = a @ h(a)
            w, v = run(jnp.linalg.eigh, b)
            is_close(f"eigh {what}", (v * w[:, None]) @ h(v), b)
            is_close(f"eigenvalues {what}", w, np.linalg.eigvalsh(np.asarray(b)))
            b += 3 * jnp.eye(shape[1], dtype=kind)
            factor = run(jnp.linalg.cholesky, b)
            is_close(f"cholesky {what}", factor @ h(factor), b)
            is_close(f"solve {what}", b @ run(jnp.linalg.solve, b, a), a)

    a, x = random((4, 4), np.float64), random((4, 2), np.float64)

    def positive(a):
        return a @ a.T + 5 * jnp.eye(4)

    for name, f in (("cholesky", lambda a: jnp.linalg.cholesky(positive(a))), ("solve", lambda a: jnp.linalg.solve(a, x)),
                    ("cho_solve", lambda a: jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(positive(a)), x)),
                    ("inv", jnp.linalg.inv), ("det", jnp.linalg.det), ("slogdet", lambda a: jnp.linalg.slogdet(a)[1]),
                    ("lu", lambda a: jax.scipy.linalg.lu(a)[2]), ("lstsq", lambda a: jnp.linalg.lstsq(a[:, :3], x)[0]),
                    ("qr", lambda a: abs(jnp.linalg.qr(a[:, :3])[1])), ("eigvalsh", lambda a: jnp.linalg.eigvalsh(positive(a))),
                    ("eigh", lambda a: jnp.square(jnp.linalg.eigh(positive(a))[1])),
                    ("svd", lambda a: jnp.linalg.svd(a, compute_uv=False)), ("pinv", lambda a: jnp.linalg.pinv(a[:, :3]))):
        both = jax.value_and_grad(lambda a: jnp.sum(jnp.sin(f(a))))
        for which, got, want in zip(("", " gradient"), run(both, a), jax.jit(both)(jax.device_put(a, cpu))):
            is_close(name + which, got, jax.device_get(want), 1e5)
    check(f"{backend} not positive definite", np.isnan(run(jnp.linalg.cholesky, -positive(a))).any())
    common.end()


if sys.argv[1] == GPU:
    on_gpu(sys.argv[2])
plugin, driver = (os.path.abspath(path) for path in sys.argv[1:3])
libraries = os.path.dirname(driver)
with tempfile.TemporaryDirectory() as folder:
    env = dict(os.environ, HILO_PJRT_PLUGIN=plugin, HILO_CUDA_PATH=driver, JAX_PLATFORMS="hilo_gpu,hilo", HILO_CACHE_DIR="",
               HILO_FAKE_CUDA_REPORT=f"{folder}/CUDA", HILO_FAKE_CUSOLVER_REPORT=f"{folder}/CUSOLVER",
               HILO_FAKE_CUBLAS_REPORT=f"{folder}/CUBLAS")
    for name in "CUBLASLT", "CUDNN", "CUFFT", "CUSOLVER", "CUBLAS":
        env[f"HILO_{name}_PATH"] = libraries
    for backend in "library", "codegen":
        done = subprocess.run([sys.executable, __file__, GPU, backend], env=env, capture_output=True, text=True)
        check(backend, done.returncode == 0, done.stdout + done.stderr[-2000:])
        said = {path.name: path.read_text() for path in pathlib.Path(folder).iterdir()}
        counts = dict(zip(("factors", "lu", "qr", "reflectors", "eigenvalues", "values"),
                          map(int, filter(str.isdigit, said.get("CUSOLVER", "").split()))))
        check(f"{backend}: cuSOLVER {said}", all(counts.values()) if backend == "library" else not counts)
        check(f"{backend}: nothing is left over {said}", " leaks 0 " in said.get("CUDA", ""))
        for name in said:
            os.remove(f"{folder}/{name}")
common.end()
