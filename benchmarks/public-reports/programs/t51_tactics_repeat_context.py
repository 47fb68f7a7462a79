import os

import numpy as np
import tensorflow as tf

DEFINITIONS, HIDDEN, TACTICS, TOP = 4000, 64, 40, 12


def query_key_mul(queries, keys):
    numbers = keys.with_values(tf.range(tf.shape(keys.values)[0]))
    numbers = tf.gather(numbers, queries.value_rowids())
    key_values = tf.gather(keys.values, numbers.values)
    query_values = tf.gather(queries.values, numbers.value_rowids())
    products = tf.einsum("ij,ij->i", key_values, query_values)
    return numbers.with_values(products)


class ArgumentPredictor(tf.Module):
    def __init__(self):
        super().__init__()
        start = tf.random_normal_initializer(stddev=0.1, seed=1)
        self.definitions = tf.Variable(tf.math.l2_normalize(start((DEFINITIONS, HIDDEN)), axis=1))
        self.message = tf.Variable(start((HIDDEN, HIDDEN)))
        self.tactic_head = tf.Variable(start((HIDDEN, TACTICS)))
        self.tactic_table = tf.Variable(start((TACTICS, HIDDEN)))
        self.positions = tf.Variable(start((3, HIDDEN)))
        self.argument_head = tf.Variable(start((3 * HIDDEN, HIDDEN)))
        self.argument_count = tf.constant(np.random.default_rng(1).integers(1, 4, TACTICS))

    def encode(self, nodes, edges):
        hidden = nodes
        for _ in range(4):
            sent = tf.gather(hidden @ self.message, edges[:, 0])
            hidden = tf.nn.relu(hidden + tf.math.unsorted_segment_mean(sent, edges[:, 1], tf.shape(nodes)[0]))
        return tf.reduce_mean(hidden, axis=0, keepdims=True)

    def queries(self, state, tactics):
        counts = tf.gather(self.argument_count, tactics)
        which = tf.ragged.range(counts)
        chosen = tf.gather(tf.gather(self.tactic_table, tactics), which.value_rowids())
        place = tf.gather(self.positions, which.values)
        states = tf.repeat(state, tf.shape(place)[0], axis=0)
        hidden = tf.tanh(tf.concat([states, chosen, place], axis=1) @ self.argument_head)
        return which.with_values(tf.math.l2_normalize(hidden, axis=1))

    @tf.function(
        input_signature=[
            tf.TensorSpec((None, HIDDEN)),
            tf.TensorSpec((None, 2), tf.int64),
            tf.TensorSpec((None,), tf.int64),
        ]
    )
    def predict(self, nodes, edges, context):
        state = self.encode(nodes, edges)
        scores, tactics = tf.math.top_k(tf.nn.log_softmax(state @ self.tactic_head), TOP)
        queries = self.queries(state, tactics[0])
        embeddings = tf.gather(self.definitions, context)
        keys = tf.RaggedTensor.from_row_lengths(
            tf.tile(embeddings, [TOP, 1]), tf.repeat(tf.size(context, tf.int64), TOP)
        )
        logits = query_key_mul(queries, keys).to_tensor(-1e9)
        best, arguments = tf.math.top_k(tf.nn.log_softmax(8.0 * logits), 4)
        return tactics[0], arguments, tf.gather(scores[0], queries.value_rowids())[:, None] + best


def requests(rng, steps):
    for _ in range(steps):
        size = int(rng.integers(60, 300))
        nodes = rng.normal(size=(size, HIDDEN)).astype("float32")
        edges = rng.integers(0, size, size=(3 * size, 2))
        context = np.sort(rng.choice(DEFINITIONS, int(rng.integers(1200, 2600)), replace=False))
        yield nodes, edges, context


def serve(steps):
    tf.random.set_seed(0)
    predictor = ArgumentPredictor()
    answered = 0.0
    for step, (nodes, edges, context) in enumerate(requests(np.random.default_rng(0), steps)):
        tactics, arguments, scores = predictor.predict(nodes, edges, context)
        answered += float(scores[0, 0])
        if step % 100 == 0:
            print(step, int(tactics[0]), arguments[0].numpy(), answered / (step + 1), flush=True)
    print(answered)


serve(int(os.environ.get("STEPS", 1200)))
