"""Instructions as HLO text, and what stands beside them."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.flow import Users
from tfadvisor.program.hlo_text import instruction_text, shown
from tfadvisor.program.module import Module

BODY = hlo.computation(
    1,
    hlo.op(1, "parameter", "f32[2,4]{1,0}"),
    hlo.op(2, "parameter", "f32[4,8]{1,0}", number=1),
    hlo.op(3, "dot", "f32[2,8]{1,0}", 1, 2, extra=hlo.dot_numbers([1], [0])),
    hlo.op(4, "negate", "f32[2,8]{1,0}", 3),
)


def test_a_product_names_its_operands_and_dimensions() -> None:
    module = Module(hlo.module(BODY))
    dot = module.instruction("dot.3")
    assert dot is not None

    assert instruction_text(dot) == (
        "%dot.3 = f32[2,8]{1,0} dot(f32[2,4]{1,0} %parameter.1, f32[4,8]{1,0} "
        "%parameter.2), "
        "lhs_contracting_dims={1}, rhs_contracting_dims={0}"
    )


def test_an_instruction_stands_between_what_it_reads_and_what_reads_it() -> None:
    module = Module(hlo.module(BODY))
    dot = module.instruction("dot.3")
    assert dot is not None

    found = shown(dot, Users(dot.computation))

    assert [one.name for one in found.operands] == ["parameter.1", "parameter.2"]
    assert [(one.name, one.opcode) for one in found.users] == [("negate.4", "negate")]
    assert found.more == 0


def test_a_fusion_shows_its_body() -> None:
    inner = hlo.computation(
        2, hlo.op(5, "parameter", "f32[8]"), hlo.op(6, "tanh", "f32[8]", 5)
    )
    outer = hlo.computation(
        1, hlo.op(7, "parameter", "f32[8]"), hlo.op(8, "fusion", "f32[8]", 7, calls=[2])
    )
    module = Module(hlo.module(inner, outer))
    fusion = module.instruction("fusion.8")
    assert fusion is not None

    lines = shown(fusion, Users(fusion.computation)).text.splitlines()

    assert lines[0].startswith(
        "%fusion.8 = f32[8] fusion(f32[8] %parameter.7), calls=%"
    )
    assert lines[2:] == [
        "  %parameter.5 = f32[8] parameter(0)",
        "  %tanh.6 = f32[8] tanh(f32[8] %parameter.5)",
        "}",
    ]
