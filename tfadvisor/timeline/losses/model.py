"""What a class of lost time is spent on, by name and place."""

from __future__ import annotations

import msgspec

from tfadvisor.vocabulary import TimeClass


class Activity(msgspec.Struct, frozen=True):
    """One thing that runs, or waits, during the time of a class."""

    name: str
    """The innermost event, as the trace names it: a Python frame without its `$`, a call of the runtime, an op; "" where
    the trace names none."""
    calls: str
    """What the user's function calls of which that is a part; "" where it is the same, or no such function is known."""
    place: str
    """The innermost function of the user's own program around it, `save (train.py:42)`; of an op of a compiled program, the
    line that it comes from; "" where the trace does not tell."""
    thread: str
    """The thread's name, or the device's."""
    before: str
    """Where nothing is named: the event after which the time begins, "" where there is none."""
    after: str
    """Where nothing is named: the event that ends the time, "" where there is none."""
    ps: int
    """How much of the class's time in the counted steps it fills."""


class LostTime(msgspec.Struct, frozen=True):
    """One class of lost time on the first active device, or on the host without one."""

    kind: TimeClass
    """The class."""
    ps: int
    """Its time in the counted steps."""
    activity: Activity
    """What fills most of it."""
