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


@pytest.mark.parametrize(
    ("metric", "primitive"),
    [
        ("product_fraction", "dot_general"),
        ("convolution_fraction", "conv_general_dilated"),
    ],
)
def test_what_programs_consist_of_by_their_paths(metric: str, primitive: str) -> None:
    """A library's call takes 40 of 100 µs."""
    for of, share in ((primitive, 0.4), ("reduce_sum", 0.0)):
        call = program(f"jit(step)/{of}", opcode="custom-call")
        measured = gpu_steps(("kernel", 40.0, "op"), program=call).measure()

        assert measured.value(metric) == approx(share)


def normed(gradient: str) -> bytes:
    """Of the forward pass an update is made, and beside it a gradient for a norm that
    train.py takes on line 111.
    """
    array, number = "f32[64,64]", "f32[]"

    def path(name: str, line: int) -> bytes:
        return hlo.metadata(f"jit(step)/{name}", "train.py", line)

    body = hlo.computation(
        1,
        hlo.op(1, "parameter", array),
        hlo.op(2, "sine", array, 1, name="forward", metadata=path("jvp()/sin", 87)),
        hlo.op(3, "cosine", array, 2, name="frozen", metadata=path(gradient, 87)),
        hlo.op(4, "reduce", number, 3, name="norm", metadata=path("norm", 111)),
        hlo.op(5, "tuple", f"({array}, {number})", 2, 4),
    )
    return hlo.module(body, name="jit_step")


@pytest.mark.parametrize(
    ("gradient", "kind"),
    [("transpose(jvp())/cos", "gradients"), ("jvp()/cos", "values")],
)
def test_a_gradient_that_only_a_norm_needs(gradient: str, kind: str) -> None:
    """30 + 10 of 100 µs, the forward pass of 40 left out."""
    kernels = (("k1", 40.0, "forward"), ("k2", 30.0, "frozen"), ("k3", 10.0, "norm"))
    measured = gpu_steps(*kernels, program=normed(gradient)).measure()

    assert measured.value("number_only_fraction") == approx(0.4)
    assert measured.fact("number_only_op") == "frozen (train.py:87)"
    assert measured.fact("number_only_place") == "norm (train.py:111)"
    assert measured.fact("number_only_kind") == kind
    assert measured.fact("number_only_results") == (
        "norm (train.py:111), a number that step returns"
    )


def test_a_program_that_returns_one_array_works_for_no_number() -> None:
    measured = gpu_steps(("k", 40.0, "op"), program=program("jit(f)/sin")).measure()

    assert measured.value("number_only_fraction") == 0
    assert measured.fact("number_only_results") is None
