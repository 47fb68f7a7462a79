"""Two workers train a dense network together; the first of them may also make a report in Python after each step."""

import json
import os
import sys

import numpy as np
import tensorflow as tf

BATCH = 6144
STEPS = 14


def main(logdir, faulty, peers, rank):
    os.environ["TF_CONFIG"] = json.dumps({"cluster": {"worker": peers}, "task": {"type": "worker", "index": rank}})
    tf.config.threading.set_intra_op_parallelism_threads(1)
    strategy = tf.distribute.MultiWorkerMirroredStrategy()
    random = np.random.default_rng(25)
    with strategy.scope():
        shapes = ((200, 384), (384, 384), (384, 4))
        weights = [tf.Variable(random.normal(0, 0.05, shape).astype("float32")) for shape in shapes]

    def of_replica(features, labels):
        with tf.GradientTape() as tape:
            hidden = features
            for layer in weights[:-1]:
                hidden = tf.nn.relu(hidden @ layer)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, hidden @ weights[-1]))
        gradients = tape.gradient(loss, weights)
        gradients = tf.distribute.get_replica_context().all_reduce("mean", gradients)
        for layer, gradient in zip(weights, gradients, strict=True):
            layer.assign_sub(0.01 * gradient)
        return loss

    @tf.function
    def train_step(features, labels):
        return strategy.run(of_replica, args=(features, labels))

    def batches_of_worker(context):
        own = np.random.default_rng(context.input_pipeline_id)
        data = own.random((BATCH, 200), np.float32), own.integers(0, 4, BATCH)
        return tf.data.Dataset.from_tensor_slices(data).batch(BATCH).cache().repeat().prefetch(2)

    def report(number):
        lines = [
            f"{number} {index} {float(value):.4f}" for index, value in enumerate(weights[0].numpy().ravel()[:40_000])
        ]
        return hash("\n".join(lines))

    batches = iter(strategy.distribute_datasets_from_function(batches_of_worker))
    for _ in range(6):
        train_step(*next(batches))
    tf.profiler.experimental.start(logdir)
    for number in range(STEPS):
        with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
            train_step(*next(batches))
            if faulty and rank == 0:
                report(number)
    tf.profiler.experimental.stop()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv, sys.argv[2].split(","), int(sys.argv[3]))
