"""Temporal convolutional network on hourly vital signs, six outcomes at once, each with its own set of metrics."""
import argparse

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

HOURS, SIGNS, BATCH = 72, 38, 64
OUTCOMES = ("sepsis", "shock", "ventilation", "dialysis", "transfer", "death")


def make_stays(count=1920):
    rng = np.random.default_rng(21)
    signs = rng.normal(size=(count, HOURS, SIGNS)).cumsum(axis=1).astype(np.float32) / 6
    risk = signs[:, -12:, : len(OUTCOMES)].mean(axis=1) - 1.0
    return signs, (rng.random(risk.shape) < 1 / (1 + np.exp(-risk))).astype(np.float32)


def make_model():
    inputs = keras.Input((HOURS, SIGNS))
    x = layers.Conv1D(128, 1)(inputs)
    for dilation in (1, 2, 4, 8, 16):
        y = layers.LayerNormalization()(x)
        y = layers.Conv1D(128, 3, padding="causal", dilation_rate=dilation, activation="gelu")(y)
        y = layers.SpatialDropout1D(0.1)(layers.Conv1D(128, 1)(y))
        x = layers.Add()([x, y])
    x = layers.Concatenate()([layers.GlobalAveragePooling1D()(x), x[:, -1]])
    return keras.Model(inputs, layers.Dense(len(OUTCOMES))(layers.Dense(128, activation="gelu")(x)))


class Scores:
    """Ranking and alarm quality of every outcome since the last reset."""

    def __init__(self):
        self.loss = keras.metrics.Mean()
        self.per_outcome = {
            name: [
                keras.metrics.AUC(num_thresholds=100, name=f"{name}_roc"),
                keras.metrics.AUC(num_thresholds=100, curve="PR", name=f"{name}_pr"),
                keras.metrics.Recall(0.3, name=f"{name}_recall"),
            ]
            for name in OUTCOMES
        }

    def update(self, loss, labels, probabilities):
        self.loss.update_state(loss)
        for i, metrics in enumerate(self.per_outcome.values()):
            for metric in metrics:
                metric.update_state(labels[:, i], probabilities[:, i])

    def report(self):
        values = {m.name: float(m.result()) for metrics in self.per_outcome.values() for m in metrics}
        return {"loss": float(self.loss.result()), **values}


class Trainer:
    def __init__(self, fault):
        self.model, self.scores, self.fault = make_model(), Scores(), fault
        self.optimizer = keras.optimizers.AdamW(1e-3, weight_decay=1e-4)
        self.loss_fn = keras.losses.BinaryFocalCrossentropy(from_logits=True)

    @tf.function
    def compiled_step(self, signs, labels):
        with tf.GradientTape() as tape:
            logits = self.model(signs, training=True)
            loss = self.loss_fn(labels, logits)
        variables = self.model.trainable_variables
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        probabilities = tf.sigmoid(logits)
        if not self.fault:
            self.scores.update(loss, labels, probabilities)
        return loss, probabilities

    def step(self, signs, labels):
        loss, probabilities = self.compiled_step(signs, labels)
        if self.fault:
            self.scores.update(loss, labels, probabilities)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    keras.utils.set_random_seed(4)
    trainer = Trainer(args.fault)
    dataset = (
        tf.data.Dataset.from_tensor_slices(make_stays())
        .shuffle(1920)
        .repeat()
        .batch(BATCH, drop_remainder=True)
        .prefetch(tf.data.AUTOTUNE)
    )
    batches = iter(dataset)
    for _ in range(8):
        trainer.step(*next(batches))

    options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2, python_tracer_level=0)
    tf.profiler.experimental.start(args.logdir, options=options)
    for number in range(10):
        with tf.profiler.experimental.Trace("step", step_num=number, _r=1):
            trainer.step(*next(batches))
    tf.profiler.experimental.stop()
    report = trainer.scores.report()
    print({name: round(report[name], 3) for name in ("loss", "sepsis_roc", "sepsis_pr", "death_recall")})


if __name__ == "__main__":
    main()
