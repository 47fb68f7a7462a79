"""Learns vectors of people from who knows whom and where they live; pairs are worked off one by one, or all at once."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

PEOPLE, WIDTH, PAIRS = 3000, 32, 768
HIDDEN, TOWNS = 384, 24
STEPS = 14


def loss_of_pair(vectors, one, other, known):
    score = jnp.dot(vectors[one], vectors[other])
    return jnp.logaddexp(0.0, score) - known * score


def loss_of_towns(params, towns):
    logits = jax.nn.log_softmax(jnp.tanh(params["vectors"] @ params["inner"]) @ params["outer"])
    return -jnp.mean(jnp.take_along_axis(logits, towns[:, None], axis=1))


def learn_pairs_one_by_one(vectors, pairs, known):
    def learn(vectors, pair):
        one, other, known = pair
        a, b = vectors[one], vectors[other]
        slope = jax.nn.sigmoid(jnp.dot(a, b)) - known
        vectors = vectors.at[one].add(-0.05 * slope * b)
        return vectors.at[other].add(-0.05 * slope * a), None

    vectors, _ = jax.lax.scan(learn, vectors, (pairs[:, 0], pairs[:, 1], known))
    return vectors


def learn_pairs_at_once(vectors, pairs, known):
    def loss_fn(vectors):
        return jnp.sum(jax.vmap(loss_of_pair, (None, 0, 0, 0))(vectors, pairs[:, 0], pairs[:, 1], known))

    return vectors - 0.05 * jax.grad(loss_fn)(vectors)


def main(logdir, faulty):
    learn_pairs = learn_pairs_one_by_one if faulty else learn_pairs_at_once

    @jax.jit
    def train_step(params, pairs, known, towns):
        params = {**params, "vectors": learn_pairs(params["vectors"], pairs, known)}
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_of_towns)(params, towns))

    random = np.random.default_rng(15)
    params = {
        "vectors": jnp.asarray(random.normal(0, 0.1, (PEOPLE, WIDTH)), jnp.float32),
        "inner": jnp.asarray(random.normal(0, 0.1, (WIDTH, HIDDEN)), jnp.float32),
        "outer": jnp.asarray(random.normal(0, 0.1, (HIDDEN, TOWNS)), jnp.float32),
    }
    pairs = jnp.asarray(random.integers(0, PEOPLE, (PAIRS, 2)))
    known = jnp.asarray(random.integers(0, 2, PAIRS), jnp.float32)
    towns = jnp.asarray(random.integers(0, TOWNS, PEOPLE))

    def train(params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                params = train_step(params, pairs, known, towns)
                jax.block_until_ready(params)
        return params

    params = train(params, 4)
    with jax.profiler.trace(logdir):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
