"""PyTorch's DataLoader feeds a JAX convnet (after the JAX documentation's tutorial), whole batches at a time."""

import sys
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler

batch_size = 128
step_size = 0.05
STEPS = 10


class Digits(Dataset):
    """28x28 pictures; takes a list of indices and answers with one array."""

    def __init__(self, n=6000):
        g = torch.Generator().manual_seed(0)
        self.labels = torch.randint(0, 10, (n,), generator=g).numpy()
        shapes = torch.rand((10, 28, 28), generator=g).numpy()
        noise = torch.rand((n, 28, 28), generator=g).numpy()
        self.images = (0.6 * shapes[self.labels] + 0.4 * noise).astype(np.float32)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, indices):
        return self.images[indices, :, :, None], self.labels[indices]


def init_params(key):
    keys = jax.random.split(key, 4)
    he = jax.nn.initializers.he_normal()
    return {
        "conv1": he(keys[0], (3, 3, 1, 16)),
        "conv2": he(keys[1], (3, 3, 16, 32)),
        "dense": he(keys[2], (7 * 7 * 32, 128)),
        "bias": jnp.zeros(128),
        "out": he(keys[3], (128, 10)),
    }


def predict(params, image):
    x = image
    for name in ("conv1", "conv2"):
        x = jax.lax.conv_general_dilated(x, params[name], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        x = jax.nn.relu(x)
        x = jax.lax.reduce_window(x, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    x = jax.nn.relu(x.reshape(x.shape[0], -1) @ params["dense"] + params["bias"])
    return jax.nn.log_softmax(x @ params["out"])


def loss(params, images, targets):
    return -jnp.mean(jnp.take_along_axis(predict(params, images), targets[:, None], axis=1))


@partial(jax.jit, donate_argnums=0)
def update(params, x, y):
    value, grads = jax.value_and_grad(loss)(params, x, y)
    return jax.tree.map(lambda p, g: p - step_size * g, params, grads), value


def forever(loader):
    while True:
        yield from loader


def main(logdir, faulty):
    del faulty
    torch.set_num_threads(1)
    dataset = Digits()
    sampler = BatchSampler(RandomSampler(dataset), batch_size, drop_last=True)
    training_generator = forever(DataLoader(dataset, sampler=sampler, batch_size=None, collate_fn=lambda x: x))
    params = init_params(jax.random.PRNGKey(0))
    for _ in range(3):
        params, value = update(params, *next(training_generator))
    value.block_until_ready()
    with jax.profiler.trace(logdir):
        for _ in range(STEPS):
            x, y = next(training_generator)
            params, value = update(params, x, y)
        value.block_until_ready()


if __name__ == "__main__":
    main(sys.argv[1], "--fault" in sys.argv)
