"""Copies of arguments that are not donated."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps

approx = pytest.approx


def updated(*extra: bytes) -> bytes:
    """A memory of which a copy is changed and handed back."""
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[1000,8]", metadata=hlo.metadata("memory.before")),
        hlo.op(2, "parameter", "f32[1,8]", number=1, metadata=hlo.metadata("row")),
        hlo.op(3, "copy", "f32[1000,8]", 1, name="whole"),
        hlo.op(4, "copy", "f32[1,8]", 2, name="small"),
        hlo.op(5, "dynamic-update-slice", "f32[1000,8]", 3, 4, name="update"),
        hlo.op(6, "tuple", "(f32[1000,8])", 5),
    )
    return hlo.module(body, extra=hlo.field(8, b"".join(extra)) if extra else b"")


COPIES = (
    ("wrapped_copy", 50.0, "whole"),
    ("wrapped_copy", 5.0, "small"),
    ("dynamic_update_slice", 10.0, "update"),
)


def test_an_argument_that_comes_back_changed_is_copied_unless_it_is_donated() -> None:
    """50 of 100 µs; the row comes back in no shape of its own."""
    copied = gpu_steps(*COPIES, program=updated()).measure()
    donated = gpu_steps(*COPIES, program=updated(hlo.alias([0], 0))).measure()

    assert copied.value("argument_copy_fraction") == approx(0.5)
    assert copied.fact("copied_arguments") == "memory.before"
    assert donated.value("argument_copy_fraction") == 0
    assert donated.fact("copied_arguments") is None


def test_the_function_and_the_arguments_to_donate_are_named() -> None:
    """The program is called jit_step; of `memory.before` the argument is memory."""
    copied = gpu_steps(*COPIES, program=updated()).measure()
    donated = gpu_steps(*COPIES, program=updated(hlo.alias([0], 0))).measure()

    assert copied.fact("copying_function") == "step"
    assert copied.fact("donated_names") == '"memory"'
    assert donated.fact("copying_function") is None
    assert donated.fact("donated_names") is None


def test_what_orders_the_elements_anew_is_copied_though_donated() -> None:
    """As weights that a convolution takes in another layout: a function that returns
    gradients of their shapes changes none of them.
    """
    kernel, ordered = "f32[1000,8]{1,0}", "f32[1000,8]{0,1}"
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", kernel, metadata=hlo.metadata("params.kernel")),
        hlo.op(2, "copy", ordered, 1, name="whole"),
        hlo.op(3, "negate", kernel, 2, name="small"),
        hlo.op(4, "tuple", f"({kernel})", 3),
    )

    found = gpu_steps(*COPIES, program=hlo.module(body)).measure()

    assert found.value("argument_copy_fraction") == 0
    assert found.fact("copied_arguments") is None


WITHIN = (("memcpy128", 50.0, "whole"), ("dynamic_update_slice", 10.0, "update"))
"""What the driver's kernels copy is no compute."""


def test_the_program_that_copies_within_the_device_says_whether_it_donates() -> None:
    copied = gpu_steps(*WITHIN, program=updated()).measure()
    donated = gpu_steps(*WITHIN, program=updated(hlo.alias([0], 0))).measure()

    assert copied.value("argument_copy_fraction") == 0
    assert copied.value("d2d_ms_per_step") == approx(0.05)
    assert (copied.fact("d2d_function"), copied.fact("d2d_donates")) == ("step", "no")
    assert copied.fact("d2d_arguments") == "memory.before"
    assert copied.fact("d2d_donated_names") == '"memory"'
    assert (donated.fact("d2d_function"), donated.fact("d2d_donates")) == (
        "step",
        "yes",
    )
    assert donated.fact("d2d_arguments") is None


def test_an_argument_that_a_loop_reads_beside_its_copy_is_copied_though_donated() -> (
    None
):
    """As a solver that begins with the right side, and needs it in each round."""
    pair = "(f32[1000,8], f32[1000,8])"
    condition = hlo.computation(
        2, hlo.op(21, "parameter", pair), hlo.op(22, "constant", "pred[]")
    )
    turn = hlo.computation(3, hlo.op(31, "parameter", pair))
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", "f32[1000,8]", metadata=hlo.metadata("b")),
        hlo.op(2, "copy", "f32[1000,8]", 1, name="whole"),
        hlo.op(3, "tuple", pair, 2, 1),
        hlo.op(4, "while", pair, 3, calls=[3, 2]),
        hlo.op(5, "get-tuple-element", "f32[1000,8]", 4, name="small"),
        hlo.op(6, "tuple", "(f32[1000,8])", 5),
    )

    program = hlo.module(condition, turn, body, entry=1)
    within = (WITHIN[0], ("loop", 10.0, "small"))
    copies = gpu_steps(*within, program=program).measure()

    assert (
        gpu_steps(*COPIES, program=program).measure().fact("copied_arguments") is None
    )
    assert copies.fact("d2d_donates") == "in vain"


@pytest.mark.parametrize("made", ["get-tuple-element", "negate"])
def test_a_loops_result_may_be_that_of_the_program_or_what_that_is_made_of(
    made: str,
) -> None:
    """A loop adapts weights; their gradients have the same shapes."""
    shape, single = "f32[1000,8]", "(f32[1000,8])"
    condition = hlo.computation(
        2, hlo.op(21, "parameter", single), hlo.op(22, "constant", "pred[]")
    )
    turn = hlo.computation(3, hlo.op(31, "parameter", single))
    body = hlo.computation(
        1,
        hlo.op(1, "parameter", shape, metadata=hlo.metadata("params")),
        hlo.op(2, "copy", shape, 1, name="whole"),
        hlo.op(3, "tuple", single, 2),
        hlo.op(4, "while", single, 3, calls=[3, 2]),
        hlo.op(5, "get-tuple-element", shape, 4),
        *([hlo.op(6, made, shape, 5, name="small")] if made == "negate" else ()),
        hlo.op(7, "tuple", single, 6 if made == "negate" else 5),
    )
    program = hlo.module(condition, turn, body, entry=1)

    copied = gpu_steps(*COPIES[:1], program=program).measure().fact("copied_arguments")

    assert copied == (None if made == "negate" else "params")


def test_no_program_copies_where_none_does() -> None:
    metrics = gpu_steps(*COPIES, program=updated()).measure()

    assert metrics.fact("d2d_function") is None
