"""An op that waits for neither memory nor arithmetic, from trace to finding."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo
from support.gpu_step import gpu_steps
from support.trace_builder import TraceBuilder

from tfadvisor.vocabulary import Severity

L4 = {
    "gpu_device_name": "NVIDIA L4",
    "memory_bandwidth": 300_000_000_000,
    "compute_cap_major": 8,
    "compute_cap_minor": 9,
}
"""300 GB/s; NVIDIA's data sheet: 30.3 TFLOP/s in fp32."""
FEW = "scatter-into-few-places"
FAR = "op-far-from-limits"
UNEXPLAINED = "op-far-without-cause"
LINE = hlo.metadata("jit(step)/scatter-add", "/home/me/energy.py", 172)
SUM = hlo.computation(
    9,
    hlo.op(91, "parameter", "f32[]"),
    hlo.op(92, "parameter", "f32[]", number=1),
    hlo.op(93, "add", "f32[]", 91, 92),
)


def scatter(*sizes: tuple[int, int]) -> bytes:
    """A program that adds so many values to so many places: 4 bytes an index, 12 a
    value, and the result. Its ops are scatter.4, scatter.14 and so on, of one line.
    """
    ops = []
    for first, (values, places) in zip(range(1, 99, 10), sizes, strict=False):
        given = (f"f32[{places}]", f"s32[{values}]", f"f32[{values}]")
        numbers = range(first, first + 3)
        ops += [
            hlo.op(at, "parameter", shape, number=at - 1)
            for at, shape in zip(numbers, given, strict=True)
        ]
        at = first + 3
        about = {"name": f"scatter.{at}", "calls": [9], "metadata": LINE}
        ops.append(hlo.op(at, "scatter", given[0], *numbers, **about))
    return hlo.module(SUM, hlo.computation(1, *ops))


def sort(values: int, *lines: int) -> bytes:
    """A program that sorts so many numbers: sort.2 on line 172, sort.3 and so on on
    these.
    """
    shape = f"s32[{values}]"
    sorts = [
        hlo.op(
            number,
            "sort",
            shape,
            1,
            name=f"sort.{number}",
            metadata=hlo.metadata("jit(step)/sort", "/home/me/energy.py", line),
        )
        for number, line in enumerate((172, *lines), start=2)
    ]
    return hlo.module(hlo.computation(1, hlo.op(1, "parameter", shape), *sorts))


def steps(op: str, takes: float, program: bytes, **others: float) -> TraceBuilder:
    """Of 100 µs, in which the op takes so many of them. others: `sort_3=20` for more of
    its kind.
    """
    ops = {op.replace(".", "_"): takes} | others
    kernels = [(name, us, name.replace("_", ".")) for name, us in ops.items()]
    return gpu_steps(*kernels, program=program, **L4)


def found(builder: TraceBuilder) -> dict[str, str]:
    """The summary of each finding about far ops."""
    rules = (FEW, FAR, UNEXPLAINED)
    report = builder.report()
    return {one.rule_id: one.summary for one in report.findings if one.rule_id in rules}


def test_a_scatter_into_few_places_is_told_with_its_cause() -> None:
    """4,800 values into 24 places: 200 for each. 76,800 bytes in 90 µs are 853 MB/s."""
    told = found(steps("scatter.4", 90, scatter((4_800, 24))))

    assert list(told) == [FEW]
    assert "scatter.4 (energy.py:172)" in told[FEW]
    assert "scatter-add of 4,800 values into f32[24]" in told[FEW]
    assert "200 values for each place" in told[FEW]
    assert "853 MB/s of 300 GB/s" in told[FEW]


def test_a_scatter_into_places_enough_is_far_for_another_reason() -> None:
    """4,800 values into 4,800 places."""
    told = found(steps("scatter.4", 90, scatter((4_800, 4_800))))

    assert list(told) == [UNEXPLAINED]


def test_what_the_trace_does_not_explain_is_a_question() -> None:
    report = steps("scatter.4", 90, scatter((4_800, 4_800))).report()
    (finding,) = (one for one in report.findings if one.rule_id == UNEXPLAINED)

    assert finding.severity is Severity.LOW
    assert finding.ask


def a_call(inside: str) -> bytes:
    """A program of one call, of 4,800 sums in another one or in a loop of a round."""
    row = "f32[4800]"
    rounds = {"known_trip_count": {"n": "1"}} if inside == "while" else {}
    inner = hlo.op(22, inside, row, 21, calls=[1], config=rounds)
    return hlo.module(
        hlo.computation(
            1, hlo.op(11, "parameter", row), hlo.op(12, "add", row, 11, 11)
        ),
        hlo.computation(2, hlo.op(21, "parameter", row), inner),
        hlo.computation(
            3,
            hlo.op(31, "parameter", row),
            hlo.op(32, "call", row, 31, calls=[2], name="call.3", metadata=LINE),
        ),
        entry=3,
    )


@pytest.mark.parametrize(("inside", "rules"), [("call", [UNEXPLAINED]), ("while", [])])
def test_what_a_loop_within_a_call_needs_is_not_known_to_be_far(
    inside: str, rules: list[str]
) -> None:
    builder = steps("call.3", 90, a_call(inside))

    assert list(found(builder)) == rules
    assert not builder.report().verdict.healthy


def test_a_sort_far_from_its_limits_is_told_with_what_it_does() -> None:
    """8,000 bytes in 90 µs are 88.9 MB/s, and 1,000 · 10 comparisons 111 MFLOP/s."""
    told = found(steps("sort.2", 90, sort(1_000)))

    assert list(told) == [FAR]
    assert "sort of s32[1000]" in told[FAR]
    assert "88.9 MB/s of 300 GB/s and 111 MFLOP/s of 30.3 TFLOP/s" in told[FAR]


def test_ops_of_one_line_are_told_together() -> None:
    """40 and 30 µs on line 172, 25 on another. 16,000 bytes in 70 µs are 229 MB/s, and
    20,000 comparisons 286 MFLOP/s.
    """
    (told,) = found(
        steps("sort.2", 40, sort(1_000, 172, 9), sort_3=30, sort_4=25)
    ).values()

    assert told.startswith(
        "70% of step time goes to 2 ops of energy.py:172, the largest sort.2, a sort"
    )
    assert "229 MB/s of 300 GB/s and 286 MFLOP/s of 30.3 TFLOP/s" in told


def test_scatters_into_few_places_are_told_apart_from_others_of_their_line() -> None:
    """4,800 values into 24 places and into 4,800, for 50 and 40 µs."""
    program = scatter((4_800, 24), (4_800, 4_800))
    told = found(steps("scatter.4", 50, program, scatter_14=40))

    assert list(told) == [FEW]
    assert "50% of step time goes to scatter.4 (energy.py:172)" in told[FEW]


@pytest.mark.parametrize(
    ("takes", "values"),
    [
        (9, 1_000),  # less than a tenth of the step
        (19, 1_000),  # shorter than 20 µs: what it waits for is its launch
        (90, 400_000),  # 3.2 MB take 10.7 µs: more than a tenth of 90
    ],
)
def test_what_is_small_tiny_or_not_far_is_not_told(takes: float, values: int) -> None:
    assert found(steps("sort.2", takes, sort(values))) == {}


def test_without_rates_nothing_is_far() -> None:
    builder = gpu_steps(("sort_2", 90, "sort.2"), program=sort(1_000))

    assert found(builder) == {}
