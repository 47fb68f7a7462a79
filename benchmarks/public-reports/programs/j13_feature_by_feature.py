import os

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

FEATURES = [f"feature_{number}" for number in range(60)]
BATCH = 512


def distribute(batch):
    """The batch on all devices, split by its rows."""
    placed = {}
    for name, value in batch.items():
        mesh = Mesh(np.array(jax.devices()), ("batch",))
        placed[name] = jax.device_put(value, NamedSharding(mesh, PartitionSpec("batch")))
    return placed


@jax.jit
def train_step(weights, batch):
    def loss_fn(w):
        x = jnp.stack([batch[name] for name in FEATURES], axis=1)
        return jnp.mean((x @ w - 1.0) ** 2)

    loss, grad = jax.value_and_grad(loss_fn)(weights)
    return weights - 0.01 * grad, loss


def train(steps):
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=20 * BATCH).astype(np.float32) for name in FEATURES}
    weights = jnp.zeros(len(FEATURES))
    for step in range(steps):
        first = (step % 20) * BATCH
        batch = {name: column[first : first + BATCH] for name, column in table.items()}
        weights, loss = train_step(weights, distribute(batch))
        if step % 50 == 0:
            print(step, float(loss))


train(int(os.environ.get("STEPS", 2000)))
