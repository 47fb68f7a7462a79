import collections
import os

import keras
import numpy as np
import tensorflow as tf

GRAPHS, BATCH, FEATURES = 8000, 32, 11
Graph = collections.namedtuple("Graph", ["x", "edges", "y"])


class Dataset:
    def __init__(self, graphs):
        self.graphs = graphs

    @property
    def signature(self):
        sizes = {name: set(getattr(graph, name).shape[-1] for graph in self.graphs) for name in Graph._fields}  # noqa: C401
        return {name: (None, size.pop() if len(size) == 1 else None) for name, size in sizes.items()}


class DisjointLoader:
    def __init__(self, dataset, seed):
        self.dataset, self.rng = dataset, np.random.default_rng(seed)

    def collate(self, graphs):
        packed = {name: [getattr(graph, name) for graph in graphs] for name in self.dataset.signature}
        nodes = [len(x) for x in packed["x"]]
        edges = np.concatenate([edges + start for edges, start in zip(packed["edges"], np.cumsum([0, *nodes]))])
        index = np.repeat(np.arange(len(graphs)), nodes)
        y = np.stack(packed["y"]) if "y" in self.dataset.signature else None
        return np.concatenate(packed["x"]), edges.astype("int32"), index.astype("int32"), y

    def __iter__(self):
        while True:
            order = self.rng.permutation(len(self.dataset.graphs))
            for start in range(0, len(order) - BATCH + 1, BATCH):
                yield self.collate([self.dataset.graphs[i] for i in order[start : start + BATCH]])


def molecules(rng):
    for _ in range(GRAPHS):
        atoms, bonds = rng.integers(9, 19), rng.integers(18, 37)
        x = rng.normal(size=(atoms, FEATURES)).astype("float32")
        yield Graph(x, rng.integers(0, atoms, (bonds, 2)), x[:, :1].sum(0))


keras.utils.set_random_seed(0)
layers = [keras.layers.Dense(32, activation="relu"), keras.layers.Dense(32, activation="relu"), keras.layers.Dense(1)]
optimizer = keras.optimizers.Adam(1e-3)
shapes = [([None, FEATURES], "float32"), ([None, 2], "int32"), ([None], "int32"), ([None, 1], "float32")]


@tf.function(input_signature=[tf.TensorSpec(*shape) for shape in shapes])
def train_step(x, edges, index, y):
    with tf.GradientTape() as tape:
        for layer in layers[:2]:
            received = tf.math.unsorted_segment_sum(tf.gather(x, edges[:, 0]), edges[:, 1], tf.shape(x)[0])
            x = layer(tf.concat([x, received], axis=1))
        loss = tf.reduce_mean((layers[2](tf.math.unsorted_segment_sum(x, index, BATCH)) - y) ** 2)
    variables = [variable for layer in layers for variable in layer.trainable_variables]
    optimizer.apply(tape.gradient(loss, variables), variables)
    return loss


loader = DisjointLoader(Dataset(list(molecules(np.random.default_rng(0)))), seed=1)
for step, batch in zip(range(int(os.environ.get("STEPS", 2500))), loader):
    loss = train_step(*batch)
    if step % 100 == 0:
        print(step, float(loss))
