"""Whatever the bytes are, every question is answered or ends in a TraceError."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import hlo_builder as hlo

from tfadvisor.errors import TraceError
from tfadvisor.program.attributes import window_of
from tfadvisor.program.convolutions import convolution_flops
from tfadvisor.program.cost import Costs
from tfadvisor.program.exchanges import (
    collectives,
    collectives_between_products,
)
from tfadvisor.program.flow import effect, inside, reached
from tfadvisor.program.matrix_products import dot_size, products
from tfadvisor.program.module import Instruction, Module
from tfadvisor.program.operations import location_of
from tfadvisor.program.parameters import copied_argument, parameter_summary
from tfadvisor.program.patterns import unfused_attention, unrolled
from tfadvisor.program.rounds import rounds_of

OF_MODULES: tuple[Callable[[Module], object], ...] = (
    lambda module: module.name,
    lambda module: module.instruction("dot.5"),
    reached,
    collectives,
    parameter_summary,
    unfused_attention,
    rounds_of,
    collectives_between_products,
    hlo.cost_of,
)
OF_INSTRUCTIONS: tuple[Callable[[Instruction], object], ...] = (
    repr,
    inside,
    effect,
    products,
    lambda one: (
        one.id,
        one.operands,
        one.called,
        one.op_name,
        one.custom_call_target,
        one.channel_id,
    ),
    lambda one: (one.shape.elements, one.shape.bytes, one.config()),
    location_of,
    dot_size,
    convolution_flops,
    copied_argument,
    lambda one: unrolled([one] * 128),
    window_of,
    lambda one: Costs().of(one),
)


def ask_everything(data: bytes) -> tuple[int, int]:
    """(questions answered, questions that ended in a TraceError). Raises whatever else
    happens.
    """
    answered = refused = 0
    try:
        module = Module(data)
    except TraceError:
        return 0, 1
    instructions = [
        one for computation in module.computations for one in computation.instructions
    ]
    for question in OF_MODULES:
        try:
            question(module)
            answered += 1
        except TraceError:
            refused += 1
    for one in instructions:
        for ask in OF_INSTRUCTIONS:
            try:
                ask(one)
                answered += 1
            except TraceError:
                refused += 1
    return answered, refused


def rich_module() -> bytes:
    """A bit of everything that the room reads."""
    loop = {"known_trip_count": {"n": "3"}}
    product = {
        "gemm_backend_config": {
            "dot_dimension_numbers": {"lhs_contracting_dimensions": ["1"]}
        }
    }
    add = hlo.computation(
        2, hlo.op(21, "parameter", "f32[]"), hlo.op(22, "add", "f32[]", 21, 21)
    )
    fused = hlo.computation(
        3,
        hlo.op(31, "parameter", "f32[4,4]{1,0}"),
        hlo.op(32, "slice", "f32[2,4]", 31),
        hlo.op(33, "dynamic-update-slice", "f32[4,4]", 31, 32),
    )
    body = hlo.computation(
        4,
        hlo.op(41, "parameter", "f32[4,4]"),
        hlo.op(
            42,
            "all-gather-start",
            "(f32[4,4], f32[8,4])",
            41,
            channel=1,
            extra=hlo.iota_groups(2, 2, [2, 2], [1, 0]),
        ),
        hlo.op(43, "all-gather-done", "f32[8,4]", 42),
    )
    main = hlo.computation(
        1,
        hlo.op(
            1, "parameter", "f32[4,4]", metadata=hlo.metadata("params['w']", frame=1)
        ),
        hlo.op(2, "parameter", "(f32[1,4,4,2], f32[3,3,2,2])", number=1),
        hlo.op(3, "get-tuple-element", "f32[1,4,4,2]", 2),
        hlo.op(4, "get-tuple-element", "f32[3,3,2,2]", 2),
        hlo.op(5, "dot", "f32[4,4]", 1, 1, extra=hlo.dot_numbers([1], [0])),
        hlo.op(
            6,
            "convolution",
            "f32[1,4,4,2]",
            3,
            4,
            extra=hlo.window((3, 1, 1, 1, 1, 1), (3, 1, 1, 1, 1, 2))
            + hlo.convolution_numbers("b01f_01io->b01f"),
        ),
        hlo.op(7, "fusion", "f32[4,4]", 5, calls=[3]),
        hlo.op(8, "while", "f32[4,4]", 7, calls=[4], config=loop),
        hlo.op(
            9,
            "all-reduce",
            "f32[4,4]",
            8,
            calls=[2],
            extra=hlo.replica_groups([0, 1], [2, 3]),
        ),
        hlo.op(10, "reduce", "f32[]", 9, 9, calls=[2]),
        hlo.op(
            11,
            "custom-call",
            "(f32[4,4], s8[64])",
            9,
            9,
            target="__cublas$gemm",
            config=product,
        ),
        hlo.op(12, "tuple", "(f32[4,4])", 9),
    )
    extra = hlo.stack_frames(("a.py", 1, "f", 0)) + hlo.field(8, hlo.alias([0], 0))
    return hlo.module(add, fused, body, main, extra=extra)


RICH = rich_module()


def test_the_module_that_is_damaged_below_answers_everything_when_whole() -> None:
    assert ask_everything(RICH) == (len(OF_MODULES) + 20 * len(OF_INSTRUCTIONS), 0)


def test_a_module_that_is_cut_short_is_refused_wherever_it_ends() -> None:
    assert {ask_everything(RICH[:length]) for length in range(len(RICH))} == {(0, 1)}


@pytest.mark.slow
def test_changed_bytes_never_end_in_another_error() -> None:
    chance = random.Random(1)
    answered = refused = 0
    for _ in range(1500):
        mutant = bytearray(RICH)
        for _ in range(chance.randint(1, 3)):
            mutant[chance.randrange(len(mutant))] = chance.randrange(256)
        one, other = ask_everything(bytes(mutant))
        answered, refused = answered + one, refused + other
    assert answered > 50_000
    assert refused > 1500


@settings(max_examples=300)
@given(st.binary(max_size=80))
def test_random_bytes_are_answered_or_refused(data: bytes) -> None:
    answered, refused = ask_everything(data)

    assert answered + refused > 0


@settings(max_examples=300)
@given(
    st.binary(max_size=60),
    st.sampled_from(["dot", "convolution", "fusion", "while", "reduce", "all-reduce"]),
)
def test_random_fields_in_an_instruction(extra: bytes, opcode: str) -> None:
    body = hlo.computation(1, hlo.op(1, opcode, "f32[8]", extra=extra))

    answered, refused = ask_everything(hlo.module(body))

    assert answered + refused > 0


def test_a_shape_nested_beyond_all_sense_is_refused() -> None:
    nested = hlo.shape("f32[]")
    for _ in range(2000):
        nested = hlo.field(2, 13) + hlo.field(4, nested)
    instruction = (
        hlo.field(1, "x")
        + hlo.field(2, "constant")
        + hlo.field(3, nested)
        + hlo.field(35, 1)
    )
    module = Module(hlo.module(hlo.computation(1, instruction)))

    with pytest.raises(TraceError, match="nested more than 100 deep"):
        _ = module.entry.root.shape


@pytest.mark.parametrize("dims", [[-1], [1] * 300])
def test_dimensions_beyond_sense_are_refused(dims: list[int]) -> None:
    written = hlo.field(2, 11) + hlo.packed(3, dims)
    instruction = (
        hlo.field(1, "x")
        + hlo.field(2, "constant")
        + hlo.field(3, written)
        + hlo.field(35, 1)
    )
    module = Module(hlo.module(hlo.computation(1, instruction)))

    with pytest.raises(TraceError, match="negative or too many dimensions"):
        _ = module.entry.root.shape
