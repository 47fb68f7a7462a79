"""WGAN-GP that draws mel spectrograms of drum one-shots."""
import argparse

import keras
import numpy as np
import tensorflow as tf
from keras import layers

MELS, FRAMES, LATENT, BATCH, CRITIC_STEPS = 32, 32, 64, 32, 2
WARMUP, RECORDED = 8, 10


def make_hits(rng, count):
    """Kick, snare and hat like decays on a mel grid."""
    mel = np.linspace(0, 1, MELS)[None, :, None]
    time = np.linspace(0, 1, FRAMES)[None, None, :]
    centre = rng.choice([0.1, 0.45, 0.85], (count, 1, 1)) + rng.normal(0, 0.04, (count, 1, 1))
    width = rng.uniform(0.05, 0.3, (count, 1, 1))
    decay = rng.uniform(2, 12, (count, 1, 1))
    hits = np.exp(-(((mel - centre) / width) ** 2)) * np.exp(-decay * time)
    hits = hits * 2 - 1 + rng.normal(0, 0.02, hits.shape)
    return hits[..., None].astype(np.float32)


def make_generator():
    return keras.Sequential(
        [
            keras.Input((LATENT,)),
            layers.Dense(4 * 4 * 96),
            layers.LeakyReLU(0.2),
            layers.Reshape((4, 4, 96)),
            layers.Conv2DTranspose(64, 4, 2, "same"),
            layers.LayerNormalization(),
            layers.LeakyReLU(0.2),
            layers.Conv2DTranspose(48, 4, 2, "same"),
            layers.LayerNormalization(),
            layers.LeakyReLU(0.2),
            layers.Conv2DTranspose(1, 4, 2, "same", activation="tanh"),
        ]
    )


def make_critic():
    return keras.Sequential(
        [
            keras.Input((MELS, FRAMES, 1)),
            layers.Conv2D(32, 5, 2, "same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(64, 5, 2, "same"),
            layers.LeakyReLU(0.2),
            layers.Conv2D(96, 3, 2, "same"),
            layers.LeakyReLU(0.2),
            layers.Flatten(),
            layers.Dense(1),
        ]
    )


class Trainer:
    def __init__(self):
        self.generator, self.critic = make_generator(), make_critic()
        self.g_opt = keras.optimizers.Adam(1e-4, beta_1=0.0, beta_2=0.9)
        self.c_opt = keras.optimizers.Adam(2e-4, beta_1=0.0, beta_2=0.9)
        self.g_opt.build(self.generator.trainable_variables)
        self.c_opt.build(self.critic.trainable_variables)

    def penalty(self, real, fake):
        mix = tf.random.uniform([BATCH, 1, 1, 1])
        point = mix * real + (1 - mix) * fake
        with tf.GradientTape() as tape:
            tape.watch(point)
            score = self.critic(point, training=True)
        slope = tape.gradient(score, point)
        norm = tf.sqrt(tf.reduce_sum(tf.square(slope), [1, 2, 3]) + 1e-8)
        return tf.reduce_mean(tf.square(norm - 1.0))

    @tf.function
    def step(self, reals):
        for i in range(CRITIC_STEPS):
            fake = self.generator(tf.random.normal([BATCH, LATENT]), training=True)
            with tf.GradientTape() as tape:
                both = self.critic(tf.concat([reals[i], fake], 0), training=True)
                real_score, fake_score = tf.split(both, 2)
                gap = tf.reduce_mean(fake_score) - tf.reduce_mean(real_score)
                c_loss = gap + 10.0 * self.penalty(reals[i], fake)
            variables = self.critic.trainable_variables
            self.c_opt.apply_gradients(zip(tape.gradient(c_loss, variables), variables))
        with tf.GradientTape() as tape:
            fake = self.generator(tf.random.normal([BATCH, LATENT]), training=True)
            g_loss = -tf.reduce_mean(self.critic(fake, training=True))
        variables = self.generator.trainable_variables
        self.g_opt.apply_gradients(zip(tape.gradient(g_loss, variables), variables))
        return gap, g_loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    args = parser.parse_args()
    keras.utils.set_random_seed(11)
    hits = make_hits(np.random.default_rng(0), 4000)
    ds = tf.data.Dataset.from_tensor_slices(hits).shuffle(4000).repeat()
    ds = ds.batch(BATCH, drop_remainder=True).batch(CRITIC_STEPS, drop_remainder=True)
    batches = iter(ds.prefetch(tf.data.AUTOTUNE))

    trainer = Trainer()
    gaps = []
    for _ in range(WARMUP):
        gap, _ = trainer.step(next(batches))
    print("critic gap", float(gap))

    tf.profiler.experimental.start(args.logdir)
    for _ in range(RECORDED):
        gap, g_loss = trainer.step(next(batches))
        gaps.append(gap)
    last = float(g_loss)
    tf.profiler.experimental.stop()
    print("critic gap", float(tf.reduce_mean(gaps)), "generator", last)


if __name__ == "__main__":
    main()
