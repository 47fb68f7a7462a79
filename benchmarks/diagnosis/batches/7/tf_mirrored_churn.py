"""Customer churn on two logical CPUs with MirroredStrategy and model.fit; the callback profiles its default batch."""

import sys

import keras
import numpy as np
import tensorflow as tf

STEPS = 1
PER_REPLICA = 2048
COLUMNS = 120


def logical_cpus(n):
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * n)
    return [f"/cpu:{i}" for i in range(n)]


def table(rows):
    rng = np.random.default_rng(21)
    x = rng.normal(size=(rows, COLUMNS)).astype("float32")
    w = rng.normal(size=COLUMNS)
    y = (x @ w + rng.normal(size=rows) > 0).astype("float32")
    return x, y


def build():
    model = keras.Sequential(
        [
            keras.Input((COLUMNS,)),
            keras.layers.Dense(512, activation="swish"),
            keras.layers.Dense(512, activation="swish"),
            keras.layers.Dense(256, activation="swish"),
            keras.layers.Dense(1, activation="sigmoid"),
        ]
    )
    model.compile(optimizer=keras.optimizers.SGD(0.02, momentum=0.9), loss="binary_crossentropy")
    return model


def main(logdir, faulty):
    del faulty
    strategy = tf.distribute.MirroredStrategy(logical_cpus(2))
    batch = PER_REPLICA * strategy.num_replicas_in_sync
    x, y = table(batch * 6)
    options = tf.data.Options()
    options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(batch, drop_remainder=True).cache().repeat()
    dataset = dataset.prefetch(tf.data.AUTOTUNE).with_options(options)
    with strategy.scope():
        model = build()
    model.fit(
        dataset,
        steps_per_epoch=12,
        epochs=1,
        verbose=0,
        callbacks=[keras.callbacks.TensorBoard(log_dir=logdir, profile_batch=2, write_graph=False)],
    )


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
