"""Trains a small transformer: the batch is divided over one axis of the mesh, the weights of each layer over the other. It runs
on any number of processes and devices: start it once, or once for each process with

JAX_PLATFORMS=hilo,cpu HILO_NUM_DEVICES=2 python examples/jax/distributed.py COORDINATOR:PORT PROCESSES NUMBER

or without arguments where Slurm, Open MPI or Kubernetes say who the process is, and DISTRIBUTED=1 is set. With CHECKPOINT=DIRECTORY,
which all processes share, weights are saved there after each step by orbax (pip install orbax-checkpoint), and another run, of any
number of processes and devices, goes on from the last step."""

import os
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec as P

if len(sys.argv) == 4:
    jax.distributed.initialize(sys.argv[1], num_processes=int(sys.argv[2]), process_id=int(sys.argv[3]))
elif os.environ.get("DISTRIBUTED"):
    jax.distributed.initialize()

LAYERS, WIDTH, HEADS, LENGTH, WORDS, BATCH, STEPS = 2, 32, 4, 16, 64, 8, 5
devices = jax.device_count()
tensor = 2 if devices % 2 == 0 else 1
mesh = jax.make_mesh((devices // tensor, tensor), ("data", "tensor"), axis_types=(jax.sharding.AxisType.Auto,) * 2)

# Of a layer: what computes heads and hidden units is divided by columns, what reads them by rows.
LAYER = {"qkv": ((WIDTH, 3, HEADS, WIDTH // HEADS), P(None, None, "tensor", None)), "out": ((WIDTH, WIDTH), P("tensor", None)),
         "up": ((WIDTH, 4 * WIDTH), P(None, "tensor")), "down": ((4 * WIDTH, WIDTH), P("tensor", None))}


def array(value, spec):
    return jax.make_array_from_callback(value.shape, NamedSharding(mesh, spec), lambda index: value[index])


def weights():
    random = np.random.default_rng(0)
    normal = lambda shape: (random.normal(size=shape) * 0.1).astype(np.float32)
    layers = [{name: array(normal(shape), spec) for name, (shape, spec) in LAYER.items()} for _ in range(LAYERS)]
    return {"embedding": array(normal((WORDS, WIDTH)), P()), "layers": layers}


def normalise(x):
    return (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def attention(layer, x):
    q, k, v = jnp.einsum("blw,wchd->cbhld", x, layer["qkv"])
    scores = jnp.einsum("bhld,bhmd->bhlm", q, k) / np.sqrt(WIDTH // HEADS)
    scores = jnp.where(np.tri(LENGTH, dtype=bool), scores, -1e9)
    y = jnp.einsum("bhlm,bhmd->blhd", jax.nn.softmax(scores), v)
    return y.reshape(x.shape) @ layer["out"]


def loss(model, words):
    x = model["embedding"][words]
    for layer in model["layers"]:
        x = x + attention(layer, normalise(x))
        x = x + jax.nn.gelu(normalise(x) @ layer["up"]) @ layer["down"]
    logits = normalise(x) @ model["embedding"].T
    picked = jnp.take_along_axis(jax.nn.log_softmax(logits[:, :-1]), words[:, 1:, None], -1)
    return -picked.mean()


@jax.jit
def step(model, words):
    value, gradient = jax.value_and_grad(loss)(model, words)
    return value, jax.tree.map(lambda w, g: w - 0.5 * g, model, gradient)


model, first, manager = weights(), 0, None
if "CHECKPOINT" in os.environ:
    import orbax.checkpoint as ocp

    manager = ocp.CheckpointManager(os.path.abspath(os.environ["CHECKPOINT"]), options=ocp.CheckpointManagerOptions(max_to_keep=2))
    last = manager.latest_step()
    if last is not None:
        model, first = manager.restore(last, args=ocp.args.StandardRestore(model)), last + 1
words = array(np.random.default_rng(1).integers(0, WORDS, (BATCH, LENGTH)).astype(np.int32), P("data"))
for i in range(first, first + STEPS):
    value, model = step(model, words)
    if jax.process_index() == 0:
        print(f"step {i}: loss {float(value):.6f}", flush=True)
    if manager:
        manager.save(i, args=ocp.args.StandardSave(model))
if manager:
    manager.close()
