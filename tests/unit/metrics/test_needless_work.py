"""Shares of a step in what a compiled program computes in vain, known by its HLO."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps

approx = pytest.approx


def program(path: str, *, opcode: str = "sine", line: int = 31) -> bytes:
    """One op of this path."""
    where = hlo.metadata(path, "train.py", line)
    op = hlo.op(2, opcode, "f32[64]", 1, name="op", metadata=where)
    return hlo.module(hlo.computation(1, hlo.op(1, "parameter", "f32[64]"), op))


def value(metric: str, path: str) -> float | None:
    """The op takes 40 of 100 µs."""
    return (
        gpu_steps(("kernel", 40.0, "op"), program=program(path)).measure().value(metric)
    )


@pytest.mark.parametrize(
    ("path", "draws"),
    [
        ("jit(step)/jit(_normal)/jit(_normal_real)/jit(_uniform)/while", True),
        ("jit(step)/random_bits", True),
        ("jit(step)/jvp(Net)/sample_dropoff/jit(_normal)/while", True),
        ("jit(step)/jvp(Net)/Dropout_0/jit(_bernoulli)/jit(_uniform)/while", True),
        ("jit(step)/jit(_where)/select_n", False),
        ("jit(step)/normalise/mul", False),
    ],
)
def test_random_numbers_by_their_paths(path: str, draws: bool) -> None:
    assert value("random_number_fraction", path) == approx(0.4 if draws else 0.0)


@pytest.mark.parametrize(("opcode", "share"), [("sort", 0.4), ("sine", 0.0)])
def test_sorts_by_what_the_program_says(opcode: str, share: float) -> None:
    """The op takes 40 of 100 µs."""
    one = program("jit(step)/jit(_shuffle)/while/body/sort", opcode=opcode)
    measured = gpu_steps(("kernel", 40.0, "op"), program=one).measure()

    assert measured.value("sort_fraction") == approx(share)
