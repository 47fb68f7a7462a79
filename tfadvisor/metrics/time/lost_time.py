"""What each class of lost time is spent on, and where in the user's program."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact
from tfadvisor.metrics.steady import counted_hosts
from tfadvisor.timeline.losses.model import Activity, LostTime
from tfadvisor.units import percent
from tfadvisor.vocabulary import TimeClass

UNNAMED = "work that the trace does not name"
"""How an activity begins of which the trace says nothing."""


def _lost(question: Question, kind: TimeClass) -> LostTime:
    """The class's time on the host that loses most of it. Raises MetricAbsent where it is small everywhere."""
    found = [one for host in counted_hosts(question.run) for one in host.evidence.losses if one.kind is kind]
    if not found:
        raise MetricAbsent(f"less than a tenth of step time is of the class {kind.label}")
    return max(found, key=lambda one: one.ps)


def activity_of(question: Question, kind: TimeClass) -> str:
    """What fills most of a class, on which thread, and how much of it. Raises MetricAbsent below a tenth of step time."""
    lost = _lost(question, kind)
    one = lost.activity
    thread = f" on {one.thread}" if one.thread else ""
    return f"{_what(one)}{thread}, {percent(one.ps / max(lost.ps, 1))} of it"


def _what(one: Activity) -> str:
    """The activity without its thread: `wait (threading.py:288) in save (checkpointer.py:42), called by train (train.py:10)`."""
    if not one.name:
        around = [f"after {one.before}"] if one.before else []
        around += [f"before {one.after}"] if one.after else []
        return f"{UNNAMED}, {' and '.join(around)}" if around else UNNAMED
    inner = f"{one.name} in {one.calls}" if one.calls else one.name
    if not one.place or one.place == one.name:
        return inner
    if one.place.startswith(f"{one.name} ("):  # an op of a compiled program and its own line
        return one.place
    return f"{inner}, called by {one.place}"


def place_in(question: Question, kind: TimeClass) -> str:
    """The user's function around it. Raises MetricAbsent where none is known."""
    place = _lost(question, kind).activity.place
    if not place:
        raise MetricAbsent("no function of the user's program is known around it")
    return place


def _register_activity(kind: TimeClass) -> None:
    def activity(question: Question) -> str:
        return activity_of(question, kind)

    activity.__name__ = f"{kind.label}_activity"
    activity.__doc__ = (
        f"What fills most of the breakdown class `{kind.label}`: the event, what the user's function calls of which it is a"
        " part, that function, the thread or device, and its share of the class. Absent below a tenth of step time."
    )
    fact(activity)


def _register_place(kind: TimeClass) -> None:
    def place(question: Question) -> str:
        return place_in(question, kind)

    place.__name__ = f"{kind.label}_place"
    place.__doc__ = (
        f"The innermost function of the user's program around what fills most of the breakdown class `{kind.label}`, or the"
        " line that its op comes from: `save (train.py:42)`. Needs Python frames, or HLO."
    )
    fact(place)


for _kind in (TimeClass.COLLECTIVE, TimeClass.IDLE):
    _register_activity(_kind)
for _kind in TimeClass:
    if _kind not in (TimeClass.COMPUTE, TimeClass.IDLE):
        _register_place(_kind)
