"""Work that only a number needs which a program returns beside arrays."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.only_for_numbers import only_for_numbers

WEIGHT, NUMBER = "f32[64,64]", "f32[]"
NORM = hlo.metadata("jit(step)/sqrt", "train.py", 111)


def given(number: int, shape: str = WEIGHT) -> bytes:
    return hlo.op(number, "parameter", shape, number=number - 1, name=f"given.{number}")


def forward_and_gradients(*results: bytes, extra: bytes = b"") -> Module:
    """The forward pass feeds two gradients; the first one updates a weight, a norm is
    taken of the second. results: what is returned, made of 5 (a weight), 7 (the norm).
    """
    body = hlo.computation(
        1,
        given(1),
        given(2),
        hlo.op(3, "dot", WEIGHT, 1, 2, name="forward"),
        hlo.op(4, "dot", WEIGHT, 3, 1, name="trained"),
        hlo.op(5, "subtract", WEIGHT, 1, 4, name="update"),
        hlo.op(6, "dot", WEIGHT, 3, 2, name="frozen"),
        hlo.op(7, "reduce", NUMBER, 6, name="norm", metadata=NORM),
        *results,
    )
    return Module(hlo.module(body, extra=extra))


RETURNED = hlo.op(9, "tuple", f"({WEIGHT}, {NUMBER})", 5, 7)


def test_gradients_of_which_only_a_norm_is_returned() -> None:
    """The forward pass is not among them: the update needs it too."""
    found = only_for_numbers(forward_and_gradients(RETURNED))

    norm = ("sqrt (train.py:111)",)
    assert dict(found) == {"frozen": norm, "norm": norm}


def test_the_number_bears_the_name_of_what_the_programs_line_calls() -> None:
    """global_norm of an installed package, on line 111 of train_step."""
    frames = hlo.stack_frames(
        ("/lib/site-packages/optax/tree.py", 9, "tree_norm", 2),
        ("/lib/site-packages/optax/linear.py", 5, "global_norm", 3),
        ("/home/me/train.py", 111, "train_step", 0),
    )
    root = hlo.op(9, "tuple", f"({WEIGHT}, {NUMBER})", 5, 8)
    norm = hlo.op(8, "sqrt", NUMBER, 7, metadata=hlo.metadata("sqrt", frame=1))

    found = only_for_numbers(forward_and_gradients(norm, root, extra=frames))

    assert found["frozen"] == ("global_norm (train.py:111)",)


def test_what_two_numbers_need_names_both() -> None:
    other = hlo.op(
        8, "reduce", NUMBER, 6, metadata=hlo.metadata("max", "train.py", 112)
    )
    root = hlo.op(9, "tuple", f"({WEIGHT}, {NUMBER}, {NUMBER})", 5, 7, 8)

    found = only_for_numbers(forward_and_gradients(other, root))

    assert found["frozen"] == ("sqrt (train.py:111)", "max (train.py:112)")


@pytest.mark.parametrize(
    "results",
    [
        (hlo.op(9, "tuple", f"({NUMBER}, {NUMBER})", 7, 7),),
        (
            hlo.op(8, "convert", "u32[2]", 1),
            hlo.op(9, "tuple", f"(u32[2], {NUMBER})", 8, 7),
        ),
        (hlo.op(9, "tuple", f"({WEIGHT}, {WEIGHT}, {NUMBER})", 5, 6, 7),),
        (hlo.op(9, "negate", NUMBER, 7),),
    ],
    ids=[
        "an evaluation",
        "an evaluation that hands on a key",
        "the gradient is returned too",
        "one number alone",
    ],
)
def test_what_is_needed_or_all_that_there_is(results: tuple[bytes, ...]) -> None:
    assert "frozen" not in only_for_numbers(forward_and_gradients(*results))


def test_a_number_that_takes_an_arguments_memory_is_state() -> None:
    """As a scale of the loss, which the next step is given."""
    in_place = hlo.field(8, hlo.alias([1], 0))

    assert not only_for_numbers(forward_and_gradients(RETURNED, extra=in_place))


@pytest.mark.parametrize("shape", ["s32[]", "f32[1]", "f32[1,1]"])
def test_a_token_and_a_batch_of_one_are_no_number_for_a_log(shape: str) -> None:
    """A decoder returns them beside its cache."""
    token = hlo.op(8, "convert", shape, 7)
    root = hlo.op(9, "tuple", f"({WEIGHT}, {shape})", 5, 8)

    assert not only_for_numbers(forward_and_gradients(token, root))


def test_as_many_numbers_as_arguments_of_their_type_are_state() -> None:
    """Of two numbers and one argument the second is new."""
    scale = given(10, NUMBER)
    returned = hlo.op(9, "tuple", f"({WEIGHT}, {NUMBER}, {NUMBER})", 5, 7, 8)
    product = hlo.op(8, "reduce", NUMBER, 3, name="loss", metadata=NORM)

    found = only_for_numbers(forward_and_gradients(scale, product, returned))

    assert set(found) == {"loss"}
