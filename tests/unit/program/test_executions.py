"""Which computations the entry reaches, and how long its loops are."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.errors import TraceError
from tfadvisor.program.flow import reached, trip_count
from tfadvisor.program.module import Module

LEAF = hlo.computation(4, hlo.op(41, "constant", "s32[]"))


def loop(one: int, body: int, config: object) -> bytes:
    return hlo.op(one, "while", "s32[]", calls=[body], config=config)


def test_loops_branches_and_calls_lead_on() -> None:
    inner = hlo.computation(3, loop(31, 4, ""))
    main = hlo.computation(1, hlo.op(11, "conditional", "s32[]", calls=[3]))

    assert reached(Module(hlo.module(LEAF, inner, main))) == {1, 3, 4}


def test_a_reduction_function_is_no_piece_of_the_program() -> None:
    main = hlo.computation(1, hlo.op(11, "reduce", "s32[]", calls=[4]))

    assert 4 not in reached(Module(hlo.module(LEAF, main)))


@pytest.mark.parametrize(
    "n",
    ['"-1"', '"many"', "[]", "Infinity", '"' + "9" * 5000 + '"', '"99999999999999999"'],
)
def test_a_trip_count_beyond_sense_is_unknown(n: str) -> None:
    main = hlo.computation(1, loop(11, 4, f'{{"known_trip_count":{{"n":{n}}}}}'))

    assert trip_count(Module(hlo.module(LEAF, main)).entry.root) is None


def test_a_computation_that_calls_itself_or_a_later_one_is_damage() -> None:
    itself = hlo.computation(1, hlo.op(11, "call", "s32[]", calls=[1]))
    later = hlo.computation(1, hlo.op(11, "call", "s32[]", calls=[4]))

    for module in (Module(hlo.module(itself)), Module(hlo.module(later, LEAF))):
        with pytest.raises(TraceError, match="calls what stands after it"):
            reached(module)
