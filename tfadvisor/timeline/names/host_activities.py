"""What a host thread does at an instant, in words, by the names of the events around
it. A table: the first row that holds says it.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tfadvisor.timeline.names.frames import bare_frame, frame_place
from tfadvisor.timeline.names.host_events import (
    SENDING_OPS,
    called_function,
    calls_function,
    is_single_op,
    op_type,
    runs_ops,
    single_op,
)
from tfadvisor.timeline.names.program_calls import jitted_function
from tfadvisor.timeline.names.tf_data import produced_kind, stage_kind, stage_path
from tfadvisor.vocabulary import TimeClass

OWN = "its own lines"
"""Of a function: what runs in it and in nothing that it calls."""
DISPATCHES = "dispatches "
"""Begins the name of an activity that is the call of a compiled function."""
_CALL = "the call itself"
"""Of a dispatched function: what is in no event inside it."""
_SINGLE_OPS = "ops dispatched one by one"
"""TensorFlow's or JAX's ops outside of a compiled function."""
_EXECUTOR = "TensorFlow's executor"
"""It picks and runs the ops of a function on the host."""
_BY_HOST = "the host's part of copies"
"""Into or out of pinned memory, on a thread of the runtime's."""
_SENDS = "hands tensors to the device (_Send)"
"""TensorFlow's executor too: the batch on its way from the iterator, for the most part.
"""


class NamedChain(msgspec.Struct, frozen=True, kw_only=True):
    """The names of the events around an instant of a thread; "" for what it lacks."""

    kind: TimeClass
    """The class that the instant belongs to."""
    leaf: str = ""
    """The innermost event."""
    telling: str = ""
    """The innermost one that is not inside a runtime."""
    user: str = ""
    """The innermost function of the user's program."""
    called: str = ""
    """What that function calls; itself where it calls nothing."""
    dispatched: str = ""
    """The outermost event that names a function or op to be dispatched."""
    stage: str = ""
    """The innermost stage of a tf.data pipeline."""
    waits: bool = False
    """Whether the innermost event only waits."""
    feeds: bool = False
    """Whether the thread works for the input pipeline."""
    functions: frozenset[str] = frozenset()
    """The compiled functions that the program calls."""
    runs_functions: str = ""
    """The only stage of the pipeline that runs functions of the user's."""


CHAIN_NAMES = ("leaf", "telling", "user", "called", "dispatched", "stage")
"""The fields of a chain that are names of events."""


class NamedActivity(msgspec.Struct, frozen=True):
    """What a thread does, as a report says it."""

    activity: str
    """A function, a stage, what is dispatched."""
    detail: str
    """The call, op or event inside it."""
    function: str
    """The user's own, or the compiled one."""
    stage: str
    """Of a tf.data pipeline: `Prefetch::ParallelMap`."""


_Words = Callable[[NamedChain], str]


def called_name(name: str) -> str | None:
    """The compiled function that an event is a call of; None for other events."""
    jitted = jitted_function(name)
    if jitted:
        return jitted
    return called_function(name) if calls_function(name) else None


def plain(name: str) -> str:
    """A frame as people write it, `wait (threading.py:288)`; what calls a function as
    that; other events by their name.
    """
    place = frame_place(name)
    if place is not None:
        file, line, function = place
        return f"{function} ({file}:{line})"
    called = called_name(name)
    return bare_frame(name) if called is None else f"the call of {called}"


def _exactly(text: str) -> _Words:
    return lambda chain: text


_nothing = _exactly("")


def _innermost(chain: NamedChain) -> str:
    return plain(chain.telling)


def _waits_in(chain: NamedChain) -> str:
    return f"waits in {plain(chain.telling)}"


def _user(chain: NamedChain) -> str:
    return plain(chain.user)


def _users_function(chain: NamedChain) -> str:
    place = frame_place(chain.user)
    return "" if place is None else place[2]


def _what_user_calls(chain: NamedChain) -> str:
    if chain.called and chain.called != chain.user:
        return plain(chain.called)
    return plain(chain.telling)


# The input pipeline.


def _works_for_pipeline(chain: NamedChain) -> bool:
    return bool(chain.stage) or (chain.feeds and chain.kind is TimeClass.INPUT)


def _stage(chain: NamedChain) -> str:
    return stage_path(chain.stage) or produced_kind(chain.stage) or chain.runs_functions


def _of_stage(chain: NamedChain) -> str:
    stage = _stage(chain)
    return f"tf.data {stage_kind(stage)}" if stage else "tf.data"


def _inside_stage(chain: NamedChain) -> str:
    if chain.user:
        return plain(chain.user)
    return "" if chain.telling == chain.stage else plain(chain.telling)


# Dispatches and compilations.


def _compiled_function(chain: NamedChain) -> str | None:
    if chain.dispatched:
        return called_name(chain.dispatched)
    inner = plain(chain.telling)
    return inner if inner in chain.functions else None


def _calls_compiled_function(chain: NamedChain) -> bool:
    return _compiled_function(chain) is not None


def _verb(chain: NamedChain) -> str:
    return "compiles" if chain.kind is TimeClass.COMPILE else DISPATCHES.strip()


def _starts_function(chain: NamedChain) -> str:
    return f"{_verb(chain)} {_compiled_function(chain)}"


def _starter_of_function(chain: NamedChain) -> str:
    return _users_function(chain) or _compiled_function(chain) or ""


def _inside_function(chain: NamedChain) -> str:
    if chain.user and chain.kind is TimeClass.LAUNCH:
        return plain(chain.user)
    return _inside_call(chain, _compiled_function(chain))


def _inside_call(chain: NamedChain, called: str | None) -> str:
    """What runs in a call of a function or op, the call itself where that is in no
    event.
    """
    inner = plain(chain.telling)
    if inner in chain.functions or called_name(chain.telling) == called:
        return _CALL
    return inner


def _dispatches_single_op(chain: NamedChain) -> bool:
    return bool(chain.dispatched) and is_single_op(chain.dispatched)


def _single_op(chain: NamedChain) -> str:
    return single_op(chain.dispatched)


def _op(chain: NamedChain) -> str:
    return op_type(chain.dispatched) or chain.dispatched


def _sends(chain: NamedChain) -> bool:
    return _op(chain) in SENDING_OPS


def _dispatches(chain: NamedChain) -> bool:
    return bool(chain.dispatched)


def _dispatched(chain: NamedChain) -> str:
    return chain.dispatched


def _starts_op(chain: NamedChain) -> str:
    return f"{_verb(chain)} op {_op(chain)}"


def _starter_of_op(chain: NamedChain) -> str:
    return _users_function(chain) or _op(chain)


def _inside_op(chain: NamedChain) -> str:
    return _inside_call(chain, _op(chain))


def _picks_ops(chain: NamedChain) -> bool:
    return runs_ops(chain.leaf)


def _leaf(chain: NamedChain) -> str:
    return chain.leaf


# Everything else.


def _dispatches_without_user(chain: NamedChain) -> bool:
    return bool(chain.dispatched) and not chain.user


def _in_dispatched(chain: NamedChain) -> str:
    return f"in {plain(chain.dispatched)}"


def _works_without_user(chain: NamedChain) -> bool:
    return not chain.user and not chain.waits


def _waits_without_user(chain: NamedChain) -> bool:
    return not chain.user and chain.waits


def _waits_for_user(chain: NamedChain) -> bool:
    return bool(chain.user) and chain.waits


def _runs_own_lines(chain: NamedChain) -> bool:
    return bool(chain.user) and chain.called == chain.user == chain.telling


def _runs_users_code(chain: NamedChain) -> bool:
    return bool(chain.user)


def _always(chain: NamedChain) -> bool:
    return True


class ActivityRow(msgspec.Struct, frozen=True):
    """What is said of chains that it holds for."""

    about: str
    """What these chains have in common."""
    kinds: frozenset[TimeClass]
    """The classes that it is asked of."""
    holds: Callable[[NamedChain], bool]
    """Whether it is about a chain of these classes."""
    activity: _Words
    """What the thread does."""
    detail: _Words
    """The call, op or event inside it."""
    function: _Words = _users_function
    """The user's own, or the compiled one."""
    stage: _Words = _nothing
    """Of a tf.data pipeline."""


_ANY = frozenset(TimeClass)
_LAUNCH = frozenset((TimeClass.LAUNCH,))
_COMPILE = frozenset((TimeClass.COMPILE,))
_IDLE = frozenset((TimeClass.IDLE,))
_TRANSFER = frozenset((TimeClass.TRANSFER,))

ACTIVITIES = (
    ActivityRow(
        "a stage of the input pipeline",
        _ANY,
        _works_for_pipeline,
        _of_stage,
        _inside_stage,
        stage=_stage,
    ),
    ActivityRow(
        "the start of a compiled function",
        _LAUNCH | _COMPILE,
        _calls_compiled_function,
        _starts_function,
        _inside_function,
        function=_starter_of_function,
    ),
    ActivityRow(
        "an op outside of compiled functions",
        _LAUNCH,
        _dispatches_single_op,
        _exactly(_SINGLE_OPS),
        _single_op,
    ),
    ActivityRow(
        "a tensor on its way to the device",
        _LAUNCH,
        _sends,
        _exactly(_SENDS),
        _dispatched,
        function=_nothing,
    ),
    ActivityRow(
        "an op that TensorFlow's executor dispatches",
        _LAUNCH,
        _dispatches,
        _exactly(_EXECUTOR),
        _dispatched,
        function=_nothing,
    ),
    ActivityRow(
        "an op that is compiled",
        _COMPILE,
        _dispatches,
        _starts_op,
        _inside_op,
        function=_starter_of_op,
    ),
    ActivityRow(
        "TensorFlow's executor between ops",
        _LAUNCH,
        _picks_ops,
        _exactly(_EXECUTOR),
        _leaf,
    ),
    ActivityRow(
        "a dispatch while nothing is known to be waited for",
        _IDLE,
        _dispatches_without_user,
        _in_dispatched,
        _innermost,
    ),
    ActivityRow(
        "the runtime copying",
        _TRANSFER,
        _works_without_user,
        _exactly(_BY_HOST),
        _innermost,
    ),
    ActivityRow(
        "a runtime that waits",
        _ANY,
        _waits_without_user,
        _waits_in,
        _nothing,
    ),
    ActivityRow(
        "a function of the user's that waits",
        _ANY,
        _waits_for_user,
        _user,
        _waits_in,
    ),
    ActivityRow(
        "a function of the user's by itself",
        _ANY,
        _runs_own_lines,
        _user,
        _exactly(OWN),
    ),
    ActivityRow(
        "a function of the user's in what it calls",
        _ANY,
        _runs_users_code,
        _user,
        _what_user_calls,
    ),
    ActivityRow(
        "an event of a runtime",
        _ANY,
        _always,
        _innermost,
        _nothing,
    ),
)
"""The first that holds decides; the last holds always."""


def row_for(chain: NamedChain) -> ActivityRow:
    """The row of ACTIVITIES that says what a thread does."""
    return next(
        row for row in ACTIVITIES if chain.kind in row.kinds and row.holds(chain)
    )


def named_activity(chain: NamedChain) -> NamedActivity:
    """What a thread does in the innermost of these events."""
    row = row_for(chain)
    return NamedActivity(
        row.activity(chain),
        row.detail(chain),
        row.function(chain),
        row.stage(chain),
    )
