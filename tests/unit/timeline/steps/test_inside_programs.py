"""Gaps between the ops of a program that runs on a TPU are no work of the host."""

from __future__ import annotations

import pytest
from support.trace_builder import trace


def test_what_is_idle_inside_of_a_program_is_not_blamed_on_the_host() -> None:
    """Of each step of 100 µs a program runs for 80, its ops for 40; the host shows
    nothing but the call of 5 µs.
    """
    builder = trace()
    for step in range(4):
        at = step * 100
        builder.step(at, at + 100).call("PjitFunction(train)", at, at + 5)
        builder.on_line(
            "/device:TPU:0",
            "XLA Modules",
            "jit_train(7)",
            at + 10,
            at + 90,
            run_id=step,
        )
        for start in (10, 50):
            builder.on_line(
                "/device:TPU:0",
                "XLA Ops",
                "%fusion.1 = f32[8] fusion(%p)",
                at + start,
                at + start + 20,
            )

    report = builder.report()

    shares = {one.kind: one.fraction for one in report.attribution}
    assert shares == {
        name: pytest.approx(share)
        for name, share in (
            ("compute", 0.4),
            ("idle", 0.4),
            ("host", 0.15),
            ("launch", 0.05),
        )
    }
    (idle,) = (one for one in report.attribution if one.kind == "idle")
    assert [one.activity for one in idle.parts] == ["a program's run, between its ops"]
