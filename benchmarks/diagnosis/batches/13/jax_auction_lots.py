"""Estimates the hammer price of an art auction's lot from two years of the artist's market, one record a line (JSON)."""
import argparse
import json
import pathlib
import tempfile

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch
from torch.utils.data import DataLoader, Dataset

FIELDS = ("index", "sold_share", "views", "mentions", "loans", "peers")
DAYS, LOTS, BATCH = 730, 480, 96
WARMUP, CAPTURED = 6, 12


def write_lots(path, seed=21):
    rng = np.random.default_rng(seed)
    with path.open("w") as file:
        for lot in range(LOTS):
            series = np.cumsum(rng.normal(scale=0.1, size=(len(FIELDS), DAYS)), axis=1).round(3)
            record = {"lot": lot, **{name: row.tolist() for name, row in zip(FIELDS, series)}}
            record["estimate"] = round(float(rng.normal()), 3)
            record["hammer"] = round(record["estimate"] + 0.3 * float(series[0, -30:].mean()), 3)
            file.write(json.dumps(record) + "\n")


class Lots(Dataset):
    def __init__(self, path, prepare):
        with path.open() as file:
            self.lots = [prepare(json.loads(line)) for line in file]

    def __len__(self):
        return len(self.lots)

    def __getitem__(self, k):
        return self.lots[k]


def as_record(lot):
    return {name: lot[name] for name in (*FIELDS, "estimate", "hammer")}


def as_arrays(lot):
    record = {name: np.asarray(lot[name], np.float32) for name in FIELDS}
    return {**record, "estimate": np.float32(lot["estimate"]), "hammer": np.float32(lot["hammer"])}


def numpy_batch(batch):
    """The default collate's result as (market, estimate, hammer) in float32."""
    market = []
    for name in FIELDS:
        column = batch[name]
        if isinstance(column, list):
            column = torch.stack(column, dim=1)
        market.append(column.numpy())
    market = np.stack(market, axis=-1).astype(np.float32)
    return market, batch["estimate"].numpy().astype(np.float32), batch["hammer"].numpy().astype(np.float32)


def forever(loader):
    while True:
        for batch in loader:
            yield numpy_batch(batch)


class Market(nn.Module):
    @nn.compact
    def __call__(self, market, estimate):
        x = market
        for width, kernel, stride in ((32, 8, 4), (48, 5, 2), (64, 5, 2)):
            x = nn.Conv(width, (kernel,), strides=(stride,))(x)
            x = nn.gelu(nn.LayerNorm()(x))
        x = jnp.concatenate([x.mean(1), x[:, -1], estimate[:, None]], axis=-1)
        return nn.Dense(1)(nn.gelu(nn.Dense(128)(x)))[:, 0] + estimate


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("logdir")
    parser.add_argument("--fault", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)

    with tempfile.TemporaryDirectory(prefix="lots") as folder:
        path = pathlib.Path(folder) / "lots.jsonl"
        write_lots(path)
        lots = Lots(path, as_record if args.fault else as_arrays)
    source = forever(DataLoader(lots, batch_size=BATCH, shuffle=True, drop_last=True))

    model = Market()
    market, estimate, _ = next(source)
    params = model.init(jax.random.key(2), market, estimate)
    tx = optax.adam(1e-3)
    opt_state = tx.init(params)

    @jax.jit
    def train_step(params, opt_state, market, estimate, hammer):
        def loss_fn(params):
            return optax.huber_loss(model.apply(params, market, estimate), hammer).mean()

        loss, grads = jax.value_and_grad(loss_fn)(params)
        updates, opt_state = tx.update(grads, opt_state)
        return optax.apply_updates(params, updates), opt_state, loss

    for _ in range(WARMUP):
        params, opt_state, loss = train_step(params, opt_state, *next(source))
    loss.block_until_ready()
    with jax.profiler.trace(args.logdir):
        for n in range(CAPTURED):
            with jax.profiler.StepTraceAnnotation("lots", step_num=n):
                params, opt_state, loss = train_step(params, opt_state, *next(source))
        loss.block_until_ready()
    print("loss:", round(float(loss), 4))


if __name__ == "__main__":
    main()
