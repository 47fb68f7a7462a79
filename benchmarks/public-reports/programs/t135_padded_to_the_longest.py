import os

import keras
import numpy as np

VOCAB, QUESTION, DIM, BATCH, INSTANCES, LONGEST = 2000, 8, 32, 16, 64, 160


class QuestionPassageInstance:
    """A question about a passage, the answer starts at one of its words."""

    def __init__(self, rng):
        length = int(np.clip(rng.lognormal(3.3, 0.6), 12, LONGEST))
        self.passage_indices = rng.integers(1, VOCAB, length).tolist()
        self.answer = int(rng.integers(1, length - QUESTION // 2))
        near = self.passage_indices[self.answer : self.answer + QUESTION // 2]
        words = near + rng.integers(1, VOCAB, int(rng.integers(1, QUESTION - len(near) + 1))).tolist()
        self.question_indices = rng.permutation(words).tolist()

    def get_lengths(self):
        return {"question": len(self.question_indices), "passage": len(self.passage_indices)}

    def pad(self, max_lengths):
        pad_to = lambda indices, length: indices + [0] * (length - len(indices))
        self.question_indices = pad_to(self.question_indices, max_lengths["question"])
        self.passage_indices = pad_to(self.passage_indices, max_lengths["passage"])


class Dataset:
    def __init__(self, instances):
        self.instances = instances

    def max_lengths(self):
        lengths = [instance.get_lengths() for instance in self.instances]
        return {name: max(length[name] for length in lengths) for name in lengths[0]}

    def as_training_data(self, max_lengths):
        for instance in self.instances:
            instance.pad(max_lengths)
        questions = np.array([instance.question_indices for instance in self.instances])
        passages = np.array([instance.passage_indices for instance in self.instances])
        return (questions, passages), np.array([instance.answer for instance in self.instances])


class MatrixAttention(keras.layers.Layer):
    def call(self, passage, question):
        scores = keras.ops.einsum("bpd,bqd->bpq", passage, question)
        attended = keras.ops.einsum("bpq,bqd->bpd", keras.ops.softmax(scores), question)
        return keras.ops.concatenate([passage, attended, passage * attended], -1)


def build_model():
    question, passage = keras.Input((None,), dtype="int32"), keras.Input((None,), dtype="int32")
    embedding = keras.layers.Embedding(VOCAB, DIM)
    encoder = keras.layers.Bidirectional(keras.layers.LSTM(DIM, return_sequences=True))
    merged = MatrixAttention()(encoder(embedding(passage)), encoder(embedding(question)))
    modeled = keras.layers.Bidirectional(keras.layers.LSTM(DIM, return_sequences=True))(merged)
    logits = keras.ops.squeeze(keras.layers.Dense(1)(modeled), -1)
    model = keras.Model([question, passage], logits)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(2e-3), loss, metrics=["accuracy"])
    return model


keras.utils.set_random_seed(0)
steps, rng = int(os.environ.get("STEPS", 120)), np.random.default_rng(0)
dataset = Dataset([QuestionPassageInstance(rng) for _ in range(min(INSTANCES, steps * BATCH))])
max_lengths = dataset.max_lengths()
print("padding to", max_lengths, flush=True)
inputs, answers = dataset.as_training_data(max_lengths)
model = build_model()
model.fit(list(inputs), answers, batch_size=BATCH, epochs=max(1, steps * BATCH // INSTANCES), verbose=2)
