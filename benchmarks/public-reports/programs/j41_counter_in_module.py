import os

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

SIZE, SOURCES, BANDS = 48, 3, 5


class Source(eqx.Module):
    center: jax.Array
    log_radius: jax.Array
    spectrum: jax.Array

    def render(self, smoothing):
        y, x = jnp.mgrid[:SIZE, :SIZE]
        distance = (y - self.center[0]) ** 2 + (x - self.center[1]) ** 2
        width = jnp.exp(self.log_radius) ** 2 + smoothing
        return jnp.exp(self.spectrum)[:, None, None] * jnp.exp(-0.5 * distance / width)


class Scene(eqx.Module):
    sources: list
    iteration: int = 0

    def __call__(self):
        smoothing = 4.0 * 0.95**self.iteration
        return sum(source.render(smoothing) for source in self.sources)


def make_scene(key):
    sources = []
    for key in jax.random.split(key, SOURCES):
        place, radius, colour = jax.random.split(key, 3)
        sources.append(
            Source(
                jax.random.uniform(place, (2,), minval=8.0, maxval=SIZE - 8.0),
                1.0 + 0.3 * jax.random.normal(radius),
                0.5 * jax.random.normal(colour, (BANDS,)),
            )
        )
    return Scene(sources)


def log_likelihood(scene, image, weights):
    return -0.5 * jnp.sum(weights * (scene() - image) ** 2)


@eqx.filter_jit
def make_step(scene, opt_state, image, weights):
    loss, grads = eqx.filter_value_and_grad(lambda s: -log_likelihood(s, image, weights))(scene)
    updates, opt_state = optimizer.update(grads, opt_state, eqx.filter(scene, eqx.is_inexact_array))
    return eqx.apply_updates(scene, updates), opt_state, loss


optimizer = optax.adam(2e-2)


def fit(scene, image, weights, steps):
    opt_state = optimizer.init(eqx.filter(scene, eqx.is_inexact_array))
    for step in range(steps):
        scene, opt_state, loss = make_step(scene, opt_state, image, weights)
        scene = eqx.tree_at(lambda s: s.iteration, scene, scene.iteration + 1)
        if step % 10 == 0:
            print(f"step {step}: loss {loss:.1f}")
    return scene


truth_key, noise_key = jax.random.split(jax.random.PRNGKey(0))
truth = make_scene(truth_key)
observed = truth() + 0.05 * jax.random.normal(noise_key, (BANDS, SIZE, SIZE))
start = eqx.tree_at(lambda s: [t.center for t in s.sources], truth, [t.center + 1.5 for t in truth.sources])
fitted = fit(start, observed, jnp.full(observed.shape, 400.0), int(os.environ.get("STEPS", 32)))
print("centre", fitted.sources[0].center, "of", truth.sources[0].center)
