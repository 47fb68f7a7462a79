import os

import jax
import jax.numpy as jnp
import numpy as np

LINKS, POINTS, DT = 24, 48, 1e-3


def raise_if(condition, msg, **kwargs):
    def _raise(condition, **kwargs):
        if condition:
            raise ValueError(msg.format(**kwargs))

    return jax.lax.cond(condition, lambda kw: jax.debug.callback(_raise, condition, **kw), lambda kw: None, kwargs)


def rotation(axis, angle):
    k = jnp.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return jnp.eye(3) + jnp.sin(angle) * k + (1 - jnp.cos(angle)) * (k @ k)


@jax.jit
def forward_kinematics(model, data):
    local = jax.vmap(rotation)(model["axes"], data["q"])
    local_H = jnp.zeros((LINKS, 4, 4)).at[:, :3, :3].set(local).at[:, :3, 3].set(model["offsets"]).at[:, 3, 3].set(1.0)

    def propagate(W_H, i):
        return W_H.at[i].set(W_H[model["parents"][i]] @ local_H[i]), None

    W_H = jnp.tile(jnp.eye(4).at[:3, 3].set(data["base"]), (LINKS, 1, 1))
    return jax.lax.scan(propagate, W_H, jnp.arange(1, LINKS))[0]


@jax.jit
def link_transform(model, data, link_index):
    raise_if(jnp.array([link_index < 0, link_index >= LINKS]).any(), "Invalid link index '{idx}'", idx=link_index)
    return forward_kinematics(model, data)[link_index]


@jax.jit
def link_mass(model, link_index):
    raise_if(jnp.array([link_index < 0, link_index >= LINKS]).any(), "Invalid link index '{idx}'", idx=link_index)
    return model["mass"][link_index]


@jax.jit
def total_mass(model):
    return jax.vmap(lambda i: link_mass(model, i))(jnp.arange(LINKS)).sum()


@jax.jit
def contact_transforms(model, data):
    W_H_L = jax.vmap(lambda i: link_transform(model, data, i))(model["contact_body"])
    L_H_C = jax.vmap(lambda p: jnp.eye(4).at[:3, 3].set(p))(model["contact_point"])
    return jax.vmap(lambda a, b: a @ b)(W_H_L, L_H_C)


@jax.jit
def step(model, data):
    heights = contact_transforms(model, data)[:, 2, 3]
    push = 8e3 * jnp.maximum(-heights, 0.0).sum() / total_mass(model)
    velocity = 0.999 * data["v"] + DT * jnp.array([0.0, 0.0, push - 9.81])
    qd = 0.99 * data["qd"] - DT * (20.0 * data["q"] - 3.0 * jnp.sin(data["t"] * 5.0 + model["phase"]))
    return {"base": data["base"] + DT * velocity, "v": velocity, "q": data["q"] + DT * qd, "qd": qd, "t": data["t"] + DT}, heights.min()


rng = np.random.default_rng(0)
axes = rng.normal(size=(LINKS, 3))
model = {
    "axes": axes / np.linalg.norm(axes, axis=1, keepdims=True), "offsets": rng.uniform(-0.15, 0.15, (LINKS, 3)), "mass": rng.uniform(0.3, 1.5, LINKS),
    "parents": np.array([0] + [int(rng.integers(0, i)) for i in range(1, LINKS)]), "phase": rng.uniform(0, 6, LINKS),
    "contact_body": rng.integers(0, LINKS, POINTS), "contact_point": rng.uniform(-0.05, 0.05, (POINTS, 3)),
}
model = jax.tree.map(lambda x: jnp.asarray(x, jnp.float32 if x.dtype == float else jnp.int32), model)
data = {"base": jnp.array([0.0, 0.0, 0.9]), "v": jnp.zeros(3), "q": jnp.zeros(LINKS), "qd": jnp.zeros(LINKS), "t": jnp.float32(0.0)}
for i in range(int(os.environ.get("STEPS", 900))):
    data, lowest = step(model, data)
    if i % 200 == 0:
        print(i, float(data["base"][2]), float(lowest), flush=True)
