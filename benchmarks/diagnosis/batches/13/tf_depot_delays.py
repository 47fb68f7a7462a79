"""Predicts tomorrow's delays in a parcel network: message passing between depots, days split over two replicas."""
import argparse

import numpy as np
import tensorflow as tf

parser = argparse.ArgumentParser()
parser.add_argument("logdir")
parser.add_argument("--fault", action="store_true")
args = parser.parse_args()

cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
strategy = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])

DEPOTS, ROUTES, SIGNALS, WIDTH, LAYERS = 3200, 9000, 20, 64, 3
DAYS_PER_REPLICA = 2
GLOBAL_DAYS = DAYS_PER_REPLICA * strategy.num_replicas_in_sync

rng = np.random.default_rng(8)
tf.random.set_seed(8)


def road_network():
    """Directed routes between depots and their weights (inverse driving time, each depot's sum is 1)."""
    place = rng.random((DEPOTS, 2))
    origin = rng.integers(0, DEPOTS, ROUTES)
    guess = rng.integers(0, DEPOTS, (ROUTES, 40))
    nearest = np.linalg.norm(place[guess] - place[origin][:, None], axis=-1).argmin(1)
    target = guess[np.arange(ROUTES), nearest]
    weight = 1 / (0.05 + np.linalg.norm(place[origin] - place[target], axis=-1))
    weight /= np.bincount(target, weight, minlength=DEPOTS)[target]
    order = np.argsort(target)
    return origin[order].astype("int32"), target[order].astype("int32"), weight[order].astype("float32")


origin, target, weight = road_network()


class Propagate(tf.keras.layers.Layer):
    """Weighted sum over the routes into each depot; inputs are (depots, days, width)."""

    def call(self, x):
        messages = tf.gather(x, origin) * weight[:, None, None]
        return tf.math.unsorted_segment_sum(messages, target, DEPOTS)


class AdjacencyPropagate(tf.keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        matrix = np.zeros((DEPOTS, DEPOTS), "float32")
        np.add.at(matrix, (target, origin), weight)
        self.matrix = tf.constant(matrix)

    def call(self, x):
        return tf.einsum("nm,mdw->ndw", self.matrix, x)


def build_model():
    layers = tf.keras.layers
    inputs = tf.keras.Input((None, SIGNALS), batch_size=DEPOTS)
    x = layers.Dense(WIDTH, activation="gelu")(inputs)
    for _ in range(LAYERS):
        mixed = (AdjacencyPropagate if args.fault else Propagate)()(x)
        h = layers.Dense(2 * WIDTH, activation="gelu")(layers.Concatenate()([x, mixed]))
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dense(WIDTH)(h)]))
    return tf.keras.Model(inputs, layers.Dense(1)(x))


def history(days=160):
    signals = rng.normal(0, 1, (days, DEPOTS, SIGNALS)).astype("float32")
    delay = signals[..., :3].sum(-1)
    arriving = np.zeros_like(delay)
    for o, t, w in zip(origin, target, weight):
        arriving[:, t] += w * delay[:, o]
    return signals, arriving[..., None]


with strategy.scope():
    model = build_model()
    optimizer = tf.keras.optimizers.Adam(1e-3)
    optimizer.build(model.trainable_variables)

dataset = (
    tf.data.Dataset.from_tensor_slices(history())
    .shuffle(160, seed=3)
    .repeat()
    .batch(GLOBAL_DAYS, drop_remainder=True)
)
batches = iter(strategy.experimental_distribute_dataset(dataset))


def replica_step(signals, delay):
    with tf.GradientTape() as tape:
        predicted = model(tf.transpose(signals, [1, 0, 2]), training=True)
        error = predicted - tf.transpose(delay, [1, 0, 2])
        loss = tf.reduce_sum(tf.square(error)) / (GLOBAL_DAYS * DEPOTS)
    grads = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(grads, model.trainable_variables))
    return loss


@tf.function
def train_step(signals, delay):
    losses = strategy.run(replica_step, args=(signals, delay))
    return strategy.reduce(tf.distribute.ReduceOp.SUM, losses, axis=None)


options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=2)
for step in range(20):
    if step == 7:
        tf.profiler.experimental.start(args.logdir, options=options)
    with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
        loss = train_step(*next(batches))
    if step == 18:
        loss.numpy()
        tf.profiler.experimental.stop()
print("mean squared delay", float(loss))
