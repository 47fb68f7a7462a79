"""Learns the calls for lifts as they arrive, hour by hour; Keras is given each hour by fit, or by train_on_batch."""

import sys

import numpy as np
import tensorflow as tf

HOURS, BATCH, FLOORS = 20, 256, 30
STEPS = 14


def main(logdir, faulty):
    model = tf.keras.Sequential(
        [
            tf.keras.Input([FLOORS, 16]),
            tf.keras.layers.Conv1D(64, 5, padding="same", activation="relu"),
            tf.keras.layers.Conv1D(64, 5, padding="same", activation="relu"),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(128, "relu"),
            tf.keras.layers.Dense(FLOORS),
        ]
    )
    model.compile(tf.keras.optimizers.Adam(1e-3), "mse", jit_compile=False)
    random = np.random.default_rng(74)
    states = random.random((HOURS, BATCH, FLOORS, 16), np.float32)
    calls = random.random((HOURS, BATCH, FLOORS), np.float32)
    for hour in range(6 + STEPS):
        if hour == 6:
            tf.profiler.experimental.start(logdir)
        if faulty:
            model.fit(states[hour], calls[hour], batch_size=BATCH, epochs=1, verbose=0)
        else:
            model.train_on_batch(states[hour], calls[hour])
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
