import os
import time

import keras
import numpy as np
import tensorflow as tf

SIZE, PEOPLE, PEOPLE_PER_BATCH, IMAGES_PER_PERSON, BATCH, EMBEDDING, ALPHA = 24, 200, 16, 8, 60, 64, 0.2


class Faces:
    def __init__(self, seed=0):
        self.rng = np.random.default_rng(seed)
        coarse = self.rng.normal(size=(PEOPLE, 6, 6))
        self.templates = coarse.repeat(SIZE // 6, 1).repeat(SIZE // 6, 2).astype("float32")

    def sample_people(self):
        people = self.rng.choice(PEOPLE, PEOPLE_PER_BATCH, replace=False)
        num_per_class = self.rng.integers(IMAGES_PER_PERSON - 2, IMAGES_PER_PERSON + 1, PEOPLE_PER_BATCH)
        images = []
        for person in np.repeat(people, num_per_class):
            shifted = np.roll(self.templates[person], self.rng.integers(-2, 3, 2), (0, 1))
            images.append(shifted + self.rng.normal(0, 0.8, (SIZE, SIZE)))
        return np.array(images, "float32")[..., None], num_per_class


def dist(emb1, emb2):
    x = np.square(np.subtract(emb1, emb2))
    return np.sum(x, 0)


def select_triplets(embeddings, num_per_class, alpha):
    triplets, emb_start_idx, nrof_random_negs = [], 0, 0
    nrof_images = embeddings.shape[0]
    for n in num_per_class:
        of_person = range(emb_start_idx, emb_start_idx + n)
        others = [k for k in range(nrof_images) if k not in of_person]
        a_idx = emb_start_idx
        for p_idx in of_person[1:]:
            pos_dist = dist(embeddings[a_idx], embeddings[p_idx])
            sel_neg_idx = others[np.random.randint(len(others))]
            sel_neg_dist, random_neg = dist(embeddings[a_idx], embeddings[sel_neg_idx]), True
            for k in others:
                neg_dist = dist(embeddings[a_idx], embeddings[k])
                if pos_dist < neg_dist < sel_neg_dist and neg_dist - pos_dist < alpha:
                    sel_neg_dist, sel_neg_idx, random_neg = neg_dist, k, False
            nrof_random_negs += random_neg
            triplets.append((a_idx, p_idx, sel_neg_idx))
        emb_start_idx += n
    return np.random.permutation(triplets), nrof_random_negs


keras.utils.set_random_seed(0)
conv = lambda filters: keras.layers.Conv2D(filters, 3, 2, padding="same", activation="relu")
layers = [keras.Input((SIZE, SIZE, 1)), conv(16), conv(32), keras.layers.Flatten(), keras.layers.Dense(EMBEDDING)]
network = keras.Sequential(layers + [keras.layers.UnitNormalization()])
optimizer, faces = keras.optimizers.Adagrad(0.02), Faces()
embed = tf.function(lambda images: network(images), reduce_retracing=True)


@tf.function(reduce_retracing=True)
def train(images):
    with tf.GradientTape() as tape:
        anchor, positive, negative = tf.unstack(tf.reshape(network(images), [-1, 3, EMBEDDING]), 3, 1)
        pos_dist = tf.reduce_sum(tf.square(anchor - positive), 1)
        neg_dist = tf.reduce_sum(tf.square(anchor - negative), 1)
        loss = tf.reduce_mean(tf.maximum(pos_dist - neg_dist + ALPHA, 0.0))
    optimizer.apply(tape.gradient(loss, network.trainable_variables), network.trainable_variables)
    return loss


for batch_number in range(int(os.environ.get("STEPS", 200))):
    images, num_per_class = faces.sample_people()
    embeddings, start = embed(images).numpy(), time.time()
    triplets, nrof_random_negs = select_triplets(embeddings, num_per_class, ALPHA)
    selection_time, chosen = time.time() - start, images[triplets.ravel()]
    err = [float(train(chosen[i : i + BATCH])) for i in range(0, len(chosen), BATCH)]
    if batch_number % 25 == 0:
        print(f"{batch_number} random negatives {nrof_random_negs} of {len(triplets)}:", end=" ")
        print(f"selection {selection_time:.3f} s, loss {np.mean(err):.3f}", flush=True)
