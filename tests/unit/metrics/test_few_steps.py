"""What lies in few of the counted steps is told as such."""

from __future__ import annotations

import msgspec
from support.trace_builder import TraceBuilder, trace

from tfadvisor.report.forms.terminal import as_text


def ten_steps(*compiling: int) -> TraceBuilder:
    """Steps of 100 µs in which the device computes; the numbered ones take 10 ms more,
    in which `step` is compiled.
    """
    builder, at = trace(), 0
    for number in range(10):
        late = 10_000 if number in compiling else 0
        builder.step(at, at + late + 100)
        builder.call("PjitFunction(step)", at, at + late + 10)
        if late:
            builder.call("backend_compile", at, at + late)
        builder.kernel(
            "GPU:0", "k", at + late + 10, at + late + 100, launched=(at + late, at)
        )
        at += late + 100
    return builder


def test_one_of_ten_steps_has_it() -> None:
    """10 ms of 11 ms in all, but nine steps take 100 µs."""
    report = ten_steps(6).report()
    (finding,) = [one for one in report.findings if "recompil" in one.rule_id]

    assert finding.few_steps == "1 of 10 steps (10.0 ms)"
    assert finding.saving is None
    assert finding.severity.value == "high"
    text = as_text(report)
    assert "1 takes 10.1 ms, all together 11.0 ms" in text
    assert (
        "of the recorded time is tracing and compiling, nearly all of it in 1 of"
        in (" ".join(text.split()))
    )
    assert "In few steps\n   1 of 10 steps   10.0 ms  compile    compiles step" in text
    assert "% of step time" not in text


def test_what_three_of_ten_steps_have_is_no_rare_thing() -> None:
    report = ten_steps(2, 5, 8).report()
    (finding,) = [one for one in report.findings if "recompil" in one.rule_id]

    assert finding.few_steps is msgspec.UNSET
    assert "In few steps" not in as_text(report)


def test_the_header_is_silent_where_the_median_tells_the_whole() -> None:
    assert "all together" not in as_text(ten_steps().report())
