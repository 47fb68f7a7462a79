"""How many outputs and inputs the function has of which a program gives the Jacobian."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.jacobians import Jacobian, jacobian_of, takes_passes
from tfadvisor.program.module import Module


def program(results: list[str], *arguments: str) -> Module:
    """That gives these for those."""
    given = [
        hlo.op(number, "parameter", shape, number=number - 1)
        for number, shape in enumerate(arguments, start=1)
    ]
    made = [hlo.op(50 + n, "iota", shape) for n, shape in enumerate(results)]
    shape = f"({', '.join(results)})"
    numbers = range(50, 50 + len(results))
    root = [hlo.op(99, "tuple", shape, *numbers)] if len(results) > 1 else []
    return Module(hlo.module(hlo.computation(1, *given, *made, *root)))


def test_blocks_have_the_outputs_and_then_an_argument() -> None:
    """1,056 residuals of 10 fluxes and 10 places in the sky: 30 numbers."""
    found = jacobian_of(
        program(["f32[1056,10]", "f32[1056,10,2]"], "f32[10]", "f32[10,2]", "f32[9]")
    )

    assert found == Jacobian(outputs=1056, inputs=30)


def test_outputs_may_have_several_axes() -> None:
    assert jacobian_of(program(["f32[8,4,3]"], "f32[3]")) == Jacobian(32, 3)


@pytest.mark.parametrize(
    ("results", "arguments"),
    [
        (["f32[10]", "f32[10,2]"], ["f32[10]", "f32[10,2]"]),  # a gradient
        (["f32[30,30]"], ["f32[10]", "f32[10,2]"]),  # of products with it
        (["f32[8,3]", "s32[8,3]"], ["f32[3]", "f32[3]"]),
        (["f32[8,4,4]"], ["f32[4]", "f32[4,4]"]),  # 32 of 4, or 8 of 16
        (["f32[8,3]", "f32[9,3]"], ["f32[3]", "f32[3]"]),
    ],
)
def test_of_other_results_nothing_is_known(
    results: list[str], arguments: list[str]
) -> None:
    assert jacobian_of(program(results, *arguments)) is None


@pytest.mark.parametrize(
    ("path", "takes"),
    [
        ("jit(f)/vmap(transpose(jvp()))/mul", True),
        ("jit(f)/vmap(jvp(jit(g)))/mul", True),
        ("jit(f)/vmap(transpose(jvp(vmap())))/mul", True),
        ("jit(f)/jvp()/mul", False),
        ("jit(f)/transpose(jvp(vmap()))/mul", False),
        # a Jacobian for each element of a batch: its outputs are fewer
        ("jit(f)/vmap(vmap(transpose(jvp())))/mul", False),
        ("jit(f)/vmap(jit(g))/vmap(transpose(jvp()))/mul", False),
    ],
)
def test_paths_tell_which_ops_take_passes(path: str, takes: bool) -> None:
    assert takes_passes(path) is takes
