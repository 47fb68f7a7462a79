"""Tags the words of sentences; each batch is padded to its own longest sentence, or to a multiple of 64 words."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

BATCH, WIDTH, TAGS, WORDS = 32, 128, 20, 2000
STEPS = 12


@jax.jit
def train_step(params, words, tags):
    def loss_fn(params):
        x = params["table"][words]
        before, after = jnp.roll(x, 1, axis=1), jnp.roll(x, -1, axis=1)
        x = jax.nn.relu(jnp.concatenate([before, x, after], axis=2) @ params["inner"])
        logits = jax.nn.log_softmax(x @ params["outer"])
        right = jnp.take_along_axis(logits, tags[..., None], axis=2)[..., 0]
        return -jnp.sum(right * (words > 0)) / jnp.sum(words > 0)

    loss, gradients = jax.value_and_grad(loss_fn)(params)
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), loss


def main(logdir, faulty):
    random = np.random.default_rng(10)
    params = {
        "table": jnp.asarray(random.normal(0, 0.1, (WORDS, WIDTH)), jnp.float32),
        "inner": jnp.asarray(random.normal(0, 0.05, (3 * WIDTH, 4 * WIDTH)), jnp.float32),
        "outer": jnp.asarray(random.normal(0, 0.05, (4 * WIDTH, TAGS)), jnp.float32),
    }
    longest = random.permutation(np.arange(66, 126))

    def batch(number):
        length = longest[number]
        padded = length if faulty else -(-length // 64) * 64
        words = np.zeros((BATCH, padded), np.int32)
        words[:, :length] = random.integers(1, WORDS, (BATCH, length))
        return words, words % TAGS

    def train(params, first, steps):
        for number in range(first, first + steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                params, loss = train_step(params, *batch(number))
                loss.block_until_ready()
        return params

    params = train(params, 0, 4)
    with jax.profiler.trace(logdir):
        train(params, 4, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
