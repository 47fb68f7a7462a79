"""Recommends by 160 tags, each with an embedding of its own from a list comprehension, or all in one table."""

import sys

import numpy as np
import tensorflow as tf

TAGS, SIZE, WIDTH, BATCH = 160, 50, 8, 128
STEPS = 12


class Tagged(tf.keras.Model):
    """Embeds every tag and scores the concatenation."""

    def __init__(self, faulty):
        super().__init__()
        self.faulty = faulty
        if faulty:
            self.tables = [tf.keras.layers.Embedding(SIZE, WIDTH) for _ in range(TAGS)]
        else:
            self.table = tf.keras.layers.Embedding(TAGS * SIZE, WIDTH)
        self.hidden = tf.keras.layers.Dense(64, "relu")
        self.last = tf.keras.layers.Dense(1)

    def call(self, tags):
        if self.faulty:
            found = tf.concat([table(tags[:, index]) for index, table in enumerate(self.tables)], axis=1)
        else:
            found = tf.reshape(self.table(tags + SIZE * tf.range(TAGS)), [-1, TAGS * WIDTH])
        return self.last(self.hidden(found))


def main(logdir, faulty):
    random = np.random.default_rng(62)
    tags = random.integers(0, SIZE, (BATCH * 8, TAGS)).astype("int32")
    liked = random.random((BATCH * 8, 1), np.float32)
    dataset = tf.data.Dataset.from_tensor_slices((tags, liked)).batch(BATCH).cache().repeat().prefetch(2)
    model = Tagged(faulty)
    model.compile(tf.keras.optimizers.SGD(0.1), "mse", jit_compile=False)
    batches = iter(dataset)
    for step in range(6 + STEPS):
        if step == 6:
            tf.profiler.experimental.start(logdir)
        model.train_on_batch(*next(batches))
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
