"""Which instruction of a compiled program a trace event is about."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.program.module import Module
from tfadvisor.timeline.program_ops import find_instruction

ADD = hlo.computation(
    1,
    hlo.op(11, "parameter", "f32[2,3]", name="x"),
    hlo.op(12, "parameter", "f32[2,3]", number=1, name="y"),
    hlo.op(13, "add", "f32[2,3]", 11, 12),
    name="main.4",
)


@pytest.mark.parametrize(
    "event",
    [
        "add.13",
        "%add.13 = f32[2,3]{1,0} add(f32[2,3] %x, f32[2,3] %y)",
        "call.1::add.13",
        "%add.13",
    ],
)
def test_an_event_is_about_the_instruction_that_it_names(event: str) -> None:
    module = Module(hlo.module(ADD))

    assert find_instruction(module, event) is module.entry.root
    assert find_instruction(module, "subtract.13") is None
