"""The steps that the page draws: the median and the worst at once, the others when they are asked for."""

from __future__ import annotations

import numpy as np

from tfadvisor.report.page.model import DrawnStep, LaneInfo
from tfadvisor.timeline.names.devices import instruction_name
from tfadvisor.timeline.picture.step_picture import StepPicture
from tfadvisor.timeline.run.run_summary import RunSummary

_MOST_EVENTS = 24_000
_PS_PER_NS = 1_000


def drawn_steps(run: RunSummary) -> tuple[tuple[DrawnStep, ...], tuple[DrawnStep, ...], int]:
    """(median and worst of each host as long as the page stays light, all others, how many hosts are left out)."""
    found: list[DrawnStep] = []
    others: list[DrawnStep] = []
    left, left_out = _MOST_EVENTS, 0
    for host, offset in zip(run.hosts, run.meetings.clocks.offset_ps, strict=True):
        first = [one for one in host.evidence.pictures if one.which != "other"]
        rest = [one for one in host.evidence.pictures if one.which == "other"]
        others += [drawn_step(host.host, one, offset) for one in rest]
        size = sum(len(one.rows) for one in first)
        if size > left:
            left_out += 1
            others += [drawn_step(host.host, one, offset) for one in first]
        else:
            left -= size
            found += [drawn_step(host.host, one, offset) for one in first]
    return tuple(found), tuple(others), left_out


def drawn_step(host: str, picture: StepPicture, offset_ps: int | None) -> DrawnStep:
    """offset_ps: of the host's clock, None where that is not known."""
    rows = picture.rows
    start, end = rows.start // _PS_PER_NS, (rows.start + rows.length) // _PS_PER_NS
    return DrawnStep(
        host=host,
        which=picture.which,
        index=picture.index,
        at_ns=None if offset_ps is None else (picture.start_ps - offset_ps) // _PS_PER_NS,
        span_ns=picture.span_ps // _PS_PER_NS,
        lanes=tuple(LaneInfo(one.role, one.device, one.name, one.around, one.deeper) for one in picture.lanes),
        lane=rows.lane.astype(np.int64),
        depth=rows.depth.astype(np.int64),
        start=start,
        length=end - start,
        kind=rows.kind.astype(np.int64),
        name=rows.name.astype(np.int64),
        events=rows.events,
        busy=rows.busy // _PS_PER_NS,
        names=tuple(instruction_name(one) if one.startswith("%") else one for one in rows.names),
        threads_left_out=picture.threads_left_out,
    )
