"""Next-stitch model for knitting charts (a causal transformer), with rows of three lengths kept in buckets."""
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

STITCHES = 48  # k, p, yo, k2tog, ssk, c4f, c4b ...; 0 is padding
EDGES = [64, 96, 128]
SIZES = [48, 32, 24]
WIDTH, HEADS, DEPTH = 96, 4, 3
AVERAGE = 0.995


def charts(n=1500):
    rng = np.random.default_rng(12)
    for _ in range(n):
        motif = rng.integers(1, STITCHES, rng.integers(4, 13))
        border = rng.integers(1, STITCHES, rng.integers(1, 5))
        length = int(rng.integers(40, 128))
        row = np.concatenate([border, np.resize(motif, length - 2 * len(border)), border[::-1]])
        slips = rng.random(len(row)) < 0.02
        row[slips] = rng.integers(1, STITCHES, slips.sum())
        yield row.astype(np.int32)


def dataset():
    rows = tf.ragged.constant([r.tolist() for r in charts()], dtype=tf.int32)
    data = tf.data.Dataset.from_tensor_slices(rows).map(lambda r: tf.ensure_shape(r, (None,))).cache()
    data = data.shuffle(1500, seed=12).repeat()
    data = data.bucket_by_sequence_length(
        element_length_func=tf.size,
        bucket_boundaries=[e + 1 for e in EDGES[:-1]] + [EDGES[-1] + 1],
        bucket_batch_sizes=[*SIZES, 1],
        pad_to_bucket_boundary=False,
        drop_remainder=True,
    )
    return data.prefetch(2)


class Block(layers.Layer):
    def __init__(self):
        super().__init__()
        self.norm_a, self.norm_b = layers.LayerNormalization(), layers.LayerNormalization()
        self.attend = layers.MultiHeadAttention(HEADS, WIDTH // HEADS, dropout=0.1)
        self.widen, self.narrow = layers.Dense(4 * WIDTH, activation="gelu"), layers.Dense(WIDTH)

    def call(self, x, training=False):
        y = self.norm_a(x)
        x = x + self.attend(y, y, use_causal_mask=True, training=training)
        return x + self.narrow(self.widen(self.norm_b(x)))


class ChartModel(keras.Model):
    def __init__(self):
        super().__init__()
        self.stitch = layers.Embedding(STITCHES, WIDTH)
        self.place = layers.Embedding(EDGES[-1], WIDTH)
        self.blocks = [Block() for _ in range(DEPTH)]
        self.norm = layers.LayerNormalization()
        self.head = layers.Dense(STITCHES)

    def call(self, rows, training=False):
        x = self.stitch(rows) + self.place(tf.range(tf.shape(rows)[1]))[None]
        for block in self.blocks:
            x = block(x, training=training)
        return self.head(self.norm(x))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(12)

    model = ChartModel()
    model(tf.zeros((1, 8), tf.int32))
    schedule = keras.optimizers.schedules.CosineDecay(0.0, 5000, warmup_target=1e-3, warmup_steps=200)
    optimizer = keras.optimizers.AdamW(schedule, weight_decay=0.01, global_clipnorm=1.0)
    optimizer.build(model.trainable_variables)
    averages = [tf.Variable(v, trainable=False) for v in model.trainable_variables]
    seen_loss = keras.metrics.Mean()

    @tf.function(input_signature=[tf.TensorSpec((None, None), tf.int32)])
    def train_step(rows):
        now, following = rows[:, :-1], rows[:, 1:]
        weight = tf.cast(following > 0, tf.float32)
        with tf.GradientTape() as tape:
            logits = model(now, training=True)
            each = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=following, logits=logits)
            loss = tf.reduce_sum(each * weight) / tf.reduce_sum(weight)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        for average, v in zip(averages, model.trainable_variables):
            average.assign_sub((1 - AVERAGE) * (average - v))
        seen_loss.update_state(loss)

    batches = iter(dataset())
    for _ in range(12):
        train_step(next(batches))

    tf.profiler.experimental.start(args.logdir)
    for step in range(12, 23):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step(next(batches))
    tf.profiler.experimental.stop()
    print(f"loss {float(seen_loss.result()):.3f}")


if __name__ == "__main__":
    main()
