"""Actors learn to leave a maze; each move asks the network and reads its answer, or all moves are one compiled scan."""

import sys

import jax
import jax.numpy as jnp
import numpy as np

SIDE, PLAYERS, MOVES, WIDTH = 12, 256, 16, 128
STEPS = 12
WAYS = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])


def policy(params, place):
    hidden = jnp.tanh(params["w1"][place[..., 0] * SIDE + place[..., 1]] @ params["w2"])
    return hidden @ params["w3"]


@jax.jit
def choose(params, key, place):
    key, own = jax.random.split(key)
    return jax.random.categorical(own, policy(params, place)), key


@jax.jit
def play_all(params, key):
    def move(carried, _):
        place, key = carried
        way, key = choose(params, key, place)
        place = jnp.clip(place + jnp.asarray(WAYS)[way], 0, SIDE - 1)
        return (place, key), (place, way)

    (_, key), (places, ways) = jax.lax.scan(move, (jnp.zeros((PLAYERS, 2), jnp.int32), key), length=MOVES)
    return key, places, ways


@jax.jit
def learn(params, places, ways):
    reached = (places.sum(axis=2) / (2 * SIDE)).astype(jnp.float32)

    def loss_fn(params):
        logits = jax.nn.log_softmax(policy(params, places))
        return -jnp.mean(jnp.take_along_axis(logits, ways[..., None], axis=2)[..., 0] * reached)

    return jax.tree.map(lambda p, g: p - 0.1 * g, params, jax.grad(loss_fn)(params))


class Agent:
    def __init__(self, asks):
        key = jax.random.key(3)
        first, second, third, self.key = jax.random.split(key, 4)
        self.params = {
            "w1": jax.random.normal(first, (SIDE * SIDE, WIDTH)),
            "w2": jax.random.normal(second, (WIDTH, WIDTH)) * 0.1,
            "w3": jax.random.normal(third, (WIDTH, 4)) * 0.1,
        }
        self.asks = asks

    def episode(self):
        if not self.asks:
            self.key, places, ways = play_all(self.params, self.key)
            return places, ways
        place, places, ways = np.zeros((PLAYERS, 2), np.int32), [], []
        for _ in range(MOVES):
            way, self.key = choose(self.params, self.key, place)
            way = np.asarray(way)
            place = np.clip(place + WAYS[way], 0, SIDE - 1).astype(np.int32)
            places.append(place)
            ways.append(way)
        return np.array(places), np.array(ways, np.int32)

    def train(self, episodes):
        for _ in range(episodes):
            places, ways = self.episode()
            self.params = learn(self.params, places, ways)
        jax.block_until_ready(self.params)


def main(logdir, faulty):
    agent = Agent(asks=faulty)
    agent.train(4)
    with jax.profiler.trace(logdir):
        agent.train(STEPS)


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
