"""Churn prediction on telecom accounts: wide & deep model over TFRecord shards."""
import argparse
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf

N_NUM, N_CAT, VOCAB, BATCH = 16, 6, 500, 512
WARMUP, STEPS = 8, 10


def write_shards(folder, shards=4, rows=2048, seed=3):
    rng = np.random.default_rng(seed)
    w = rng.normal(size=N_NUM)
    paths = []
    for s in range(shards):
        path = os.path.join(folder, f"accounts-{s:03d}.tfrecord")
        with tf.io.TFRecordWriter(path) as out:
            num = rng.normal(size=(rows, N_NUM)).astype(np.float32)
            cat = rng.integers(0, VOCAB, size=(rows, N_CAT))
            lab = (num @ w + 0.01 * cat[:, 0] + rng.normal(size=rows) > 2).astype(int)
            for i in range(rows):
                feats = {
                    f"num_{k}": tf.train.Feature(
                        float_list=tf.train.FloatList(value=[num[i, k]])
                    )
                    for k in range(N_NUM)
                }
                for k in range(N_CAT):
                    feats[f"cat_{k}"] = tf.train.Feature(
                        int64_list=tf.train.Int64List(value=[cat[i, k]])
                    )
                feats["churned"] = tf.train.Feature(
                    int64_list=tf.train.Int64List(value=[lab[i]])
                )
                ex = tf.train.Example(features=tf.train.Features(feature=feats))
                out.write(ex.SerializeToString())
        paths.append(path)
    return paths


SPEC = {f"num_{k}": tf.io.FixedLenFeature([], tf.float32) for k in range(N_NUM)}
SPEC |= {f"cat_{k}": tf.io.FixedLenFeature([], tf.int64) for k in range(N_CAT)}
SPEC["churned"] = tf.io.FixedLenFeature([], tf.int64)


def to_features(p):
    num = tf.stack([p[f"num_{k}"] for k in range(N_NUM)], axis=-1)
    num = tf.clip_by_value(num, -4.0, 4.0)
    cat = tf.stack([p[f"cat_{k}"] + k * VOCAB for k in range(N_CAT)], axis=-1)
    return (num, cat), tf.cast(p["churned"], tf.float32)


def parse_row(raw):
    return to_features(tf.io.parse_single_example(raw, SPEC))


def parse_batch(raw):
    return to_features(tf.io.parse_example(raw, SPEC))


def rows_dataset(paths):
    ds = tf.data.TFRecordDataset(paths).repeat().shuffle(4096, seed=1)
    return ds.map(parse_row).batch(BATCH, drop_remainder=True)


def blocks_dataset(paths):
    ds = tf.data.TFRecordDataset(paths).repeat().shuffle(4096, seed=1)
    ds = ds.batch(BATCH, drop_remainder=True)
    return ds.map(parse_batch, num_parallel_calls=2).prefetch(2)


def make_model():
    num = tf.keras.Input((N_NUM,))
    cat = tf.keras.Input((N_CAT,), dtype="int64")
    emb = tf.keras.layers.Embedding(N_CAT * VOCAB, 16)(cat)
    wide = tf.keras.layers.Flatten()(tf.keras.layers.Embedding(N_CAT * VOCAB, 1)(cat))
    deep = tf.keras.layers.Concatenate()([num, tf.keras.layers.Flatten()(emb)])
    for units in (384, 384, 128):
        deep = tf.keras.layers.Dense(units, activation="relu")(deep)
    out = tf.keras.layers.Dense(1)(tf.keras.layers.Concatenate()([deep, wide]))
    return tf.keras.Model([num, cat], out)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()
    tf.keras.utils.set_random_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        paths = write_shards(folder)
        ds = rows_dataset(paths) if args.fault else blocks_dataset(paths)
        model = make_model()
        opt = tf.keras.optimizers.Adam(1e-3)
        auc = tf.keras.metrics.AUC(from_logits=True)

        @tf.function
        def train_step(num, cat, y):
            with tf.GradientTape() as tape:
                logit = model([num, cat], training=True)[:, 0]
                ce = tf.nn.sigmoid_cross_entropy_with_logits(y, logit)
                loss = tf.reduce_mean(ce)
            grads = tape.gradient(loss, model.trainable_variables)
            opt.apply_gradients(zip(grads, model.trainable_variables))
            auc.update_state(y, logit)
            return loss

        it = iter(ds)
        for _ in range(WARMUP):
            (num, cat), y = next(it)
            loss = train_step(num, cat, y)
        tf.profiler.experimental.start(args.logdir)
        for step in range(STEPS):
            with tf.profiler.experimental.Trace("train", step_num=step, _r=1):
                (num, cat), y = next(it)
                loss = train_step(num, cat, y)
        tf.profiler.experimental.stop()
        print(f"last loss {float(loss):.4f}  auc {float(auc.result()):.4f}")


if __name__ == "__main__":
    main()
