import os

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

SIZE, BATCH, TIMESTEPS, DIFFUSION_STEPS, NUM_IMAGES = 16, 16, 200, 8, 8


class Unet(nn.Module):
    @nn.compact
    def __call__(self, x, t):
        angles = t[:, None] / TIMESTEPS * 2.0 ** jnp.arange(8)
        temb, skips = nn.Dense(48)(jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], -1)), []
        for features in (16, 32):
            x = nn.silu(nn.Conv(features, (3, 3))(x)) + nn.Dense(features)(temb)[:, None, None]
            skips.append(x)
            x = nn.avg_pool(x, (2, 2), (2, 2))
        for features in (32, 16):
            x = jax.image.resize(x, (len(x), 2 * x.shape[1], 2 * x.shape[2], x.shape[3]), "nearest")
            x = nn.silu(nn.Conv(features, (3, 3))(jnp.concatenate([x, skips.pop()], -1)))
        return nn.Conv(3, (3, 3))(x)


def get_rates(t):
    angle = (t / TIMESTEPS * 0.98 + 0.01) * jnp.pi / 2
    return jnp.cos(angle)[:, None, None, None], jnp.sin(angle)[:, None, None, None]


class DDIMSampler:
    def __init__(self, model):
        def sample_model(params, x_t, t):
            signal, noise = get_rates(t)
            eps = model.apply(params, x_t, t)
            return (x_t - noise * eps) / signal, eps

        self.sample_model = jax.jit(sample_model)

    def generate_images(self, params, key, num_images=NUM_IMAGES):
        @jax.jit
        def sample_model_fn(x_t, t):
            return self.sample_model(params, x_t, t)

        samples = jax.random.normal(key, (num_images, SIZE, SIZE, 3))
        steps = np.linspace(TIMESTEPS, 0, DIFFUSION_STEPS + 1)
        for current, following in zip(steps, steps[1:]):
            images, eps = sample_model_fn(samples, jnp.full(num_images, current))
            signal, noise = get_rates(jnp.full(num_images, following))
            samples = signal * jnp.clip(images, -1.0, 1.0) + noise * eps
        return jnp.clip(samples, -1.0, 1.0)


class DiffusionTrainer:
    def __init__(self, model, key):
        self.model, self.tx, self.sampler = model, optax.adam(1e-3), DDIMSampler(model)
        self.params = jax.jit(model.init)(key, jnp.zeros((1, SIZE, SIZE, 3)), jnp.zeros(1))
        self.opt_state, self.train_step = self.tx.init(self.params), jax.jit(self._train_step)

    def _train_step(self, params, opt_state, images, key):
        t_key, noise_key = jax.random.split(key)
        t, eps = jax.random.uniform(t_key, (len(images),), maxval=TIMESTEPS), jax.random.normal(noise_key, images.shape)
        signal, noise = get_rates(t)
        noisy = signal * images + noise * eps
        loss, grads = jax.value_and_grad(lambda p: jnp.mean((self.model.apply(p, noisy, t) - eps) ** 2))(params)
        updates, opt_state = self.tx.update(grads, opt_state)
        return optax.apply_updates(params, updates), opt_state, loss

    def fit(self, data, steps, key, validate_every=20):
        for step in range(steps):
            images = data[np.arange(step * BATCH, (step + 1) * BATCH) % len(data)]
            self.params, self.opt_state, loss = self.train_step(self.params, self.opt_state, images, jax.random.fold_in(key, step))
            if (step + 1) % validate_every == 0:
                samples = self.sampler.generate_images(self.params, jax.random.fold_in(key, step))
                print(step + 1, float(loss), float(samples.mean()), float(samples.std()), flush=True)


data = np.kron(np.random.default_rng(0).choice([-0.8, 0.8], size=(1024, 4, 4, 3)), np.ones((1, 4, 4, 1))).astype("float32")
DiffusionTrainer(Unet(), jax.random.key(0)).fit(data, int(os.environ.get("STEPS", 200)), jax.random.key(1))
