"""Runs on GPUs and TPUs that nobody has published are judged as an expert would: each
is an entry of `benchmarks/accelerators/*.yaml`.
"""

from __future__ import annotations

import pytest
from support.accelerators import Case, built, cases, wrong


@pytest.mark.parametrize("case", cases(), ids=lambda case: case.name)
def test_an_expert_would_say_the_same(case: Case) -> None:
    assert wrong(built(case.trace).report(), case.truth) == []
