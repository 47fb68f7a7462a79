import os

import keras
import numpy as np

FEATURES, GENOTYPES = 70, 3


def small_model():
    keras.utils.set_random_seed(0)
    model = keras.Sequential(
        [
            keras.layers.Input((FEATURES,)),
            keras.layers.Dense(200, activation="relu"),
            keras.layers.Dense(100, activation="relu"),
            keras.layers.Dense(GENOTYPES, activation="softmax"),
        ]
    )
    return model


def classify(classifier, examples, batch_size):
    return classifier.predict(examples, batch_size=batch_size, verbose=0)


def candidates_in_region(rng):
    count = int(rng.integers(3, 60))
    depth = rng.poisson(30, size=count)
    reads = rng.random((count, 80)) < (depth / 80)[:, None]
    alternate = reads & (rng.random((count, 80)) < rng.choice([0.02, 0.5, 0.98], size=count)[:, None])
    quality = np.where(reads, rng.normal(35, 6, size=(count, 80)), 0)
    fraction = alternate.sum(1) / np.maximum(reads.sum(1), 1)
    columns = [fraction, reads.sum(1) / 60, quality.sum(1) / np.maximum(reads.sum(1), 1) / 60]
    neighbours = rng.random((count, FEATURES - len(columns)))
    return np.column_stack(columns + [neighbours]).astype("float32")


def genotype_quality(probabilities):
    wrong = np.clip(1 - probabilities.max(axis=1), 1e-9, 1)
    return -10 * np.log10(wrong)


def make_examples(regions):
    rng = np.random.default_rng(0)
    model = small_model()
    called, passed_on = 0, 0
    for region in range(regions):
        examples = candidates_in_region(rng)
        probabilities = classify(model, examples, batch_size=128)
        confident = genotype_quality(probabilities) > 2.5
        called += int(confident.sum())
        passed_on += int((~confident).sum())
        if region % 20 == 0:
            print(f"region {region}: {called} called, {passed_on} to the large model", flush=True)
    print(called, passed_on)


make_examples(int(os.environ.get("STEPS", 120)))
