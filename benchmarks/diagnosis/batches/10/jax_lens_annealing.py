"""Physics-informed network for the cooling of an optical glass blank in an annealing oven."""

import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax

WIDTH = 96
POINTS = 1536
POOL = 1 << 17
WARMUP, RECORDED = 8, 10

# cross-section of the blank, metres
ANGLE = np.linspace(0, 2 * np.pi, 28, endpoint=False)
OUTLINE = np.stack([np.cos(ANGLE), 0.45 * np.sin(ANGLE) + 0.08 * np.cos(2 * ANGLE)], axis=1)
LOW, HIGH = OUTLINE.min(0), OUTLINE.max(0)


def init(key, sizes=(5, WIDTH, WIDTH, WIDTH, 1)):
    keys = jax.random.split(key, len(sizes) - 1)
    return [(jax.random.normal(k, (i, o)) / i**0.5, jnp.zeros(o)) for k, i, o in zip(keys, sizes, sizes[1:])]


def temperature(params, point):
    """point: x, y, time, conductivity, loss to the oven."""
    h = point
    for w, b in params[:-1]:
        h = jnp.tanh(h @ w + b)
    w, b = params[-1]
    return (h @ w + b)[0]


def residual_hessian(params, point):
    u = lambda p: temperature(params, p)
    gradient, hessian = jax.grad(u)(point), jax.hessian(u)(point)
    return gradient[2] - point[3] * (hessian[0, 0] + hessian[1, 1]) + point[4] * u(point)


def residual_directional(params, point):
    u = lambda p: temperature(params, p)
    x, y, t = jnp.eye(5)[:3]
    along = lambda f, v: lambda p: jax.jvp(f, (p,), (v,))[1]
    laplacian = along(along(u, x), x)(point) + along(along(u, y), y)(point)
    value, rate = jax.jvp(u, (point,), (t,))
    return rate - point[3] * laplacian + point[4] * value


def inside(x, y):
    hit = False
    xj, yj = OUTLINE[-1]
    for xi, yi in OUTLINE:
        if (yi > y) != (yj > y) and x < (xj - xi) * (y - yi) / (yj - yi) + xi:
            hit = not hit
        xj, yj = xi, yi
    return hit


def with_conditions(xy, rng):
    rest = rng.uniform((0.0, 0.5, 0.0), (1.0, 1.5, 0.3), (len(xy), 3))
    return np.concatenate([xy, rest], axis=1).astype(np.float32)


def draw_one_by_one(count, rng):
    kept = []
    while len(kept) < count:
        x, y = rng.uniform(LOW, HIGH)
        if inside(x, y):
            kept.append((x, y))
    return with_conditions(np.array(kept), rng)


def make_pool(rng):
    xy = rng.uniform(LOW, HIGH, (POOL, 2))
    x, y = xy.T
    (x1, y1), (x0, y0) = OUTLINE.T[..., None], np.roll(OUTLINE, 1, axis=0).T[..., None]
    crossed = ((y1 > y) != (y0 > y)) & (x < (x0 - x1) * (y - y1) / (y0 - y1) + x1)
    return xy[crossed.sum(0) % 2 == 1]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()

    rng = np.random.default_rng(23)
    residual = residual_hessian if args.fault else residual_directional
    if args.fault:
        draw = draw_one_by_one
    else:
        pool = make_pool(rng)
        draw = lambda count, rng: with_conditions(pool[rng.integers(0, len(pool), count)], rng)

    params = init(jax.random.key(1))
    optimizer = optax.adam(1e-3)
    opt_state = optimizer.init(params)

    def loss_fn(params, points):
        r = jax.vmap(residual, (None, 0))(params, points)
        start = points.at[:, 2].set(0.0)
        u0 = jax.vmap(temperature, (None, 0))(params, start)
        return jnp.mean(r**2) + 10 * jnp.mean((u0 - 1) ** 2), jnp.abs(r)

    @jax.jit
    def train_step(params, opt_state, points):
        (loss, r), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, points)
        updates, opt_state = optimizer.update(grads, opt_state, params)
        return optax.apply_updates(params, updates), opt_state, loss, r

    def refresh(points, r):
        """Keeps the points whose residual is above the mean, draws the others anew."""
        r = np.asarray(r)
        hard = points[r > r.mean()]
        return np.concatenate([hard, draw(len(points) - len(hard), rng)])

    points = draw(POINTS, rng)
    for _ in range(WARMUP):
        params, opt_state, loss, r = train_step(params, opt_state, points)
        points = refresh(points, r)

    with jax.profiler.trace(args.logdir):
        for _ in range(RECORDED):
            params, opt_state, loss, r = train_step(params, opt_state, points)
            points = refresh(points, r)
        jax.block_until_ready(params)
    print(f"loss {float(loss):.5f}")


if __name__ == "__main__":
    main()
