"""Predicts energies of molecules; a sum over pairs of atoms is computed by a Python function inside the step, or not."""

import sys

import numpy as np
import tensorflow as tf

BATCH, ATOMS = 64, 20
STEPS = 15


def repulsion_by_python(positions):
    energies = []
    for molecule in positions.numpy():
        apart = np.linalg.norm(molecule[:, None] - molecule[None], axis=2) + np.eye(ATOMS)
        energies.append(np.sum(1 / apart**2) - ATOMS)
    return np.array(energies, np.float32)


def repulsion_by_tensorflow(positions):
    apart = tf.norm(positions[:, :, None] - positions[:, None] + 1e-6, axis=3) + tf.eye(ATOMS)
    return tf.reduce_sum(1 / apart**2, axis=[1, 2]) - ATOMS


def main(logdir, faulty):
    random = np.random.default_rng(24)
    shapes = ((ATOMS * 3, 640), (640, 640), (640, 1))
    weights = [tf.Variable(random.normal(0, 0.05, shape).astype("float32")) for shape in shapes]

    @tf.function
    def train_step(positions, energy):
        if faulty:
            repulsion = tf.py_function(repulsion_by_python, [positions], tf.float32)
            repulsion.set_shape([BATCH])
        else:
            repulsion = repulsion_by_tensorflow(positions)
        with tf.GradientTape() as tape:
            hidden = tf.reshape(positions, [BATCH, ATOMS * 3])
            for layer in weights[:-1]:
                hidden = tf.nn.silu(hidden @ layer)
            loss = tf.reduce_mean(tf.abs((hidden @ weights[-1])[:, 0] + 0.01 * repulsion - energy))
        for layer, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
            layer.assign_sub(1e-3 * gradient)
        return loss

    positions = random.normal(0, 2, (BATCH * 8, ATOMS, 3)).astype("float32")
    energy = random.normal(0, 1, BATCH * 8).astype("float32")
    dataset = tf.data.Dataset.from_tensor_slices((positions, energy)).batch(BATCH).cache().repeat().prefetch(2)
    batches = iter(dataset)
    for _ in range(8):
        train_step(*next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train_step(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
