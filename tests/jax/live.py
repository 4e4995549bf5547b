#!/usr/bin/env python3
"""Three processes of JAX, of which one ends without a word: with jax_enable_recoverability the others find out which devices are left,
and go on with these.

usage: live.py PJRT_HILO.SO
"""
import ctypes.util
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


def main():
    if not ctypes.util.find_library("ucp"):
        common.skip("processes", "no libucp (Debian: libucx0)")
        common.end()
    site = root / "build/jax-site/jax_plugins"
    site.mkdir(parents=True, exist_ok=True)
    (site / "hilo.py").write_text("from jax_hilo import initialize  # noqa: F401\n")
    env = dict(os.environ, JAX_PLATFORMS="hilo", HILO_PJRT_PLUGIN=os.path.abspath(sys.argv[1]), HILO_NUM_DEVICES="1",
               PYTHONPATH=f"{site.parent}:{root / 'python'}", PYTHONDONTWRITEBYTECODE="1")
    with socket.socket() as s:
        s.bind(("localhost", 0))
        port = str(s.getsockname()[1])
    logs = [tempfile.TemporaryFile("w+") for _ in range(NODES)]
    members = [subprocess.Popen([sys.executable, __file__, "--member", str(i), port], env=env, stdin=subprocess.PIPE, stdout=logs[i],
                                stderr=subprocess.STDOUT) for i in range(NODES)]
    for i, process in reversed(list(enumerate(members))):
        process.stdin.close()
        try:
            process.wait(300)
        except subprocess.TimeoutExpired:
            process.kill()
        logs[i].seek(0)
        text = logs[i].read()
        sums = [tuple(map(int, line.split()[1:])) for line in text.splitlines() if line.startswith("sum ")]
        want = {(NODES, NODES)} if i == VICTIM else {(NODES, NODES), (NODES - 1, NODES - 1)}
        check(f"process {i}", process.returncode == 0 and set(sums) == want, f"{process.returncode}: {text[-2000:]}")
    common.end()


if sys.argv[1] == "--member":
    member(int(sys.argv[2]), sys.argv[3])
else:
    main()
