"""Small DCGAN on procedurally drawn 32x32 sprites, with sample sheets for TensorBoard."""
import argparse
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
import numpy as np
import tensorflow as tf
from keras import layers, models, optimizers

SIZE, LATENT, BATCH = 32, 48, 32
WARMUP, STEPS = 6, 12


def draw_sprites(n, seed=0):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    out = np.full((n, SIZE, SIZE, 3), -1.0, np.float32)
    for i in range(n):
        cx, cy = rng.uniform(10, 22, 2)
        r = rng.uniform(4, 10)
        if rng.random() < 0.5:
            mask = (xx - cx) ** 2 + (yy - cy) ** 2 < r * r
        else:
            mask = (abs(xx - cx) < r) & (abs(yy - cy) < r * 0.7)
        out[i][mask] = rng.uniform(-0.2, 1.0, 3)
    return out


def generator():
    return models.Sequential([
        layers.Input((LATENT,)),
        layers.Dense(8 * 8 * 32), layers.LeakyReLU(0.2), layers.Reshape((8, 8, 32)),
        layers.Conv2DTranspose(32, 4, 2, "same"), layers.LeakyReLU(0.2),
        layers.Conv2DTranspose(16, 4, 2, "same"), layers.LeakyReLU(0.2),
        layers.Conv2D(3, 3, padding="same", activation="tanh"),
    ])


def critic():
    return models.Sequential([
        layers.Input((SIZE, SIZE, 3)),
        layers.Conv2D(16, 4, 2, "same"), layers.LeakyReLU(0.2),
        layers.Conv2D(32, 4, 2, "same"), layers.LeakyReLU(0.2),
        layers.Flatten(), layers.Dropout(0.2), layers.Dense(1),
    ])


class SpriteGAN:
    def __init__(self, writer, sheet_every):
        self.gen, self.dis = generator(), critic()
        self.g_opt = optimizers.Adam(2e-4, beta_1=0.5)
        self.d_opt = optimizers.Adam(2e-4, beta_1=0.5)
        self.writer, self.sheet_every = writer, sheet_every
        self.fixed = tf.random.stateless_normal((144, LATENT), (7, 7))

    @tf.function
    def update(self, real):
        z = tf.random.normal((tf.shape(real)[0], LATENT))
        with tf.GradientTape() as gt, tf.GradientTape() as dt:
            fake = self.gen(z, training=True)
            real_logit = self.dis(real, training=True)
            fake_logit = self.dis(fake, training=True)
            d_loss = tf.reduce_mean(tf.nn.softplus(-real_logit))
            d_loss += tf.reduce_mean(tf.nn.softplus(fake_logit))
            g_loss = tf.reduce_mean(tf.nn.softplus(-fake_logit))
        gv, dv = self.gen.trainable_variables, self.dis.trainable_variables
        self.g_opt.apply_gradients(zip(gt.gradient(g_loss, gv), gv))
        self.d_opt.apply_gradients(zip(dt.gradient(d_loss, dv), dv))
        return d_loss, g_loss

    @tf.function
    def sample(self):
        return self.gen(self.fixed, training=False)

    def sample_sheet(self):
        img = self.sample().numpy()
        img = ((img + 1) * 127.5).clip(0, 255).astype(np.uint8)
        img = img.reshape(12, 12, SIZE, SIZE, 3).transpose(0, 2, 1, 3, 4)
        return img.reshape(1, 12 * SIZE, 12 * SIZE, 3)

    def fit_batch(self, step, real):
        d_loss, g_loss = self.update(real)
        with self.writer.as_default(step=step):
            tf.summary.scalar("d_loss", d_loss)
            tf.summary.scalar("g_loss", g_loss)
            if step % self.sheet_every == 0:
                tf.summary.image("samples", self.sample_sheet())
        return d_loss, g_loss


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("logdir")
    ap.add_argument("--fault", action="store_true")
    args = ap.parse_args()
    tf.random.set_seed(11)
    data = tf.data.Dataset.from_tensor_slices(draw_sprites(1024))
    data = data.shuffle(1024, seed=2).repeat().batch(BATCH, drop_remainder=True)
    batches = iter(data.prefetch(2))
    with tempfile.TemporaryDirectory() as events:
        writer = tf.summary.create_file_writer(events)
        gan = SpriteGAN(writer, sheet_every=1 if args.fault else 200)
        for step in range(WARMUP):
            gan.fit_batch(step, next(batches))
        with tf.profiler.experimental.Profile(args.logdir):
            for step in range(WARMUP, WARMUP + STEPS):
                d_loss, g_loss = gan.fit_batch(step, next(batches))
        print(f"d_loss {float(d_loss):.4f} g_loss {float(g_loss):.4f}")
        writer.close()


if __name__ == "__main__":
    main()
