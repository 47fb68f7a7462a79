"""Steps of a program on paper whose main thread was sampled, with its source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from support.gpu_step import dispatched_steps
from support.stacks import sampled
from tfadvisor.causes import ProgramSource, account_of
from tfadvisor.metrics import Metrics, Settings

ARRAY = "/venv/lib/python3.11/site-packages/jax/_src/array.py"


def watched_steps(
    folder: Path, program: str, turn: Sequence[tuple[str, int]], busy_us: int
) -> Metrics:
    """Five steps of 10 ms, of which the device works so long, and forty turns of
    samples of the whole run. program: the text of train.py. turn: (stack, samples).
    """
    (folder / "train.py").write_text(program, encoding="utf-8")
    source = ProgramSource(folder)
    account = account_of(sampled(40 * [*turn]), 100.0, on_host=source.runs_on_host)
    settings = Settings(source=source, account=account)
    return dispatched_steps(busy_us).measure(settings)
