"""Records a TensorFlow CPU trace of a wanted size: a step of 300 small ops behind a
parallel map, 70 kB each.

python benchmarks/record_large.py OUT.xplane.pb STEPS
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path


def record(target: Path, steps: int) -> None:
    """Runs the steps under the profiler and keeps the trace. Needs TensorFlow."""
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import numpy as np
    import tensorflow as tf

    states = [tf.Variable(tf.ones([16, 16])) for _ in range(100)]

    @tf.function
    def train_step(x, y):  # type: ignore[no-untyped-def]
        for state in states:
            state.assign(tf.matmul(state, state) * 0.01 + x[:16, :16])
        return tf.reduce_sum(states[0])

    features = np.random.rand(4096, 32).astype("float32")
    labels = np.random.randint(0, 10, 4096)
    dataset = tf.data.Dataset.from_tensor_slices((features, labels)).repeat()
    dataset = (
        dataset.map(lambda x, y: (x * 2.0, y), num_parallel_calls=2)
        .batch(64)
        .prefetch(2)
    )
    batches = iter(dataset)
    train_step(*next(batches))
    with tempfile.TemporaryDirectory() as logdir:
        tf.profiler.experimental.start(logdir)
        for number in range(steps):
            with tf.profiler.experimental.Trace("train", step_num=number, _r=1):
                train_step(*next(batches))
        tf.profiler.experimental.stop()
        (trace,) = Path(logdir).rglob("*.xplane.pb")
        shutil.move(trace, target)


if __name__ == "__main__":
    record(Path(sys.argv[1]), int(sys.argv[2]))
    os._exit(0)  # TensorFlow's own clean-up hangs now and then
