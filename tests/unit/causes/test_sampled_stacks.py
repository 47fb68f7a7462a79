"""Tables of sampled stacks, in memory that their number bounds."""

from __future__ import annotations

import msgspec
import pytest
from support.stacks import sampled

from tfadvisor.causes.sampled_stacks import sampled_of, stacks_of
from tfadvisor.trace.samples import Samples


def test_of_a_stack_that_is_too_deep_the_middle_is_left_out() -> None:
    """Of 40,000 stacks 75 calls of each: 38 outer and 37 inner ones of 100."""
    calls = " ".join(f"train.py:f{number}:{number + 1}" for number in range(100))
    whole = sampled([(calls, 3)])
    rest = [[0]] * 39_999
    samples = msgspec.structs.replace(whole, stacks=[*whole.stacks, *rest])
    stacks = stacks_of(samples)

    lines = [stacks.frames[number].line for number in stacks.frame[0] if number >= 0]
    assert lines == [*range(1, 39), *range(64, 101)]
    assert stacks.frame.nbytes < 25_000_000


@pytest.fixture
def samples() -> Samples:
    """Line 1, line 2, and line 1 again."""
    return sampled([("train.py:f:1", 2), ("train.py:f:2", 5), ("train.py:f:1", 4)])


def test_runs_of_one_stack_are_added_up(samples: Samples) -> None:
    each = sampled_of(samples).of_stacks()

    assert each.stack.tolist() == [0, 1]
    assert each.seen.tolist() == [6, 5]
    assert each.at_us.tolist() == sampled_of(samples).at_us[:2].tolist()
    assert each.us.sum() == sampled_of(samples).us.sum()
