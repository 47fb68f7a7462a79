"""When asynchronous thunks end: their mark, or the work that the marking thread went on
with.
"""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

from tfadvisor.vocabulary import TimeClass

PS = 1_000_000


def thunk(
    builder: TraceBuilder, name: str, start: float, end: float, **stats: object
) -> TraceBuilder:
    return builder.call(name, start, end, hlo_op=name, device_ordinal=0, **stats)


def started(start: float = 10, end: float = 12) -> TraceBuilder:
    """A step in which thread 1 starts `dot.1` without waiting for it; thread 2
    follows.
    """
    builder = trace().step(0, 10_000).thread("tf_XLAEigen/1")
    return thunk(builder, "dot.1", start, end, _p=77).thread("tf_XLAEigen/2")


def end_of(builder: TraceBuilder, name: str = "dot.1") -> float:
    """µs."""
    (device,) = builder.timeline().devices
    (row,) = (
        index
        for index, one in enumerate(device.ops.name.tolist())
        if device.ops.names[one] == name
    )
    return int(device.ops.end[row]) / PS


def test_a_thunk_ends_with_its_mark() -> None:
    assert end_of(started().call("end: dot.1", 60, 60.5, _c=77)) == 60


def test_without_a_mark_a_thunk_ends_with_its_event() -> None:
    assert end_of(started()) == 12
    assert end_of(started().call("end: dot.1", 60, 60.5, _c=78)) == 12


def test_a_mark_written_after_the_next_thunk_is_late() -> None:
    """The thread that finished `dot.1` ran `add.2` from 30 to 50 and only then wrote
    the mark: `dot.1` ended by 30.
    """
    builder = thunk(started(), "add.2", 30, 50).call("end: dot.1", 50.5, 51, _c=77)

    assert end_of(builder) == 30
    assert end_of(builder, "add.2") == 50


def test_a_mark_written_after_a_chain_of_thunks_is_late_by_all_of_it() -> None:
    """The chain ends with a collective that waits for others."""
    builder = thunk(thunk(started(), "add.2", 30, 50), "all-reduce.3", 52, 9000)

    assert end_of(builder.call("end: dot.1", 9001, 9002, _c=77)) == 30


def test_a_mark_on_the_thread_that_started_the_thunk_may_be_late_too() -> None:
    builder = thunk(started().thread("tf_XLAEigen/1"), "add.2", 13, 40)

    assert end_of(builder.call("end: dot.1", 41, 42, _c=77)) == 13


@pytest.mark.parametrize(("mark", "expected"), [(300, 30), (300.000001, 300.000001)])
def test_after_a_pause_of_250_us_the_mark_is_no_work_of_before(
    mark: float, expected: float
) -> None:
    """`add.2` ended at 50."""
    builder = thunk(started(), "add.2", 30, 50)

    assert end_of(builder.call("end: dot.1", mark, mark + 1, _c=77)) == pytest.approx(
        expected, rel=0, abs=1e-6
    )


@pytest.mark.parametrize(("second", "expected"), [(300, 30), (300.000001, 300.000001)])
def test_a_pause_of_250_us_breaks_a_chain(second: float, expected: float) -> None:
    """Between `add.2`, which ended at 50, and `mul.3`, after which the mark was
    written.
    """
    builder = thunk(thunk(started(), "add.2", 30, 50), "mul.3", second, 400)

    assert end_of(builder.call("end: dot.1", 401, 402, _c=77)) == pytest.approx(
        expected, rel=0, abs=1e-6
    )


def test_a_thunk_that_began_before_did_not_wait_for_it() -> None:
    """`exp.9` on the marking thread runs from 5 to 55 whatever becomes of `dot.1`,
    which began at 10.
    """
    builder = thunk(started(), "exp.9", 5, 55)

    assert end_of(builder.call("end: dot.1", 60, 60.5, _c=77)) == 60


def test_of_a_chain_that_began_before_only_what_followed_could_wait() -> None:
    """`exp.9` from 5 to 20 is independent, `add.2` from 30 on came after."""
    builder = thunk(thunk(started(), "exp.9", 5, 20), "add.2", 30, 50)

    assert end_of(builder.call("end: dot.1", 51, 52, _c=77)) == 30


def test_thunks_of_other_threads_do_not_delay_a_mark() -> None:
    builder = thunk(started(), "add.2", 30, 59)

    assert (
        end_of(builder.thread("tf_XLAEigen/3").call("end: dot.1", 60, 61, _c=77)) == 60
    )


def test_a_thunk_never_ends_before_its_own_event() -> None:
    assert end_of(started(10, 90).call("end: dot.1", 60, 60.5, _c=77)) == 90


def test_a_mark_before_the_thunk_is_anothers() -> None:
    """Ids are used again."""
    assert end_of(started().call("end: dot.1", 3, 4, _c=77)) == 12


def test_each_thunk_has_its_own_mark() -> None:
    """Marked in the other order than started, by different threads."""
    builder = thunk(started().thread("tf_XLAEigen/1"), "dot.2", 14, 15, _p=78)
    builder.thread("tf_XLAEigen/2").call("end: dot.2", 40, 41, _c=78)
    builder.thread("tf_XLAEigen/3").call("end: dot.1", 70, 71, _c=77)

    assert end_of(builder, "dot.1") == 70
    assert end_of(builder, "dot.2") == 40


def test_events_may_lie_out_of_order_in_the_file() -> None:
    """The profiler writes an event when it ends; `dot.2` began after `dot.1` and stands
    before it.
    """
    builder = trace().step(0, 1000).thread("tf_XLAEigen/1")
    thunk(builder, "dot.2", 100, 102, _p=78)
    thunk(builder, "dot.1", 10, 12, _p=77)
    builder.thread("tf_XLAEigen/2").call("end: dot.2", 150, 151, _c=78).call(
        "end: dot.1", 60, 61, _c=77
    )

    assert end_of(builder, "dot.1") == 60
    assert end_of(builder, "dot.2") == 150


def run(
    builder: TraceBuilder,
    number: int,
    *events: tuple[str, float, float],
    **stats: object,
) -> TraceBuilder:
    """Thunks of one run of `jit_step`."""
    for name, start, end in events:
        thunk(builder, name, start, end, run_id=number, hlo_module="jit_step", **stats)
    return builder


def test_a_mark_in_the_same_run_is_kept() -> None:
    """The next run begins at 1,000, long after the mark at 60."""
    builder = trace().step(0, 2000).thread("tf_XLAEigen/1")
    run(builder, 1, ("dot.1", 10, 12), _p=77)
    run(builder, 2, ("add.2", 1000, 1100)).thread("tf_XLAEigen/2").call(
        "end: dot.1", 60, 61, _c=77
    )

    assert end_of(builder) == 60


def test_a_mark_of_the_last_run_may_be_late() -> None:
    builder = trace().step(0, 2000).thread("tf_XLAEigen/1")
    run(builder, 1, ("dot.1", 10, 12), _p=77).thread("tf_XLAEigen/2").call(
        "end: dot.1", 900, 901, _c=77
    )

    assert end_of(builder) == 900


def test_a_run_of_another_program_bounds_nothing() -> None:
    builder = trace().step(0, 2000).thread("tf_XLAEigen/1")
    run(builder, 1, ("dot.1", 10, 12), _p=77)
    thunk(builder, "sum.9", 300, 310, run_id=2, hlo_module="jit_loss")
    builder.thread("tf_XLAEigen/2").call("end: dot.1", 900, 901, _c=77)

    assert end_of(builder) == 900


def test_a_mark_in_the_next_run_leaves_the_end_of_its_own() -> None:
    """`dot.1` is marked at 1,600, in the all-reduce of the next run from 1,000 on. Its
    own run's last thunk ended at 400.
    """
    builder = trace().step(0, 1000).step(1000, 2000).thread("tf_XLAEigen/1")
    run(builder, 1, ("dot.1", 10, 12), _p=77)
    run(builder, 1, ("all-reduce.3", 100, 400))
    run(builder, 2, ("all-reduce.4", 1000, 1900))
    builder.thread("tf_XLAEigen/2").call("end: dot.1", 1600, 1601, _c=77)

    assert end_of(builder) == 400


def test_the_all_reduce_of_the_next_step_is_no_compute() -> None:
    """Of the step from 1,000 to 2,000 the all-reduce takes 900 of 1,000 µs, and nothing
    computes; the step before computes for 10 µs and communicates from 400 to 700. Two
    devices, as XLA asks the HLO only then; both do the same.
    """
    builder = trace().step(0, 1000).step(1000, 2000)
    for device in (0, 1):
        builder.thread(f"tf_XLAEigen/{device}1")
        for name, start, end, number, marked in (
            ("dot.1", 10, 20, 1, 77 + device),
            ("all-reduce.3", 400, 700, 1, 0),
            ("all-reduce.3", 1000, 1900, 2, 0),
        ):
            stats = {
                "hlo_op": name,
                "device_ordinal": device,
                "run_id": number,
                "hlo_module": "jit_step",
            }
            builder.call(
                name, start, end, **stats, **({"_p": marked} if marked else {})
            )
        builder.thread(f"tf_XLAEigen/{device}2").call(
            "end: dot.1", 1600, 1601, _c=77 + device
        )
    host = builder.build().hosts[0]

    assert host.breakdown[:, 1, TimeClass.COMPUTE].tolist() == [0, 0]
    assert host.breakdown[:, 1, TimeClass.COLLECTIVE].tolist() == [900 * PS, 900 * PS]
