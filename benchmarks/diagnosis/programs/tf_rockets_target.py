"""Lands rockets by logged flights; the target network follows by get_weights and set_weights, or in the step."""

import sys

import numpy as np
import tensorflow as tf

BATCH, SENSES, MOVES = 192, 24, 6
TAU = 0.01
STEPS = 16


def network():
    senses = tf.keras.Input([SENSES])
    hidden = senses
    for width in (320, 320, 320, 320):
        hidden = tf.keras.layers.Dense(width, "relu")(hidden)
    return tf.keras.Model(senses, tf.keras.layers.Dense(MOVES)(hidden))


def main(logdir, faulty):
    online, target = network(), network()
    target.set_weights(online.get_weights())
    optimizer = tf.keras.optimizers.SGD(1e-3, momentum=0.9)
    optimizer.build(online.trainable_variables)

    @tf.function
    def train_step(before, moves, rewards, after):
        future = rewards + 0.99 * tf.reduce_max(target(after), axis=1)
        with tf.GradientTape() as tape:
            values = tf.gather(online(before, training=True), moves, axis=1, batch_dims=1)
            loss = tf.reduce_mean((future - values) ** 2)
        gradients = tape.gradient(loss, online.trainable_variables)
        optimizer.apply_gradients(zip(gradients, online.trainable_variables, strict=True))
        if not faulty:
            for slow, fast in zip(target.trainable_variables, online.trainable_variables, strict=True):
                slow.assign((1 - TAU) * slow + TAU * fast)
        return loss

    def follow():
        pairs = zip(target.get_weights(), online.get_weights(), strict=True)
        target.set_weights([(1 - TAU) * slow + TAU * fast for slow, fast in pairs])

    random = np.random.default_rng(73)
    flights = (
        random.random((BATCH * 12, SENSES), np.float32),
        random.integers(0, MOVES, BATCH * 12),
        random.random(BATCH * 12, np.float32),
        random.random((BATCH * 12, SENSES), np.float32),
    )
    dataset = tf.data.Dataset.from_tensor_slices(flights).shuffle(512).repeat().batch(BATCH).prefetch(4)
    logged = iter(dataset)
    for step in range(8 + STEPS):
        if step == 8:
            tf.profiler.experimental.start(logdir)
        with tf.profiler.experimental.Trace("learn", step_num=step, _r=1):
            train_step(*next(logged))
            if faulty:
                follow()
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
