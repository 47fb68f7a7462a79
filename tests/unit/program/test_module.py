"""What a module says about itself, from bytes written by hand."""

from __future__ import annotations

import tracemalloc

import pytest
from support import hlo_builder as hlo

from tfadvisor.errors import TraceError
from tfadvisor.program.module import Module

ADD = hlo.computation(
    1,
    hlo.op(11, "parameter", "f32[2,3]{1,0}", name="x"),
    hlo.op(12, "parameter", "f32[2,3]", number=1, name="y"),
    hlo.op(13, "add", "f32[2,3]", 11, 12, metadata=hlo.metadata("jit(step)/add")),
    name="main.4",
)


def test_a_module_names_itself_its_computations_and_instructions() -> None:
    module = Module(hlo.module(ADD, name="jit_step", one=18))

    assert module.name == "jit_step"
    assert module.entry.name == "main.4"
    assert [one.opcode for one in module.entry.instructions] == [
        "parameter",
        "parameter",
        "add",
    ]
    assert module.entry.root.name == "add.13"
    assert [one.name for one in module.entry.root.operands] == ["x", "y"]
    assert [one.name for one in module.entry.parameters()] == ["x", "y"]
    assert repr(module.entry.root) == "add.13 = f32[2,3] add"


def test_bytes_may_come_as_a_view_into_the_trace() -> None:
    data = b"before" + hlo.module(ADD) + b"behind"

    module = Module(memoryview(data)[6:-6])

    assert module.instruction("add.13") is module.entry.root
    assert module.entry.root.op_name == "jit(step)/add"


def test_the_result_may_stand_before_the_last_instruction() -> None:
    body = hlo.computation(
        1, hlo.op(1, "constant", "s32[]"), hlo.op(2, "constant", "f32[]"), root=1
    )

    assert Module(hlo.module(body)).entry.root.id == 1


def test_names_and_opcodes_are_found_wherever_they_stand_in_the_message() -> None:
    """XLA writes them first; protobuf does not promise it."""
    late = (
        hlo.field(35, 5)
        + hlo.field(2, "add")
        + hlo.field(3, hlo.shape("f32[]"))
        + hlo.field(1, "late")
    )

    module = Module(hlo.module(hlo.computation(1, late)))

    assert module.instruction("late") is not None
    assert module.entry.root.opcode == "add"


def test_unknown_fields_of_every_wire_type_are_stepped_over() -> None:
    unknown = (
        hlo.field(500, 3) + hlo.field(501, "text") + hlo.varint(502 << 3 | 1) + bytes(8)
    )
    unknown += hlo.varint(503 << 3 | 5) + bytes(4)
    body = hlo.computation(1, hlo.op(1, "constant", "s32[]", extra=unknown))

    assert Module(hlo.module(body, extra=unknown)).entry.root.id == 1


@pytest.mark.parametrize(
    "text",
    [
        "f32[2,3]{1,0}",
        "bf16[]",
        "s4[7]",
        "token[]",
        "(f32[8], (s32[], pred[2,2]{0,1}))",
    ],
)
def test_a_shape_reads_as_it_was_written(text: str) -> None:
    module = Module(hlo.module(hlo.computation(1, hlo.op(1, "constant", text))))

    assert str(module.entry.root.shape) == text


@pytest.mark.parametrize(
    ("text", "elements", "size"),
    [
        ("f32[2,3]", 6, 24),
        ("bf16[2,3]", 6, 12),
        ("f8e4m3fn[5]", 5, 5),
        ("pred[4]", 4, 4),
        ("c64[4]", 4, 32),
        ("f64[]", 1, 8),
        ("f32[0,9]", 0, 0),
        ("token[]", 0, 0),
        ("(f32[8], s32[], bf16[2])", 11, 40),
    ],
)
def test_elements_and_bytes_of_a_shape(text: str, elements: int, size: int) -> None:
    shape = Module(
        hlo.module(hlo.computation(1, hlo.op(1, "constant", text)))
    ).entry.root.shape

    assert (shape.elements, shape.bytes) == (elements, size)


def test_four_bit_numbers_take_half_a_byte_only_where_the_layout_packs_them() -> None:
    plain = hlo.field(2, 21) + hlo.packed(3, [5])
    packed = plain + hlo.field(5, hlo.packed(1, [0]) + hlo.field(7, 4))
    sizes = []
    for written in (plain, packed):
        instruction = (
            hlo.field(1, "x")
            + hlo.field(2, "constant")
            + hlo.field(3, written)
            + hlo.field(35, 1)
        )
        sizes.append(
            Module(hlo.module(hlo.computation(1, instruction))).entry.root.shape.bytes
        )

    assert sizes == [5, 3]


def test_what_is_missing_is_said_with_the_place() -> None:
    body = hlo.computation(1, hlo.op(1, "negate", "f32[8]", 99))
    module = Module(hlo.module(body), "run.xplane.pb: HLO of jit_step(7)")

    with pytest.raises(
        TraceError,
        match=r"run\.xplane\.pb: HLO of jit_step\(7\): .*has no instruction 99",
    ):
        _ = module.entry.root.operands
    with pytest.raises(TraceError, match="computation 1 is missing"):
        Module(hlo.module(hlo.computation(2, hlo.op(1, "constant", "s32[]"))))


def test_a_config_that_is_no_json_is_no_config() -> None:
    bodies = ["{attn_heads = 16 : i64}", "[1]", "[" * 100_000, '{"n": Infinity}', ""]
    found = []
    for config in bodies:
        body = hlo.computation(1, hlo.op(1, "custom-call", "f32[]", config=config))
        found.append(dict(Module(hlo.module(body)).entry.root.config()))

    assert found == [{}, {}, {}, {"n": float("inf")}, {}]


def test_the_memory_of_a_long_chain_is_a_small_multiple_of_its_bytes() -> None:
    """25,000 instructions, each found by its name and with its operands: Python's
    objects for them are twelve times the file.
    """
    data = hlo.module(
        hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[8]"),
            *(
                hlo.op(one, "add", "f32[8]", one - 1, one - 1)
                for one in range(2, 25_000)
            ),
        )
    )
    tracemalloc.start()
    try:
        module = Module(data)
        assert all(
            module.instruction(one.name) is one for one in module.entry.instructions
        )
        assert sum(len(one.operands) for one in module.entry.instructions) == 2 * 24_998
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert peak < 16 * len(data)


@pytest.mark.parametrize(
    "shape",
    [f"f64[{1 << 62}]", f"f64[{1 << 27},{1 << 26},0]", f"(f32[1], f64[{1 << 62}])"],
)
def test_a_shape_of_more_elements_than_any_machine_is_damaged(shape: str) -> None:
    """No machine holds 2**52 elements; an empty array has sizes all the same."""
    module = Module(hlo.module(hlo.computation(1, hlo.op(1, "constant", shape))))

    with pytest.raises(TraceError, match="more elements than any machine"):
        module.entry.root.shape  # noqa: B018
