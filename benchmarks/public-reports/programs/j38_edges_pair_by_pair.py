import os

import jax
import jax.numpy as jnp
import numpy as np
import optax

NODES, EDGES, REACH, BATCH, PROBLEMS, WIDTH = 32, 512, 0.35, 16, 128, 32
OPTIMIZER = optax.adam(1e-3)


def make_problem(rng):
    """A random network of resistors, its injections and the voltages that follow."""
    places = rng.random((NODES, 2))
    edges, conductances = [], []
    for i in range(NODES):
        for j in range(i + 1, NODES):
            distance = np.linalg.norm(places[i] - places[j])
            if distance < REACH:
                edges += [(i, j), (j, i)]
                conductances += [1 / (0.1 + distance)] * 2
    edges, weights = np.array(edges, np.int32), np.array(conductances)
    matrix = np.eye(NODES)
    np.add.at(matrix, (edges[:, 0], edges[:, 0]), weights)
    np.add.at(matrix, (edges[:, 0], edges[:, 1]), -weights)
    injected, missing = rng.normal(size=NODES), EDGES - len(edges)
    padded = {"edges": np.pad(edges, ((0, missing), (0, 0))), "weights": np.pad(weights, (0, missing))}
    return {**padded, "injected": injected, "voltage": np.linalg.solve(matrix, injected)}


def loader(seed):
    rng = np.random.default_rng(seed)
    for _ in range(PROBLEMS // BATCH):
        problems = [make_problem(rng) for _ in range(BATCH)]
        yield {name: np.stack([problem[name] for problem in problems]) for name in problems[0]}


def predict(params, problem):
    senders, receivers = problem["edges"][:, 0], problem["edges"][:, 1]
    hidden = jnp.tanh(problem["injected"][:, None] * params["in"])
    for layer in params["layers"]:
        sent = problem["weights"][:, None] * (hidden @ layer["message"])[senders]
        arrived = jax.ops.segment_sum(sent, receivers, NODES)
        hidden = jnp.tanh(hidden @ layer["self"] + 0.1 * arrived)
    return (hidden @ params["out"])[:, 0]


@jax.jit
def training_step(params, state, batch):
    def loss_fn(p):
        return jnp.mean((jax.vmap(predict, in_axes=(None, 0))(p, batch) - batch["voltage"]) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, state = OPTIMIZER.update(grads, state)
    return optax.apply_updates(params, updates), state, loss


def train(epochs):
    rng = np.random.default_rng(1)
    square = rng.normal(size=(3, 2, WIDTH, WIDTH)) / 6
    layers = [{"self": jnp.float32(own), "message": jnp.float32(sent)} for own, sent in square]
    params = {"in": jnp.ones((1, WIDTH)), "layers": layers, "out": jnp.full((WIDTH, 1), 0.1)}
    state = OPTIMIZER.init(params)
    for epoch in range(epochs):
        for batch in loader(seed=0):
            params, state, loss = training_step(params, state, batch)
        print(epoch, float(loss))


train(int(os.environ.get("STEPS", 1600)) // (PROBLEMS // BATCH))
