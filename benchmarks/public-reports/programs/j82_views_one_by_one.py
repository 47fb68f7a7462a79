import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

SIZE, BATCH, LATENT, HIDDEN = 48, 32, 64, 256


def random_contrast(key, image):
    factor = jax.random.uniform(key, (), minval=0.5, maxval=1.5)
    mean = image.mean(axis=(0, 1), keepdims=True)
    return jnp.clip((image - mean) * factor + mean, 0.0, 255.0)


def random_occlusion(key, image):
    keys = jax.random.split(key, 3)
    row, column = jax.random.randint(keys[0], (2,), 0, SIZE)
    rows, columns = jnp.mgrid[:SIZE, :SIZE]
    inside = (rows - row) ** 2 + (columns - column) ** 2 < jax.random.uniform(keys[1], (), maxval=100.0)
    return jnp.where(inside[..., None], jax.random.uniform(keys[2], (3,), maxval=255.0), image)


def randomize_rendered_image(key, view, mask, backgrounds):
    keys = jax.random.split(key, 3)
    background = backgrounds[jax.random.randint(keys[0], (), 0, len(backgrounds))]
    image = jnp.where(mask[..., None], view, background)
    return random_contrast(keys[2], random_occlusion(keys[1], image))


class TrainSequence:
    def __init__(self, views, masks, backgrounds, key):
        self.views, self.masks, self.backgrounds, self.key = views, masks, backgrounds, key

    def batch(self, sample_args):
        views, masks = self.views[sample_args % len(self.views)], self.masks[sample_args % len(self.views)]
        images = [self.randomize(arg, view, mask) for arg, view, mask in zip(sample_args, views, masks)]
        return np.stack(images), views.astype("float32") / 255.0

    def randomize(self, sample_arg, view, mask):
        key = jax.random.fold_in(self.key, sample_arg)
        image = randomize_rendered_image(key, view, mask, self.backgrounds)
        return np.asarray(image, "float32") / 255.0


def autoencode(params, images):
    x = images.reshape(len(images), -1)
    for weights in params[:-1]:
        x = jax.nn.relu(x @ weights)
    return jax.nn.sigmoid(x @ params[-1]).reshape(images.shape)


rng = np.random.default_rng(0)
rows, columns = np.mgrid[:SIZE, :SIZE]
angles = rng.uniform(0, np.pi, size=(512, 1, 1))
masks = np.abs((rows - 24) * np.cos(angles) + (columns - 24) * np.sin(angles)) < 8
views = (masks[..., None] * rng.integers(60, 255, size=(512, 1, 1, 3))).astype("uint8")
sequence = TrainSequence(views, masks, jnp.array(rng.integers(256, size=(64, SIZE, SIZE, 3)), jnp.float32), jax.random.key(0))
sizes = [SIZE * SIZE * 3, HIDDEN, LATENT, HIDDEN, SIZE * SIZE * 3]
params = [jnp.array(rng.normal(size=shape) / shape[0] ** 0.5, jnp.float32) for shape in zip(sizes, sizes[1:])]
tx = optax.adam(2e-4)
opt_state = tx.init(params)


@jax.jit
def train_step(params, opt_state, images, targets):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((autoencode(p, images) - targets) ** 2))(params)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


for step in range(int(os.environ.get("STEPS", 60))):
    images, targets = sequence.batch(np.arange(step * BATCH, (step + 1) * BATCH))
    params, opt_state, loss = train_step(params, opt_state, images, targets)
    if step % 10 == 0:
        print(step, float(loss), flush=True)
