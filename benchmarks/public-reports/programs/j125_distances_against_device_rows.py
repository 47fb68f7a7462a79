import os

import jax
import jax.numpy as jnp
import numpy as np

NODES, CHORDS, LINKS, K, SLOTS, MAX_HOPS, REQUESTS = 11, 7, 18, 8, 80, 4, 1500
MODULATIONS = jnp.array([[100_000.0, 1.0], [2_000.0, 2.0], [1_250.0, 3.0], [625.0, 4.0]])


def make_topology(rng):
    others = [(a, b) for a in range(NODES) for b in range(a + 2, NODES) if (a, b) != (0, NODES - 1)]
    edges = [(n, (n + 1) % NODES) for n in range(NODES)] + [others[i] for i in rng.permutation(len(others))[:CHORDS]]
    neighbours = {n: [] for n in range(NODES)}
    for link, (a, b) in enumerate(edges):
        length = rng.uniform(150, 900)
        neighbours[a].append((b, link, length))
        neighbours[b].append((a, link, length))
    return neighbours


def find_paths(neighbours, source, target):
    found, stack = [], [(source, (source,), (), 0.0)]
    while stack:
        node, visited, links, distance = stack.pop()
        if node == target:
            found.append((distance, links))
        elif len(links) < MAX_HOPS:
            stack += [(n, visited + (n,), links + (i,), distance + d) for n, i, d in neighbours[node] if n not in visited]
    return sorted(found)[:K]


def init_path_link_array(neighbours, modulations_array):
    modulations_reversed = modulations_array[::-1]

    def get_spectral_efficiency(distance):
        for modulation in modulations_reversed:
            if distance <= modulation[0]:
                return float(modulation[1])
        return 1.0

    pairs = [(a, b) for a in range(NODES) for b in range(a + 1, NODES)]
    usage, efficiency = np.zeros((len(pairs), K, LINKS), "int32"), np.zeros((len(pairs), K), "float32")
    for row, (source, target) in enumerate(pairs):
        for k, (distance, links) in enumerate(find_paths(neighbours, source, target)):
            usage[row, k, list(links)] = 1
            efficiency[row, k] = get_spectral_efficiency(distance)
    return jnp.asarray(usage), jnp.asarray(efficiency)


@jax.jit
def run_traffic(usage, efficiency, key):
    keys = jax.random.split(key, 4)
    times = jnp.cumsum(jax.random.exponential(keys[0], (REQUESTS,))) / 30.0
    pairs = jax.random.randint(keys[1], (REQUESTS,), 0, len(usage))
    bandwidths = jax.random.randint(keys[2], (REQUESTS,), 1, 9).astype(float)

    def serve(until, request):
        time, pair, bandwidth, holding = request
        needed = jnp.ceil(bandwidth / efficiency[pair])
        free = usage[pair] @ (until > time).astype(int) == 0
        fits = free.sum(1) >= needed
        path = jnp.argmax(fits)
        slots = free[path] & (jnp.cumsum(free[path]) <= needed[path]) & fits.any()
        return jnp.where((usage[pair, path] > 0)[:, None] & slots, time + holding, until), ~fits.any()

    requests = (times, pairs, bandwidths, 10.0 * jax.random.exponential(keys[3], (REQUESTS,)))
    return jax.lax.scan(serve, jnp.zeros((LINKS, SLOTS)), requests)[1].mean()


def compare_topologies(candidates):
    rng, best = np.random.default_rng(0), 1.0
    for number in range(candidates):
        usage, efficiency = init_path_link_array(make_topology(rng), MODULATIONS)
        best = min(best, float(run_traffic(usage, efficiency, jax.random.key(number))))
        if number % 5 == 0:
            print(f"topology {number}, lowest blocking {best:.4f}", flush=True)


compare_topologies(int(os.environ.get("STEPS", 45)))
