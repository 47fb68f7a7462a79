"""Which ops Python dispatches one by one in each step, and which lines call them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric, once
from tfadvisor.metrics.steady import counted_hosts, counted_steps
from tfadvisor.tallies import added_up
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.names.frames import place_in_words
from tfadvisor.timeline.names.host_activities import DISPATCHES
from tfadvisor.timeline.names.host_events import is_single_op, single_op
from tfadvisor.timeline.names.program_calls import (
    function_of_module,
    jitted_function,
    module_of_call,
    without_marks,
)
from tfadvisor.timeline.run import RunSummary
from tfadvisor.timeline.summary import HostSummary, OpTable
from tfadvisor.units import Unit, percent
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    from tfadvisor.causes import RunShare

_MOST_NAMED = 3
_INNER = ("_", "<", "the call of ")
"""Begin the names of what no program calls by its name."""
_MOST = 0.5
"""Of the compute time, that one program must hold to be the step."""
_SCHEDULES = ("_schedule.py", "_join.py")
"""Files in which optax computes a learning rate from a step's number."""
KEYS = ("threefry", "random_bits", "random_split", "random_wrap", "fold_in")
"""Words in the names of JAX's programs that make random keys or bits."""


class _Call(msgspec.Struct, frozen=True):
    """A call, on one line of the program, of what runs ops one by one."""

    file: str
    line: int
    function: str
    """Of the program, around the line."""
    called: str
    """What it calls there, without its place. The function itself where no line of the
    call is known, and where a library's inner function is all that it calls.
    """
    fraction: float
    """Of step time: the dispatches, and what lies between them, while no device
    works.
    """
    ops: tuple[str, ...]
    """Modules that it runs."""
    callee_file: str
    """Of what it calls, "" when not known."""


def _one_op_modules(host: HostSummary) -> frozenset[str]:
    """As `without_marks` has them."""
    return frozenset(
        without_marks(device.ops.names[module])
        for device in host.devices
        for module in device.ops.modules_of_few_ops().tolist()
    )


@once
def _hosts(run: RunSummary) -> list[tuple[HostSummary, frozenset[str]]]:
    """The counted hosts, each with its modules of one op."""
    return [(host, _one_op_modules(host)) for host in counted_hosts(run)]


@once
def ops_by_name(question: Question) -> Mapping[str, int]:
    """How often the counted steps dispatch each op on its own, the commonest first."""
    found: dict[str, int] = {}
    for host, small in _hosts(question.run):
        for name, many in host.evidence.calls.by_name.items():
            module = module_of_call(name)
            if is_single_op(name):
                op = single_op(name)
            elif module is not None and without_marks(module) in small:
                op = jitted_function(name) or ""
            else:
                continue
            found[op] = found.get(op, 0) + many
    return dict(sorted(found.items(), key=lambda item: -item[1]))


@metric(unit=Unit.COUNT)
def ops_one_by_one(question: Question) -> float:
    """Number of ops per step that the driving thread dispatches on their own:
    TensorFlow's eager ops, and JAX's programs of one or two ops.
    """
    return sum(ops_by_name(question).values()) / counted_steps(_dispatching(question))


@metric(unit=Unit.COUNT)
def compiled_calls_per_step(question: Question) -> float:
    """Number of calls of compiled functions per step: what the driving thread
    dispatches, less the ops that it dispatches on their own.
    """
    hosts = _dispatching(question)
    calls = sum(host.evidence.calls.dispatches for host in hosts)
    return (calls - sum(ops_by_name(question).values())) / counted_steps(hosts)


def _dispatching(question: Question) -> list[HostSummary]:
    """The counted hosts that dispatch anything by name. Raises MetricAbsent."""
    hosts = counted_hosts(question.run)
    found = [host for host in hosts if host.evidence.calls.by_name]
    if not found:
        raise MetricAbsent("no thread of this trace dispatches programs or ops by name")
    return found


@fact
def one_by_one_ops(question: Question) -> str:
    """Which ops these are, the commonest first: `multiply, add, true_divide and 10
    more`.
    """
    names = list(ops_by_name(question))
    if not names:
        raise MetricAbsent("no op is dispatched on its own")
    return _enumerated(names)


def _enumerated(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    last = [f"{more:,} more"] if more > 0 else names[:_MOST_NAMED][-1:]
    others = names[:_MOST_NAMED] if more > 0 else names[:-1]
    return " and ".join([*filter(None, [", ".join(others)]), *last])


@fact
def compiled_step(question: Question) -> str:
    """The compiled function of more than two ops in which the devices spend most of
    their compute time: `train_step`. Known where ops of programs are, as in JAX.
    """
    most = step_function(question.run)
    if most is None:
        raise MetricAbsent("no compiled function holds most of what the devices do")
    return most


def step_function(run: RunSummary) -> str | None:
    """As the fact `compiled_step`; None where there is none."""
    time = added_up(
        part
        for host, small in _hosts(run)
        for device in host.devices
        for part in _time_of_functions(device.ops, small)
    )
    most = max(time, key=time.__getitem__, default="")
    if not most or time[most] < _MOST * sum(time.values()):
        return None
    return most


def _time_of_functions(
    ops: OpTable, small: frozenset[str]
) -> Iterator[tuple[str, int]]:
    """(compiled function, ps) of the compute ops of each module; "" for those that are
    in none, or of which nobody knows what else is in it.
    """
    rows = ops.of_class(DeviceClass.COMPUTE)
    known = np.where(ops.whole_programs(), -1, ops.module)[rows]
    time = added_up(zip(known.tolist(), ops.total_ps[rows].tolist(), strict=True))
    for row, ps in time.items():
        module = ops.names[row] if row >= 0 else ""
        alone = without_marks(module) in small
        yield ("" if alone else function_of_module(module) or ""), ps


@once
def _calls(question: Question) -> tuple[_Call, ...]:
    """The costliest first. Needs Python frames."""
    hosts = _hosts(question.run)
    whole = sum(part.ps for host, _ in hosts for part in host.evidence.spent)
    time: dict[tuple[str, int, str, str], int] = {}
    modules: dict[tuple[str, int, str, str], Counter[str]] = {}
    lines: dict[str, tuple[tuple[str, int], ...]] = {}
    for host, small in hosts:
        if host.program is not None:
            lines.update(host.program.one_op_lines)
        for part in host.evidence.spent:
            if part.kind is not TimeClass.LAUNCH or not part.file or not part.called:
                continue
            place = part.file, part.line, part.function, part.called
            time[place] = time.get(place, 0) + part.ps
            module = _module(part.activity)
            if module in small:
                modules.setdefault(place, Counter())[module] += part.ps
    found = (
        _call(place, time[place] / max(whole, 1), mine, lines)
        for place, mine in modules.items()
    )
    return tuple(sorted(found, key=lambda call: -call.fraction))


def _module(activity: str) -> str:
    """`dispatches multiply` -> `jit_multiply`; "" for other activities."""
    if not activity.startswith(DISPATCHES):
        return ""
    function = activity.removeprefix(DISPATCHES)
    return without_marks(module_of_call(f"PjitFunction({function})") or "")


def _call(
    place: tuple[str, int, str, str],
    fraction: float,
    modules: Counter[str],
    lines: Mapping[str, tuple[tuple[str, int], ...]],
) -> _Call:
    """On the line that most of its programs were first called on, if that can lie in
    the function, which frames say only the beginning of.
    """
    file, first, function, called = place
    possible = Counter(
        line
        for module in modules
        for known, line in lines.get(module, ())
        if known == file and line >= first
    )
    name, _, callee = called.partition(" (")
    callee_file = callee.partition(":")[0]
    line = possible.most_common(1)[0][0] if possible else first
    if not possible or name.startswith(_INNER):
        name = function
    return _Call(file, line, function, name, fraction, tuple(modules), callee_file)


def _by_line(question: Question) -> list[_Call]:
    """The costliest call of each line that has a name of its own, with all that the
    line takes.
    """
    calls = sorted(_calls(question), key=lambda call: call.called == call.function)
    whole = added_up(((call.file, call.line), call.fraction) for call in calls)
    first: dict[tuple[str, int], _Call] = {}
    for call in calls:
        first.setdefault((call.file, call.line), call)
    found = [
        msgspec.structs.replace(call, fraction=whole[place])
        for place, call in first.items()
    ]
    return sorted(found, key=lambda call: -call.fraction)


@fact
def one_by_one_calls(question: Question) -> str:
    """What the program calls that runs ops one by one, with the share of step time that
    this takes while no device works, as the end of a sentence: `called by schedule
    (train.py:42) 33% and split (train.py:41) 5%`. Always known.
    """
    named = [
        f"{place_in_words(call.file, call.line, call.called)} {percent(call.fraction)}"
        for call in _by_line(question)[:_MOST_NAMED]
    ]
    if named:
        return f"called by {_enumerated(named)}"
    sampled = [
        f"{share.places[0].file}:{share.places[0].line} {percent(share.fraction)}"
        for share in _sampled(question)[:_MOST_NAMED]
    ]
    if sampled:
        return f"by samples of the steps they run under {_enumerated(sampled)}"
    return "the trace does not say which lines call them"


def _sampled(question: Question) -> tuple[RunShare, ...]:
    """By samples of the unrecorded program."""
    account = question.settings.account
    return () if account is None else account.ops_at


def _line(question: Question, number: int) -> str:
    lines = _by_line(question)
    if len(lines) > number:
        call = lines[number]
        return place_in_words(call.file, call.line, call.function)
    sampled = () if lines else _sampled(question)
    if len(sampled) > number:
        return sampled[number].places[0].words
    raise MetricAbsent("neither trace nor samples name a line that runs ops one by one")


def lines_one_by_one(question: Question) -> list[tuple[str, int]]:
    """(file, line) of the program, the costliest first: of the trace, then of
    samples.
    """
    found = [(call.file, call.line) for call in _by_line(question)]
    sampled = (share.places[0] for share in _sampled(question))
    return [*found, *((place.file, place.line) for place in sampled)]


@fact
def one_by_one_place(question: Question) -> str:
    """The line of the program that takes most time to run ops one by one, with its
    function: `main (train.py:42)`. Needs Python frames, and HLO for the line, or
    samples of the run.
    """
    return _line(question, 0)


@fact
def one_by_one_next_place(question: Question) -> str:
    """The line that takes second most."""
    return _line(question, 1)


def _first(calls: Iterator[_Call], what: str) -> str:
    call = next(calls, None)
    if call is None:
        raise MetricAbsent(f"no {what} among the calls that run ops one by one")
    return place_in_words(call.file, call.line, call.called)


@fact
def schedule_one_by_one(question: Question) -> str:
    """The call of an optax schedule that runs op by op, with its line: `schedule
    (train.py:42)`.
    """
    schedules = (call for call in _calls(question) if call.callee_file in _SCHEDULES)
    return _first(schedules, "optax schedule is")


@fact
def keys_one_by_one(question: Question) -> str:
    """The call that makes random keys or numbers op by op, with its line: `split
    (train.py:41)`.
    """
    random = (
        call
        for call in _calls(question)
        if any(word in op for op in call.ops for word in KEYS)
    )
    return _first(random, "random key is")
