"""Predicts which customers leave; accuracy measures of each batch are computed by NumPy after the step, or not at all."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

BATCH = 4096
STEPS = 20


@jax.jit
def train_step(params, customers, left):
    def loss_fn(params):
        hidden = customers
        for weights in params[:-1]:
            hidden = jax.nn.silu(hidden @ weights)
        logits = (hidden @ params[-1])[:, 0]
        return jnp.mean(jnp.logaddexp(0.0, logits) - left * logits), logits

    (loss, logits), gradients = jax.value_and_grad(loss_fn, has_aux=True)(params)
    return [p - 0.05 * g for p, g in zip(params, gradients, strict=True)], loss, logits


def area_under_curve(scores, left):
    order = np.argsort(scores)
    left = left[order]
    return float((np.cumsum(1 - left) * left).sum() / (left.sum() * (1 - left).sum()))


def best_threshold(scores, left):
    thresholds = np.quantile(scores, np.linspace(0.02, 0.98, 200))
    return max((float(np.mean((scores > one) == (left > 0))), float(one)) for one in thresholds)


def main(logdir, faulty):
    random = np.random.default_rng(7)
    params = [jnp.asarray(random.normal(0, 0.1, shape), jnp.float32) for shape in ((64, 192), (192, 192), (192, 1))]
    customers = jnp.asarray(random.random((BATCH, 64), np.float32))
    left = (random.random(BATCH) < 0.2).astype(np.float32)
    on_device = jnp.asarray(left)
    measures = []

    def train(params, steps):
        for number in range(steps):
            with jax.profiler.StepTraceAnnotation("train", step_num=number):
                params, _, logits = train_step(params, customers, on_device)
                if faulty:
                    scores = np.asarray(logits)
                    measures.append((area_under_curve(scores, left), best_threshold(scores, left)))
        jax.block_until_ready(params)
        return params

    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    params = train(params, 4)
    with jax.profiler.trace(logdir, profiler_options=options):
        train(params, STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
