import os

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()

FEATURES, HIDDEN, ROUNDS = 8, 16, 2


def make_graphs(count):
    """Road networks: nodes, edges, who sends and receives, and a time of travel for each edge."""
    rng = np.random.default_rng(0)
    graphs = []
    for _ in range(count):
        nodes = rng.integers(30, 60)
        edges = nodes * 3
        senders, receivers = rng.integers(0, nodes, (2, edges))
        node_values = rng.normal(size=(nodes, FEATURES)).astype("float32")
        edge_values = rng.normal(size=(edges, FEATURES)).astype("float32")
        times = np.abs(edge_values[:, 0] + node_values[senders, 1] - node_values[receivers, 2])
        graphs.append((node_values, edge_values, senders, receivers, times))
    return graphs


def mlp(x, size, scope):
    with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
        w1 = tf.get_variable("w1", (x.shape[-1], HIDDEN))
        w2 = tf.get_variable("w2", (HIDDEN, size))
    return tf.matmul(tf.nn.relu(tf.matmul(x, w1)), w2)


class EdgeBlock:
    def __call__(self, nodes, edges, senders, receivers, scope):
        sent = tf.gather(nodes, senders)
        received = tf.gather(nodes, receivers)
        return mlp(tf.concat([edges, sent, received], 1), FEATURES, scope)


class RoadNetwork:
    def __init__(self):
        self.edge_block = EdgeBlock()

    def __call__(self, nodes, edges, senders, receivers):
        for turn in range(ROUNDS):
            edges = self.edge_block(nodes, edges, senders, receivers, f"edge{turn}")
            gathered = tf.math.unsorted_segment_sum(edges, receivers, tf.shape(nodes)[0])
            nodes = nodes + mlp(tf.concat([nodes, gathered], 1), FEATURES, f"node{turn}")
        return mlp(edges, 1, "out")[:, 0]


def main(steps):
    tf.set_random_seed(0)
    graphs = make_graphs(50)
    model = RoadNetwork()
    model(*(tf.constant(part) for part in graphs[0][:4]))
    errors = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for step in range(steps):
            nodes, edges, senders, receivers, times = graphs[step % len(graphs)]
            predicted = model(tf.constant(nodes), tf.constant(edges), tf.constant(senders), tf.constant(receivers))
            error = tf.reduce_mean(tf.abs(predicted - times))
            errors.append(error.eval())
            if step % 20 == 0:
                print(f"graph {step}: mean error {np.mean(errors):.3f}", flush=True)


main(int(os.environ.get("STEPS", 140)))
