#!/usr/bin/env python3
"""Times all-reduces of two processes with a thread each: hilo, hilo under JAX, XLA's CPU with gloo under JAX, MPICH.

    bench/collectives.py [--hilo build/hilo] [--plugin build/pjrt_hilo.so] [--mpi PYTHON] [--rounds 3]

Prints the median of the calls of each round, in milliseconds; the peers take turns. --mpi names a Python that has mpi4py, with
mpiexec beside it (`pip install mpich mpi4py numpy`); without it MPICH is left out."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = {8: 2000, 65536: 500, 64 << 20: 10}  # bytes: calls
ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = """module @all_reduce attributes {{mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32}} {{
  func.func @main(%x: tensor<{n}xf32>) -> tensor<{n}xf32> {{
    %s = "stablehlo.all_reduce"(%x) ({{
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %t = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %t : tensor<f32>
    }}) {{replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>, use_global_device_ids,
        channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>}} : (tensor<{n}xf32>) -> tensor<{n}xf32>
    return %s : tensor<{n}xf32>
  }}
}}
"""


def timed(call, n):
    """The median time of a call, in milliseconds."""
    for _ in range(max(2, n // 20)):
        call()
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def member_mpi():
    import numpy as np
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    for size, n in SIZES.items():
        x = np.ones(size // 4, np.float32)
        y = np.empty_like(x)
        ms = timed(lambda: comm.Allreduce(x, y), n)
        if comm.rank == 0:
            print("time", size, ms, flush=True)


def member_jax(node, port):
    import jax

    jax.distributed.initialize(f"localhost:{port}", 2, node)
    import numpy as np
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    mesh = Mesh(np.array(jax.devices()), ("x",))
    for size, n in SIZES.items():
        x = jax.make_array_from_callback((2 * size // 4,), NamedSharding(mesh, P("x")), lambda _: np.ones(size // 4, np.float32))
        f = jax.jit(jax.shard_map(lambda v: jax.lax.psum(v, "x"), mesh=mesh, in_specs=P("x"), out_specs=P()))
        ms = timed(lambda: f(x).block_until_ready(), n)
        if node == 0:
            print("time", size, ms, flush=True)


def one_core(index):
    """For children: a core of its own, as all peers get."""
    cores = sorted(os.sched_getaffinity(0))
    return lambda: os.sched_setaffinity(0, {cores[index % len(cores)]})


def lines(text):
    """What a member has printed; others than it print to the same stream."""
    return {int(words[1]): float(words[2]) for words in map(str.split, text.splitlines()) if words[:1] == ["time"]}


def run_hilo(args):
    result = {}
    with tempfile.TemporaryDirectory() as directory:
        for size, n in SIZES.items():
            path = pathlib.Path(directory, "program.mlir")
            path.write_text(PROGRAM.format(n=size // 4))
            command = [args.hilo, "run", path, "--processes", "2", "--threads", "1", "--input", "random:1", "--timing", str(n),
                       "--json"]
            out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            result[size] = json.loads(out.splitlines()[0])["median_ms"]
    return result


def run_jax(args, platform):
    port = 20000 + os.getpid() % 20000 + (1 if platform == "cpu" else 0)
    env = dict(os.environ, JAX_PLATFORMS="hilo,cpu" if platform == "hilo" else "cpu", HILO_PJRT_PLUGIN=os.path.abspath(args.plugin),
               JAX_CPU_COLLECTIVES_IMPLEMENTATION="gloo")
    members = [subprocess.Popen([sys.executable, __file__, "--member", "jax", "--node", str(i), "--port", str(port)], text=True,
                                env=env, stdout=subprocess.PIPE, preexec_fn=one_core(i)) for i in range(2)]
    outs = [m.communicate(timeout=300)[0] for m in members]
    if any(m.returncode for m in members):
        raise SystemExit(f"{platform} under JAX failed")
    return lines(outs[0])


def run_mpi(args):
    mpiexec = pathlib.Path(args.mpi).parent / "mpiexec"
    command = [mpiexec, "-n", "2", "-bind-to", "core", args.mpi, __file__, "--member", "mpi"]
    return lines(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hilo", default=ROOT / "build/hilo")
    parser.add_argument("--plugin", default=ROOT / "build/pjrt_hilo.so")
    parser.add_argument("--mpi")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="hilo,hilo-jax,gloo-jax,mpich")
    parser.add_argument("--member", help=argparse.SUPPRESS)
    parser.add_argument("--node", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.member:
        return member_mpi() if args.member == "mpi" else member_jax(args.node, args.port)
    peers = {"hilo": run_hilo, "hilo-jax": lambda a: run_jax(a, "hilo"), "gloo-jax": lambda a: run_jax(a, "cpu"), "mpich": run_mpi}
    for i in range(args.rounds):
        for name in args.only.split(","):
            if name != "mpich" or args.mpi:
                times = peers[name](args)
                print(f"round {i + 1}  {name:9}" + "".join(f"  {size} B: {ms:.4f} ms" for size, ms in times.items()), flush=True)


if __name__ == "__main__":
    sys.exit(main())
