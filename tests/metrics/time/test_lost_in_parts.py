"""Time without device work in several small parts."""

from __future__ import annotations

from pytest import approx
from support.trace_builder import TraceBuilder, trace


def steps(python: float, dispatch: float) -> TraceBuilder:
    """Four steps of 1,000 µs, whose device works at first. Then a function of the loop runs, then a dispatch; 50 µs are left
    to the loop itself.
    """
    builder = trace()
    for at in range(0, 4000, 1000):
        busy = 1000 - python - dispatch - 50
        builder.step(at, at + 1000).call("PjitFunction(step)", at, at + 5)
        builder.kernel("GPU:0", "f", at, at + busy, launched=(at, at + 4), hlo_module="jit_step")
        builder.call("$train.py:30 log", at + busy, at + busy + python)
        builder.call("PjitFunction(other)", at + busy + python, at + busy + python + dispatch)
    return builder.call("$train.py:1 main", 0, 4000)


def test_the_classes_without_device_work_together_and_the_largest_of_them() -> None:
    """Of 1,000 µs 90 of a dispatch; 120 in `log` and 50 more of Python are the host's."""
    metrics = steps(120, 90).measure()

    assert metrics.value("lost_fraction") == approx(0.26)
    assert metrics.value("largest_loss_fraction") == approx(0.17)
    assert metrics.fact("largest_loss") == "host 17%: log (train.py:30) on python, 71% of it"
    assert metrics.fact("largest_loss_place") == "log (train.py:30)"


def test_below_a_tenth_the_class_is_named_without_its_activity() -> None:
    """20 and 50 µs of Python, 60 of a dispatch."""
    metrics = steps(20, 60).measure()

    assert metrics.fact("largest_loss") == "host 7.0%"
    assert metrics.fact("largest_loss_place") is None


def test_a_device_that_works_all_the_time_loses_none() -> None:
    metrics = trace().steps(4, period=100).busy("GPU:0", (0, 400)).measure()

    assert metrics.value("lost_fraction") == 0
    assert metrics.fact("largest_loss") is None
