"""Recipes and ingredients: everything fits into memory, so each step draws its own rows inside the tf.function."""

import sys

import numpy as np
import tensorflow as tf

STEPS = 12
ROWS = 800_000
BATCH = 1024
RECIPES, INGREDIENTS, DIM = 5000, 3000, 128


class Pairs(tf.Module):
    def __init__(self):
        super().__init__()
        g = tf.random.Generator.from_seed(9)
        self.recipe = tf.Variable(g.normal([RECIPES, DIM], stddev=0.05), name="recipe")
        self.ingredient = tf.Variable(g.normal([INGREDIENTS, DIM], stddev=0.05), name="ingredient")
        self.w1 = tf.Variable(g.normal([2 * DIM, 512], stddev=0.05), name="w1")
        self.w2 = tf.Variable(g.normal([512, 256], stddev=0.05), name="w2")
        self.w3 = tf.Variable(g.normal([256, 1], stddev=0.05), name="w3")

    def __call__(self, recipe, ingredient):
        left = tf.gather(self.recipe, recipe)
        right = tf.gather(self.ingredient, ingredient)
        x = tf.nn.relu(tf.concat([left, right], 1) @ self.w1)
        x = tf.nn.relu(x @ self.w2)
        return (x @ self.w3)[:, 0]


def make_trainer(model, columns, shuffle_all):
    recipe, ingredient, fits = columns

    @tf.function
    def train_step():
        if shuffle_all:
            rows = tf.random.shuffle(tf.range(ROWS))[:BATCH]  # without replacement
        else:
            rows = tf.random.uniform([BATCH], maxval=ROWS, dtype=tf.int32)
        with tf.GradientTape() as tape:
            logits = model(tf.gather(recipe, rows), tf.gather(ingredient, rows))
            losses = tf.nn.sigmoid_cross_entropy_with_logits(tf.gather(fits, rows), logits)
            loss = tf.reduce_mean(losses)
        for variable, gradient in zip(model.trainable_variables, tape.gradient(loss, model.trainable_variables)):
            if isinstance(gradient, tf.IndexedSlices):
                variable.scatter_sub(tf.IndexedSlices(0.1 * gradient.values, gradient.indices))
            else:
                variable.assign_sub(0.1 * gradient)
        return loss

    return train_step


def main(logdir, faulty):
    tf.random.set_seed(4)
    rng = np.random.default_rng(4)
    columns = (
        tf.constant(rng.integers(0, RECIPES, ROWS), tf.int32),
        tf.constant(rng.integers(0, INGREDIENTS, ROWS), tf.int32),
        tf.constant(rng.integers(0, 2, ROWS), tf.float32),
    )
    train_step = make_trainer(Pairs(), columns, shuffle_all=faulty)
    for _ in range(5):
        train_step()
    tf.profiler.experimental.start(logdir)
    for step in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
            train_step()
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
