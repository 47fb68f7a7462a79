"""How many outputs and inputs the function has of which a program gives the Jacobian."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.jacobians import (
    Jacobian,
    jacobian_of,
    jacobians_of_lines,
    takes_passes,
)
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


# Within a program that does more.

FRAMES = hlo.stack_frames(("fit.py", 9, "fit", 0), ("fit.py", 4, "model", 1))


def fitting(
    path: str, leaving: str, *, rows: int = 1024, used: bool = True
) -> Mapping[tuple[str, int], Jacobian]:
    """Of a program that compares the rows and columns of an identity on line 9, makes
    this of it on the way through line 4, and uses it after that.
    """
    square = f"[{rows},{rows}]"
    at = hlo.metadata("jit(fit)/eq", "fit.py", 9)
    return jacobians_of_lines(
        Module(
            hlo.module(
                hlo.computation(
                    1,
                    hlo.op(1, "iota", f"s32{square}"),
                    hlo.op(2, "compare", f"pred{square}", 1, 1, metadata=at),
                    hlo.op(
                        3, "convert", leaving, 2, metadata=hlo.metadata(path, frame=2)
                    ),
                    hlo.op(4, "bitcast", leaving, 3),
                    hlo.op(
                        5,
                        "negate",
                        "f32[12,12]",
                        4 if used else 1,
                        metadata=hlo.metadata("jit(fit)/neg", "fit.py", 10),
                    ),
                ),
                extra=FRAMES,
            )
        )
    )


def test_what_leaves_the_pass_has_a_number_for_each_direction() -> None:
    """12,288 numbers of 1,024 directions: 12 of each."""
    forward = fitting("jit(fit)/vmap(jvp())/gather", "f32[12,1024]")
    backward = fitting("jit(fit)/vmap(transpose(jvp()))/mul", "f32[1024,12]")

    assert forward == {("fit.py", 9): Jacobian(outputs=12, inputs=1024)}
    assert backward == {("fit.py", 9): Jacobian(outputs=1024, inputs=12)}


def test_without_a_pass_from_that_line_nothing_is_known() -> None:
    assert fitting("jit(fit)/jvp()/gather", "f32[12,1024]") == {}
    assert fitting("jit(fit)/vmap(jvp())/gather", "f32[12,7]") == {}
    assert fitting("jit(fit)/vmap(jvp())/gather", "f32[12,1024]", used=False) == {}
