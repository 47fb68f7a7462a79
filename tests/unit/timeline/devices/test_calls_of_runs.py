"""Which call dispatched which run, where only their order tells: a window may cut off
the first run's call or the last one's.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.trace_builder import trace

from tfadvisor.timeline.devices.cpu_thunks import runs_before_calls

PS = 1_000_000


def early(calls: list[int], runs: list[tuple[int, int]]) -> int | None:
    begins, ends = (np.array(column, np.int64) for column in zip(*runs, strict=True))
    return runs_before_calls(np.array(calls, np.int64), begins, ends)


@pytest.mark.parametrize(
    ("calls", "runs", "expected"),
    [
        ([0, 10, 20], [(1, 5), (11, 15), (21, 25)], 0),
        # the first run was called before the trace began
        ([10, 20], [(1, 5), (11, 15), (21, 25)], 1),
        # the call of the last run was still open when the trace ended: each call
        # follows the end of the run before
        ([0, 10], [(1, 5), (11, 15), (21, 25)], 0),
        # a host that is ahead: it calls while earlier runs go on, and waits for the
        # last before it stops the trace
        ([2, 4, 6], [(1, 10), (10, 20), (20, 30), (30, 40), (40, 50)], 2),
        # the last call's run was not recorded
        ([0, 10, 20], [(1, 5), (11, 15)], 0),
        # the first call was lost, and the last run
        ([10, 20, 30], [(1, 5), (11, 15), (21, 25)], 1),
        # calls after all runs fit none
        ([30, 40], [(1, 5), (11, 15)], None),
        ([], [(1, 5)], None),
    ],
)
def test_runs_that_were_called_before_the_trace_began(
    calls: list[int], runs: list[tuple[int, int]], expected: int | None
) -> None:
    assert early(calls, runs) == expected


def test_a_recording_that_ends_within_a_call_ties_each_run_to_its_own() -> None:
    """Steps of 100 µs: a call, its run of 50 µs, and a wait. The fifth call is still
    open at the end, so it is missing.
    """
    builder = trace().thread("python")
    for at in range(0, 400, 100):
        builder.call("PjitFunction(step)", at, at + 5)
    builder.thread("tf_XLAEigen/1")
    for run, at in enumerate(range(0, 500, 100)):
        builder.call(
            "dot.1",
            at + 10,
            at + 60,
            hlo_op="dot.1",
            hlo_module="jit_step",
            run_id=run + 1,
            device_ordinal=0,
        )

    ops = builder.timeline().devices[0].ops

    assert ops.launch_start.tolist() == [0, 100 * PS, 200 * PS, 300 * PS, -1]
    assert ops.launch_end.tolist() == [5 * PS, 105 * PS, 205 * PS, 305 * PS, -1]
