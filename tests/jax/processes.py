#!/usr/bin/env python3
"""Several processes of JAX. With jax_enable_recoverability they go on with the devices that are left when one of them ends without a
word. The example that trains on any number of processes and devices computes the same bits on one with four as on two with two, and
goes on from the checkpoint that others have written.

usage: processes.py PJRT_HILO.SO
"""
import ctypes.util
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile

import common
from common import check, root

NODES, VICTIM, STEPS = 3, 2, 120


def member(node, port):
    import time

    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental.multihost_utils import live_devices
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    jax.config.update("jax_enable_recoverability", True)
    jax.distributed.initialize(f"localhost:{port}", NODES, node, heartbeat_timeout_seconds=20)
    for _ in range(STEPS):
        try:
            with live_devices(jax.devices()) as devices:
                mesh = Mesh(np.array(devices), ("x",))
                ones = jax.make_array_from_callback((len(devices),), NamedSharding(mesh, P("x")), lambda _: np.ones(1, np.float32))
                total = jax.jit(jnp.sum, out_shardings=NamedSharding(mesh, P()))(ones)
                print("sum", len(devices), int(total.addressable_data(0)), flush=True)
        except Exception as error:  # the devices that were lost during the step
            print("lost", type(error).__name__, flush=True)
            continue
        if node == VICTIM or len(devices) < NODES:
            break
        time.sleep(0.5)
    if node == 0:  # whose end ends the others
        sys.stdin.read()
    os._exit(0)  # none waits for the others as JAX does


def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return str(s.getsockname()[1])


def run(commands, devices, **more):
    """The status and what each of these scripts says, with so many devices each. The input of the last ends first."""
    env = common.plugin_environment(sys.argv[1], JAX_PLATFORMS="hilo,cpu", HILO_NUM_DEVICES=str(devices), **more)
    logs = [tempfile.TemporaryFile("w+") for _ in commands]
    started = [subprocess.Popen([sys.executable, *map(str, command)], env=env, stdin=subprocess.PIPE, stdout=log,
                                stderr=subprocess.STDOUT) for command, log in zip(commands, logs)]
    for process in reversed(started):
        process.stdin.close()
        try:
            process.wait(300)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    for log in logs:
        log.seek(0)
    return [(process.returncode, log.read()) for process, log in zip(started, logs)]


def test_recoverability():
    port = free_port()
    for i, (status, text) in enumerate(run([[__file__, "--member", i, port] for i in range(NODES)], 1)):
        sums = {tuple(map(int, line.split()[1:])) for line in text.splitlines() if line.startswith("sum ")}
        want = {(NODES, NODES)} if i == VICTIM else {(NODES, NODES), (NODES - 1, NODES - 1)}
        check(f"process {i}", status == 0 and sums == want, f"{status}: {text[-2000:]}")


def losses(processes, devices, directory):
    port, script = free_port(), root / "examples/jax/distributed.py"
    commands = [[script, f"localhost:{port}", processes, i] for i in range(processes)] if processes > 1 else [[script]]
    done = run(commands, devices, CHECKPOINT=directory)
    check(f"distributed.py, {processes} × {devices}", all(status == 0 for status, _ in done), "".join(text[-2000:] for _, text in done))
    return [line for line in done[0][1].splitlines() if line.startswith("step ")]


def test_checkpoints():
    with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as two:
        want = losses(1, 4, one) + losses(1, 4, one)
        got = losses(2, 2, two) + losses(1, 4, two)
        check("steps after a checkpoint", len(want) == 10 and got == want, f"{got}, not {want}")


if sys.argv[1] == "--member":
    member(int(sys.argv[2]), sys.argv[3])
else:
    common.need("jax")
    if not ctypes.util.find_library("ucp"):
        common.skip("processes", "no libucp (Debian: libucx0)")
        common.end()
    test_recoverability()
    if importlib.util.find_spec("orbax"):
        test_checkpoints()
    else:
        common.skip("checkpoints", "Python has no orbax")
    common.end()
