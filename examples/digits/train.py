"""Trains a small convolutional network on the UCI digits and exports it as StableHLO.

Writes next to itself what `hilo run` needs, so that the demo works without Python:

    digits.mlir              (six weights, images f32[N,8,8,1] in 0..1) -> logits f32[N,10]
    digits_weights.npz       the weights, in the order of the program's arguments
    digits_test_images.npy   the N images that were held back
    digits_test_labels.npy   what they show, i32[N]

The same versions on the same machine give the same bytes.
"""

import pathlib
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from sklearn.datasets import load_digits

HERE = pathlib.Path(__file__).parent
EPOCHS = 100
BATCH = 64
RATE = 3e-3  # at the start; falls to zero along a cosine


class Weights(NamedTuple):
    """What is learnt, in the order of the program's arguments."""

    conv1_kernel: jax.Array
    conv1_bias: jax.Array
    conv2_kernel: jax.Array
    conv2_bias: jax.Array
    dense_kernel: jax.Array
    dense_bias: jax.Array


def load_data():
    """Images f32[n,8,8,1] in 0..1 and labels: those to learn from, then those to test on.

    The last fifth of every class is held back: a fixed split, with no chance in it.
    """
    digits = load_digits()
    images = (digits.images / 16).astype(np.float32)[..., None]
    labels = digits.target.astype(np.int32)
    held_back = np.zeros(len(labels), bool)
    for digit in range(10):
        members = np.flatnonzero(labels == digit)
        held_back[members[-(len(members) // 5):]] = True
    return (images[~held_back], labels[~held_back]), (images[held_back], labels[held_back])


def init(key):
    """Fresh weights: He's initialisation."""
    weights = []
    for shape in (3, 3, 1, 16), (3, 3, 16, 32), (4 * 4 * 32, 10):
        key, subkey = jax.random.split(key)
        weights.append(np.sqrt(2 / np.prod(shape[:-1])) * jax.random.normal(subkey, shape))
        weights.append(jnp.zeros(shape[-1]))
    return Weights(*weights)


def conv(x, kernel, bias):
    layout = ("NHWC", "HWIO", "NHWC")
    y = lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=layout)
    return jax.nn.relu(y + bias)


def classify(conv1_kernel, conv1_bias, conv2_kernel, conv2_bias, dense_kernel, dense_bias, images):
    """Logits f32[N,10] of images f32[N,8,8,1]."""
    x = conv(images, conv1_kernel, conv1_bias)
    x = conv(x, conv2_kernel, conv2_bias)
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    return x.reshape(x.shape[0], -1) @ dense_kernel + dense_bias


def shift(key, images):
    """The images, each moved by up to one pixel in either direction."""
    padded = jnp.pad(images, ((0, 0), (1, 1), (1, 1), (0, 0)))
    offsets = jax.random.randint(key, (len(images), 2), 0, 3)

    def crop(image, offset):
        return lax.dynamic_slice(image, (*offset, 0), (8, 8, 1))

    return jax.vmap(crop)(padded, offsets)


def train(weights, images, labels, key):
    """Adam on the cross entropy; a tenth of every label is spread over all classes."""
    steps = EPOCHS * (len(images) // BATCH)

    def loss(weights, images, labels):
        log_p = jax.nn.log_softmax(classify(*weights, images))
        return -(log_p * (0.9 * jax.nn.one_hot(labels, 10) + 0.1 / 10)).sum(axis=1).mean()

    @jax.jit
    def update(weights, m, v, step, batch, key):
        x, y = shift(key, images[batch]), labels[batch]
        g = jax.grad(loss)(weights, x, y)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, v, g)
        rate = RATE * (1 + jnp.cos(jnp.pi * step / steps)) / 2
        rate *= jnp.sqrt(1 - 0.999 ** (step + 1)) / (1 - 0.9 ** (step + 1))
        weights = jax.tree.map(lambda w, m, v: w - rate * m / (jnp.sqrt(v) + 1e-8), weights, m, v)
        return weights, m, v

    images, labels = jnp.asarray(images), jnp.asarray(labels)
    m = v = jax.tree.map(jnp.zeros_like, weights)
    step = 0
    for _ in range(EPOCHS):
        key, order_key = jax.random.split(key)
        order = jax.random.permutation(order_key, len(images))
        for start in range(0, len(images) - BATCH + 1, BATCH):
            key, shift_key = jax.random.split(key)
            weights, m, v = update(weights, m, v, step, order[start:start + BATCH], shift_key)
            step += 1
    return weights


def export(weights, images):
    """StableHLO text of classify for weights and images of these shapes."""
    shapes = [jax.ShapeDtypeStruct(x.shape, x.dtype) for x in (*weights, images)]
    return jax.jit(classify).lower(*shapes).as_text()


def main():
    jax.config.update("jax_platforms", "cpu")
    (images, labels), (test_images, test_labels) = load_data()
    init_key, train_key = jax.random.split(jax.random.key(0))
    weights = train(init(init_key), images, labels, train_key)
    right = np.argmax(jax.jit(classify)(*weights, test_images), axis=1) == test_labels
    print(f"{sum(w.size for w in weights):,} parameters, {len(labels)} images learnt from")
    print(f"{right.sum()} of {len(right)} test images right: {100 * right.mean():.2f} %")

    (HERE / "digits.mlir").write_text(export(weights, test_images))
    np.savez(HERE / "digits_weights.npz", **jax.tree.map(np.asarray, weights)._asdict())
    np.save(HERE / "digits_test_images.npy", test_images)
    np.save(HERE / "digits_test_labels.npy", test_labels)


if __name__ == "__main__":
    main()
