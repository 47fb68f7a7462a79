"""A program's arguments, and which of them a training step is likely to update."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.program.parameters import (
    ManyNumbers,
    arguments,
    many_numbers,
    parameter_summary,
)


def program(arguments: dict[str, str], results: str, *aliases: bytes) -> Module:
    """Arguments by name; the result is one tuple of the given shape."""
    names = [
        hlo.op(
            one, "parameter", shape, number=one - 1, metadata=hlo.metadata(name.strip())
        )
        for one, (name, shape) in enumerate(arguments.items(), start=1)
    ]
    body = hlo.computation(1, *names, hlo.op(99, "tuple", results))
    return Module(
        hlo.module(body, extra=hlo.field(8, b"".join(aliases)) if aliases else b"")
    )


STEP = {
    "params['w']": "f32[64,32]{1,0}",
    "params['b']": "f32[32]",
    "x": "bf16[16,64]",
    "count": "s32[]",
}


def test_what_comes_back_with_the_same_type_and_dimensions_is_carried() -> None:
    """The batch does not come back; the counter does, and is no floating-point
    number.
    """
    module = program(STEP, "(f32[64,32], f32[32], s32[], f32[])")

    summary = parameter_summary(module)

    assert [one.returned for one in arguments(module)] == [True, True, False, True]
    assert (summary.elements, summary.is_named) == (2048 + 32, True)


def test_a_donated_argument_comes_back_whatever_else_has_its_shape() -> None:
    """One result of this shape, taken by the second argument's memory: the first one
    does not come back.
    """
    module = program({"a": "f32[8]", "b": "f32[8]"}, "(f32[8])", hlo.alias([0], 1))

    assert [(one.name, one.donated, one.returned) for one in arguments(module)] == [
        ("a", False, False),
        ("b", True, True),
    ]


def test_an_optimizers_state_is_told_apart_by_its_name_only() -> None:
    """Adam: the weights three times, of which names reveal two."""
    named = {
        "state.params['w']": "f32[100]",
        "state.opt_state[0].mu['w']": "f32[100]",
        "state.opt_state[0].nu['w']": "f32[100]",
    }
    nameless = {
        "XLA_Args": "f32[100]",
        "XLA_Args ": "f32[100]",
        " XLA_Args": "f32[100]",
    }  # as TensorFlow does
    results = "(f32[100], f32[100], f32[100])"

    by_name, without = (
        parameter_summary(program(named, results)),
        parameter_summary(program(nameless, results)),
    )

    assert (by_name.elements, by_name.is_named) == (100, True)
    assert (without.elements, without.is_named) == (300, False)


@pytest.mark.parametrize(
    "name",
    [
        "opt_state[0].mu['w']",
        "optimizer.slots['w']",
        "m['w']",
        "v[0]",
        "batch_stats['mean']",
        "state.ema['w']",
        "momentum",
    ],
)
def test_names_of_other_state(name: str) -> None:
    (one,) = arguments(program({name: "f32[8]"}, "(f32[8])"))

    assert one.is_named_as_other_state


@pytest.mark.parametrize(
    "name",
    [
        "params['attention']['v']['kernel']",
        "params['v_proj']",
        "model.layers[3].mlp",
        "schema",
        "params['numeric']",
    ],
)
def test_names_of_parameters(name: str) -> None:
    (one,) = arguments(program({name: "f32[8]"}, "(f32[8])"))

    assert not one.is_named_as_other_state


def test_a_tuple_argument_is_its_arrays() -> None:
    module = program(
        {"all": "((f32[8], s32[2]), f32[4])"}, "(f32[8])", hlo.alias([0], 0, [0, 0])
    )

    assert [
        (one.number, one.index, str(one.shape), one.donated)
        for one in arguments(module)
    ] == [
        (0, (0, 0), "f32[8]", True),
        (0, (0, 1), "s32[2]", False),
        (0, (1,), "f32[4]", False),
    ]


def test_a_program_without_arguments_has_none() -> None:
    summary = parameter_summary(program({}, "(f32[])"))

    assert (summary.elements, summary.is_named) == (0, False)


def test_numbers_of_one_list_count_as_its_own() -> None:
    """Three of `scales`, of which one comes back, so two are handed over in each call;
    one of `rates`; an array and a lone number are of no list.
    """
    module = program(
        {
            "scales[0]": "f32[]",
            "scales[1]": "f32[]",
            "scales[2]": "s32[]",
            "rates.first": "f32[]",
            "step": "f32[]",
            "x[0]": "f32[16]",
        },
        "(s32[], f32[16])",
    )

    assert many_numbers(module) == ManyNumbers(2, "scales")
    assert many_numbers(program({"x": "f32[4]"}, "(f32[4])")) == ManyNumbers()
