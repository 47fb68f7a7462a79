"""As starts_jax.py, by Keras' fit; with EAGER set, op by op."""

import hashlib
import os
import sys
import time

import keras
import numpy as np
import tensorflow as tf


class Slow(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.004)


def train(steps):
    keras.utils.set_random_seed(0)
    tf.config.experimental.enable_op_determinism()
    random = np.random.default_rng(0)
    x = random.random((512, 16), dtype=np.float32)
    model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
    model.compile("sgd", "mse", run_eagerly="EAGER" in os.environ)
    dataset = tf.data.Dataset.from_tensor_slices((x, x.sum(1))).shuffle(512, seed=1)
    dataset = dataset.repeat().batch(32)
    model.fit(dataset, steps_per_epoch=steps, verbose=0, callbacks=[Slow()])
    return b"".join(weight.tobytes() for weight in model.get_weights())


if __name__ == "__main__":
    print(hashlib.sha256(train(int(sys.argv[1]))).hexdigest())
    sys.exit(int(sys.argv[2]))
