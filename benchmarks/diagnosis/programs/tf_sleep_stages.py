"""Names stages of sleep with Keras fit; Dense layers are wrapped in TimeDistributed, or take all moments at once."""

import sys

import numpy as np
import tensorflow as tf

BATCH, MOMENTS, SENSORS, STAGES = 40, 60, 32, 5
STEPS = 14


def main(logdir, faulty):
    random = np.random.default_rng(91)
    nights = random.random((BATCH * 12, MOMENTS, SENSORS), np.float32)
    stages = random.integers(0, STAGES, (BATCH * 12, MOMENTS))
    dataset = tf.data.Dataset.from_tensor_slices((nights, stages)).shuffle(BATCH * 12).repeat().batch(BATCH).prefetch(2)

    layers = [tf.keras.layers.Dense(96, "relu"), tf.keras.layers.Dense(96, "relu"), tf.keras.layers.Dense(STAGES)]
    if faulty:
        layers = [tf.keras.layers.TimeDistributed(layer) for layer in layers]
    model = tf.keras.Sequential([tf.keras.Input([MOMENTS, SENSORS]), *layers])
    model.compile("sgd", tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True), jit_compile=False)
    profile = tf.keras.callbacks.TensorBoard(logdir, profile_batch=(7, 6 + STEPS), write_graph=False)
    model.fit(dataset, epochs=1, steps_per_epoch=8 + STEPS, verbose=0, callbacks=[profile])


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
