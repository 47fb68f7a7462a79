import os

import numpy as np
import tensorflow as tf

NODES, RELATIONS, EDGES, DIM, BATCH_SIZE, TEST = 4000, 2, 200_000, 32, 4096, 4000


class KnowledgeGraph:
    def __init__(self, node_ids, edge_types, triples):
        self.node_ids, self.edge_types = np.array(node_ids, object), np.array(edge_types, object)
        self._node_index, self._type_index = ({name: i for i, name in enumerate(x)} for x in [node_ids, edge_types])
        out, into = {}, {}
        for source, relation, target in triples:
            out.setdefault((source, relation), []).append(target)
            into.setdefault((target, relation), []).append(source)
        self._out, self._in = ({key: np.array(x) for key, x in known.items()} for known in (out, into))

    def node_ids_to_ilocs(self, ids):
        return np.array([self._node_index[node] for node in ids], int)

    def out_nodes(self, node, edge_type):
        ilocs = self._out.get((self._node_index[node], self._type_index[edge_type]), [])
        return list(self.node_ids[ilocs])

    def in_nodes(self, node, edge_type):
        ilocs = self._in.get((self._node_index[node], self._type_index[edge_type]), [])
        return list(self.node_ids[ilocs])


class DistMult:
    def __init__(self):
        uniform = lambda rows: tf.Variable(tf.random.uniform((rows, DIM), -0.5, 0.5))
        self.nodes, self.relations = uniform(NODES), uniform(RELATIONS)

    @tf.function
    def train_step(self, triples):
        with tf.GradientTape() as tape:
            s, r, o = (tf.gather(x, triples[:, i]) for i, x in enumerate([self.nodes, self.relations, self.nodes]))
            scores = tf.concat([tf.reduce_sum(s * r * o, 1), tf.reduce_sum(s * r * tf.roll(o, 1, 0), 1)], 0)
            labels = tf.concat([tf.ones(BATCH_SIZE), tf.zeros(BATCH_SIZE)], 0)
            loss = tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels, scores))
        for variable, gradient in zip([self.nodes, self.relations], tape.gradient(loss, [self.nodes, self.relations])):
            variable.scatter_sub(tf.IndexedSlices(0.03 * gradient.values, gradient.indices))
        return loss / BATCH_SIZE

    @tf.function
    def scores_against_all(self, unmodified, relation):
        return tf.matmul(self.nodes, tf.gather(self.nodes, unmodified) * tf.gather(self.relations, relation), False, True)

    def rank_edges_against_all_nodes(self, triples, graph):
        ranks = []
        for i in range(0, len(triples), 500):
            s, r, o = triples[i : i + 500].T
            ranks += [self.ranks(s, r, o, graph, graph.out_nodes), self.ranks(o, r, s, graph, graph.in_nodes)]
        return np.concatenate(ranks)

    def ranks(self, unmodified_ilocs, rel_ilocs, true_ilocs, graph, neigh_func):
        scores = self.scores_against_all(unmodified_ilocs, rel_ilocs).numpy()
        greater = scores > scores[true_ilocs, np.arange(len(true_ilocs))]
        unmodified_nodes, true_rels = graph.node_ids[unmodified_ilocs], graph.edge_types[rel_ilocs]
        neighbours, columns = [], []
        for column, (unmodified, relation) in enumerate(zip(unmodified_nodes, true_rels)):
            found = neigh_func(unmodified, relation)
            neighbours.extend(found)
            columns.extend(column for _ in found)
        greater[graph.node_ids_to_ilocs(neighbours), columns] = False
        return 1 + greater.sum(0)


rng, model = np.random.default_rng(0), DistMult()
popular = lambda size: (NODES * rng.random(size) ** 3).astype(int)
triples = np.unique(np.stack([popular(EDGES), rng.integers(0, RELATIONS, EDGES), popular(EDGES)], 1), axis=0)
graph = KnowledgeGraph([f"/m/{i:06x}" for i in range(NODES)], [f"/rel/{i}" for i in range(RELATIONS)], triples.tolist())
test, train = np.split(rng.permutation(triples), [TEST])
for epoch in range(int(os.environ.get("STEPS", 30))):
    order = rng.permutation(len(train))[: len(train) // BATCH_SIZE * BATCH_SIZE].reshape(-1, BATCH_SIZE)
    losses = [model.train_step(train[batch]) for batch in order]
    ranks = model.rank_edges_against_all_nodes(test, graph)
    print(f"epoch {epoch} loss {float(losses[-1]):.3f} mrr {np.mean(1 / ranks):.4f}", flush=True)
