"""Two sides in, a comparison out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from tfadvisor.comparison.result import Comparison, FindingChange, Head, MetricChange
from tfadvisor.comparison.side import Found, Side
from tfadvisor.comparison.split import split

_SPEAKS_ABOUT = {
    "compute": (
        "kernels_per_step",
        "fp16_kernel_share",
        "tensor_core_kernel_share",
        "fp32_matrix_share",
        "median_kernel_us",
    ),
    "collective": (
        "collectives_per_step",
        "allreduce_bytes_per_step",
        "collective_overlap_fraction",
        "collective_wait_fraction",
    ),
    "transfer": ("h2d_bytes_per_step", "d2h_bytes_per_step", "d2d_bytes_per_step", "d2h_copies_per_step"),
    "input": ("input_stage_ms_per_step", "input_stage_calls_per_step", "input_overlap_fraction"),
    "launch": (
        "dispatches_per_step",
        "kernels_per_step",
        "eager_op_share",
        "kernel_launch_latency_us",
        "graph_launches_per_step",
    ),
    "compile": ("retraces_in_steady_state",),
    "host": ("d2h_copies_per_step",),
}
_WORTH_TELLING = 0.02


def compare_sides(base: Side, new: Side, *, differences: Sequence[str] = (), same: bool = False) -> Comparison:
    """The change of the mean step time and its causes."""
    classes, causes, pairs, speed = split(base, new)
    return Comparison(
        base=_head(base),
        new=_head(new),
        change_ms=new.mean_ms - base.mean_ms,
        classes=classes,
        causes=causes,
        metrics=tuple(_metrics(base, new)),
        findings=tuple(_findings(base, new)),
        speed=speed,
        matched=dict(Counter(pair.by or ("gone" if pair.base else "new") for pair in pairs)),
        differences=tuple(differences),
        same=same,
    )


def _head(side: Side) -> Head:
    return Head(side.name, side.steps, side.mean_ms, side.median_ms, side.median_error_ms)


def _metrics(base: Side, new: Side) -> list[MetricChange]:
    found = []
    for name, metrics in _SPEAKS_ABOUT.items():
        for metric in metrics:
            before, after = base.metrics.get(metric), new.metrics.get(metric)
            if before is None or after is None:
                continue
            if abs(after - before) > _WORTH_TELLING * max(abs(before), abs(after)):
                found.append(MetricChange(name, metric, new.units[metric], before, after))
    return found


def _findings(base: Side, new: Side) -> list[FindingChange]:
    before, after = {one.rule_id for one in base.findings}, {one.rule_id for one in new.findings}
    appeared = [FindingChange(*_words(one), True) for one in new.findings if one.rule_id not in before]
    gone = [FindingChange(*_words(one), False) for one in base.findings if one.rule_id not in after]
    return appeared + gone


def _words(one: Found) -> tuple[str, str, str, str]:
    return one.rule_id, one.category, one.title, one.place
