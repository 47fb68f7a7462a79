import os

import keras
import numpy as np
import tensorflow as tf

CELLS, ASSAYS, POSITIONS = 9, 6, 30000
RADII, BATCH = [1, 3, 10, 30], 32


def make_genome():
    rng = np.random.default_rng(0)
    open_regions = np.repeat(rng.random((CELLS, POSITIONS // 20)) < 0.3, 20, axis=1)
    data, matrix = [], -np.ones((CELLS, ASSAYS), "int32")
    for cell in range(CELLS):
        for assay in range(ASSAYS):
            if assay == 0 or rng.random() < 0.7:
                matrix[cell, assay] = len(data)
                data.append((open_regions[cell] & (rng.random(POSITIONS) < 0.9 - 0.1 * assay)).astype("float32"))
    return np.array(data), matrix


def load_data(data, matrix, label_cells, eval_cells, radii, indices):
    """Records of features of all other cells and their similarity, and of the labels of one cell (-1 if missing)."""

    def g():
        for i in indices:
            for cell in label_cells:
                label_indices = matrix[cell]
                features, agreement, double_positive = [], [], []
                for other in eval_cells:
                    if other == cell:
                        continue
                    feature_indices = matrix[other]
                    features.append(np.where(feature_indices == -1, 0.0, data[feature_indices, i]))
                    for r, radius in enumerate(radii):
                        min_radius, max_radius = max(0, i - radius + 1), min(i + radius, data.shape[1])
                        if r != 0:
                            before = np.arange(min_radius, max(0, i - radii[r - 1] + 1))
                            after = np.arange(i + radii[r - 1], max_radius)
                            radius_range = np.concatenate([before, after])
                        else:
                            radius_range = np.arange(min_radius, max_radius)
                        this = data[label_indices[0], radius_range]
                        that = data[feature_indices[0], radius_range]
                        double_positive.append(np.average(this * that))
                        agreement.append(np.average(this == that))
                x = np.concatenate(features + [double_positive, agreement]).astype("float32")
                labels = np.where(label_indices[1:] == -1, -1.0, data[label_indices[1:], i])
                yield x, labels.astype("float32")

    return g


def masked_loss(y_true, y_pred):
    mask = tf.cast(y_true >= 0, tf.float32)
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.maximum(y_true, 0.0), logits=y_pred)
    return tf.reduce_sum(losses * mask) / (tf.reduce_sum(mask) + 1e-6)


def main(steps):
    keras.utils.set_random_seed(0)
    data, matrix = make_genome()
    indices = np.random.default_rng(1).integers(40, POSITIONS - 40, size=20000)
    g = load_data(data, matrix, list(range(4)), list(range(CELLS)), RADII, indices)
    size = (CELLS - 1) * (ASSAYS + 2 * len(RADII))
    signature = (tf.TensorSpec((size,), tf.float32), tf.TensorSpec((ASSAYS - 1,), tf.float32))
    dataset = tf.data.Dataset.from_generator(g, output_signature=signature)
    dataset = dataset.batch(BATCH).shuffle(10).repeat().prefetch(2)
    model = keras.Sequential([keras.layers.Input((size,)), keras.layers.Dense(100, activation="tanh")])
    model.add(keras.layers.Dense(50, activation="tanh"))
    model.add(keras.layers.Dense(ASSAYS - 1))
    model.compile(keras.optimizers.Adam(1e-3), masked_loss)
    model.fit(dataset, steps_per_epoch=max(1, steps // 10), epochs=10, verbose=2)


main(int(os.environ.get("STEPS", 250)))
