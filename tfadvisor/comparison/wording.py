"""Sentences about a comparison, for the terminal and for Markdown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfadvisor.comparison.result import Cause, Comparison, FindingChange, Head, MetricChange
from tfadvisor.printable import one_line, short_kernel
from tfadvisor.units import Unit, counted, duration, in_words, percent

UNEVEN = "steps that are far longer or shorter than the middle one: the causes above count them, the median does not"
TOTAL = "total, median step time"
_SHOWN = 12
_WORTH_A_LINE = 0.005
_TIMES = 4.0
"""From this factor on a change is said as one, and not in per cent."""
_OVERLAP = {
    "collective": "other work hides {} of the collectives",
    "transfer": "other work hides {} of the copies",
}


def signed(milliseconds: float) -> str:
    """`+1.25 ms`, `−310 µs`."""
    return f"{'−' if milliseconds < 0 else '+'}{duration(abs(milliseconds))}"


def head_words(head: Head) -> str:
    """`40 steps, median 2.02 ms ± 24 µs`."""
    error = f" ± {duration(head.error_ms)}" if head.error_ms is not None else ""
    steps = f"{head.steps} steps" if head.steps != 1 else "1 step"
    return f"{steps}, median {duration(head.median_ms)}{error}"


def verdict_words(comparison: Comparison) -> str:
    """`The step takes 410 µs (+18%) more: compute +401 µs, launch +10 µs.`"""
    change = comparison.median_change_ms
    if comparison.refused:
        return f"These runs are not comparable: {one_line('; '.join(comparison.refused))}."
    if comparison.same:
        return "Both are the same trace."
    if abs(comparison.median_change_fraction) < 0.0005:
        return f"The step takes as long as before: {duration(comparison.new.median_ms)}."
    parts = [
        f"{one.name} {signed(one.change_ms)}"
        for one in sorted(comparison.classes, key=lambda one: -abs(one.change_ms))
        if abs(one.change_ms) >= 0.05 * abs(change)
    ]
    factor, more = comparison.new.median_ms / comparison.base.median_ms, "more" if change > 0 else "less"
    if factor >= _TIMES:
        return f"The step takes {factor:.0f} times as long, {signed(change)}: {', '.join(parts[:4])}."
    share = percent(abs(comparison.median_change_fraction))
    return f"The step takes {duration(abs(change))} ({share}) {more}: {', '.join(parts[:4])}."


def shown_causes(comparison: Comparison) -> tuple[list[Cause], list[tuple[float, str]]]:
    """The causes worth a line, and what is left of the change of the median step, in words; none of runs of other kinds."""
    if comparison.refused:
        return [], []
    enough = _WORTH_A_LINE * comparison.base.mean_ms
    shown = [cause for cause in comparison.causes[:_SHOWN] if abs(cause.change_ms) >= enough]
    shown = shown or list(comparison.causes[:1])
    others, uneven = comparison.change_ms - sum(cause.change_ms for cause in shown), -comparison.uneven_ms
    if abs(uneven) < enough:
        others, uneven = others + uneven, 0.0
    left = [(others, "everything else"), (uneven, UNEVEN)]
    return shown, [(ms, words) for ms, words in left if abs(ms) > 1e-3 * abs(comparison.change_ms)]


def cause_words(cause: Cause, name_in: Callable[[str], str] = one_line) -> str:
    """What a cause is, without its class and number. name_in: how a name from a trace is written."""
    if cause.kind == "class":
        return f"{_span(cause.base_ms, cause.new_ms)} per step in which no device works"
    if cause.kind == "late host":
        return f"{_span(cause.base_ms, cause.new_ms)} per step in which the others wait for one host, busy with this"
    if cause.kind == "overlap":
        return f"overlap: {_OVERLAP[cause.class_name].format('less' if cause.change_ms > 0 else 'more')}"
    if cause.kind == "unchanged ops":
        return "ops whose work did not change, all together: probably the machine, not the program"
    op = cause.op
    if op is None:
        return "all other ops together"
    name = name_in(short_kernel(op.name))
    what = f"{op.number} ops like {name}" if op.number > 1 else name
    if op.status != "changed":
        times = duration(op.new_op_ms if op.status == "new" else op.base_op_ms)
        count = op.new_count if op.status == "new" else op.base_count
        words = f"{what}: {op.status}, {times} per step, {_times(count)}"
    else:
        renamed = f" (was {name_in(short_kernel(op.before))}, matched by {op.by})" if op.before else ""
        words = f"{what}{renamed}: {_span(op.base_op_ms, op.new_op_ms)} per step"
        if abs(op.new_count - op.base_count) > 0.01 * max(op.new_count, op.base_count):
            words += f", {_times(op.base_count)} → {_times(op.new_count)}"
    place = name_in(f"{op.file}:{op.line}" if op.line else op.file) if op.file else ""
    return f"{words}, {place}" if place else words


def metric_words(change: MetricChange) -> str:
    """`kernels_per_step 25 → 37`."""
    unit = Unit(change.unit)
    return f"{change.metric} {in_words(change.base, unit)} → {in_words(change.new, unit)}"


def finding_words(change: FindingChange) -> str:
    """`new finding: …` or `no longer found: …`."""
    place = f" ({one_line(change.place)})" if change.place else ""
    return f"{'new finding' if change.appeared else 'no longer found'}: {one_line(change.title)}{place}"


def speed_words(comparison: Comparison) -> str:
    """About the machine's speed; empty when it is the same, or not known."""
    speed = comparison.speed
    if speed is None or abs(speed.factor - 1) < 0.03:
        return ""
    more = "longer" if speed.factor > 1 else "less time"
    return (
        f"{speed.ops} ops whose work did not change take {percent(abs(speed.factor - 1))} {more} throughout: that much may be "
        "the machine, not the program."
    )


def beside_words(comparison: Comparison, shown: Sequence[Cause]) -> list[str]:
    """What speaks for the causes that are shown: metrics of their classes, findings, the machine's speed."""
    if comparison.refused:
        return []
    named = {cause.class_name for cause in shown}
    beside = [metric_words(one) for one in comparison.metrics if one.class_name in named]
    beside += [finding_words(one) for one in comparison.findings]
    beside += [words] if (words := speed_words(comparison)) else []
    return list(dict.fromkeys(beside))


def _times(count: float) -> str:
    rounded = round(count, 2)
    return counted(f"{rounded:g}", "time", "times")


def _span(before: float | None, after: float | None) -> str:
    return f"{duration(before or 0.0)} → {duration(after or 0.0)}"
