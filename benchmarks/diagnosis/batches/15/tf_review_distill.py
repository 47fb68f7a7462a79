"""Distil a wide review classifier into a small one; keras.Model subclass and fit()."""
import argparse
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import keras
import numpy as np
import tensorflow as tf

VOCAB, LENGTH, CLASSES, BATCH = 4000, 40, 5, 32
STEPS = 10


def make_reviews(n, seed=5):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, n)
    x = rng.zipf(1.3, size=(n, LENGTH)) % VOCAB
    for i in range(n):
        k = rng.integers(4, 9)
        x[i, :k] = 50 + y[i] * 20 + rng.integers(0, 20, k)
    return x.astype(np.int32), y.astype(np.int32)


@keras.saving.register_keras_serializable()
class TokenTable(keras.layers.Layer):
    """Token table that is shared with the output side in the language-model setup."""

    def __init__(self, vocab, dim, lookup="rows", **kw):
        super().__init__(**kw)
        self.vocab, self.dim, self.lookup = vocab, dim, lookup

    def build(self, shape):
        self.table = self.add_weight(
            shape=(self.vocab, self.dim), initializer="uniform", name="table"
        )

    def call(self, ids):
        if self.lookup == "rows":
            return tf.gather(self.table, ids)
        return tf.tensordot(tf.one_hot(ids, self.vocab), self.table, axes=1)


def encoder(dim, hidden, name, lookup):
    inp = keras.Input((LENGTH,), dtype="int32")
    h = TokenTable(VOCAB, dim, lookup)(inp)
    h = keras.layers.Conv1D(hidden, 5, padding="same", activation="relu")(h)
    h = keras.layers.Conv1D(hidden, 3, padding="same", activation="relu")(h)
    h = keras.layers.GlobalMaxPooling1D()(h)
    h = keras.layers.Dense(hidden, activation="relu")(h)
    return keras.Model(inp, keras.layers.Dense(CLASSES)(h), name=name)


class Distiller(keras.Model):
    def __init__(self, teacher, student, temperature=3.0, alpha=0.3):
        super().__init__()
        self.teacher, self.student = teacher, student
        self.teacher.trainable = False
        self.temperature, self.alpha = temperature, alpha
        self.loss_tracker = keras.metrics.Mean(name="loss")
        self.acc = keras.metrics.SparseCategoricalAccuracy(name="acc")

    def call(self, x, training=False):
        return self.student(x, training=training)

    def train_step(self, data):
        x, y = data
        soft = tf.nn.softmax(self.teacher(x, training=False) / self.temperature)
        with tf.GradientTape() as tape:
            logits = self.student(x, training=True)
            hard = tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits)
            kd = tf.nn.softmax_cross_entropy_with_logits(soft, logits / self.temperature)
            loss = tf.reduce_mean(self.alpha * hard + (1 - self.alpha) * kd)
        tvars = self.student.trainable_variables
        self.optimizer.apply(tape.gradient(loss, tvars), tvars)
        self.loss_tracker.update_state(loss)
        self.acc.update_state(y, logits)
        return {"loss": self.loss_tracker.result(), "acc": self.acc.result()}

    @property
    def metrics(self):
        return [self.loss_tracker, self.acc]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()
    keras.utils.set_random_seed(1)
    x, y = make_reviews(2048)
    lookup = "matmul" if args.fault else "rows"
    teacher = encoder(64, 128, "teacher", "rows")
    student = encoder(32, 48, "student", lookup)
    model = Distiller(teacher, student)
    model.compile(optimizer=keras.optimizers.SGD(0.05, momentum=0.9))
    ds = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(2048, seed=4)
    ds = ds.batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    first = 10
    board = keras.callbacks.TensorBoard(
        args.logdir, write_graph=False, update_freq="epoch",
        profile_batch=(first, first + STEPS - 1),
    )
    hist = model.fit(
        ds, epochs=1, steps_per_epoch=first + STEPS + 3, callbacks=[board], verbose=0
    )
    print("last loss %.4f acc %.3f" % (hist.history["loss"][-1], hist.history["acc"][-1]))


if __name__ == "__main__":
    main()
