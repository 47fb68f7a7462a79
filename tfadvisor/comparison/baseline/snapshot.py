"""A run's numbers, small enough to keep: what a baseline is made of, where it comes
from, what was accepted.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor.comparison.side import (
    Count,
    Side,
    Text,
    hottest,
    side_of,
    without_program_number,
)
from tfadvisor.comparison.statistics.ranks import middle_of
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.git import git
from tfadvisor.report import Report
from tfadvisor.units import duration
from tfadvisor.vocabulary import TimeClass

# Which commit and branch a run is of, as CI or git says.

_COMMIT = ("GITHUB_SHA", "CI_COMMIT_SHA", "GIT_COMMIT", "BUILD_SOURCEVERSION")
_BRANCH = (
    "GITHUB_HEAD_REF",
    "GITHUB_REF_NAME",
    "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME",
    "CI_COMMIT_REF_NAME",
    "CHANGE_BRANCH",
    "GIT_BRANCH",
    "BUILD_SOURCEBRANCHNAME",
)
_LONGEST_ORIGIN = 200
_HASH = re.compile("[0-9a-f]{7,64}")


class Origin(msgspec.Struct, frozen=True):
    """Where a run comes from."""

    commit: Text = ""
    """Its hash; "" when unknown."""
    branch: Text = ""
    """"" when unknown."""
    machine: Text = ""
    """Names of its hosts."""


def commit_and_branch(environment: Mapping[str, str], folder: Path) -> tuple[str, str]:
    """As CI says, else as git says of a folder; "" for what neither knows."""
    commit = _first(environment, _COMMIT) or _git(folder, "rev-parse", "HEAD")
    branch = _first(environment, _BRANCH)
    branch = branch or _git(folder, "symbolic-ref", "--short", "-q", "HEAD")
    if not _HASH.fullmatch(commit):
        commit = ""
    return commit, branch.removeprefix("origin/")[:_LONGEST_ORIGIN]


def _first(environment: Mapping[str, str], names: tuple[str, ...]) -> str:
    return next((environment[name] for name in names if environment.get(name)), "")


def _git(folder: Path, *arguments: str) -> str:
    """What git prints; "" without git, without a repository, or after two seconds."""
    try:
        return git(folder, *arguments, seconds=2)
    except UsageError:
        return ""


_MOST_OPS, _MOST_HOSTS, _LONGEST = 80, 8, 200
_CLASSES_HASHED = (
    "compute",
    "collective",
    "transfer",
    "input",
    "launch",
    "compile",
    "host",
    "idle",
)
"""The classes of time as fingerprints have them: in the order of the first version, so
that stored ones stay what they are.
"""
CALLS = "calls of Python functions"
NEED_CALLS = frozenset(
    (TimeClass.INPUT.label, TimeClass.HOST.label, TimeClass.LAUNCH.label)
)
"""Classes of step time that calls of Python functions tell apart: without them loading
looks like other Python.
"""
_PRECISIONS = ("fp8", "fp16", "bf16", "tf32", "fp32", "fp64")
DEFAULT_MODEL = "default"


class Key(msgspec.Struct, frozen=True):
    """What must be alike before numbers are compared. devices: words such as `8 gpu
    NVIDIA H100`; labels: as given.
    """

    model: Text
    framework: Text
    devices: Text
    hosts: Count
    labels: dict[Text, Text]


class Snapshot(msgspec.Struct, frozen=True):
    """A run: who it is (key), what may differ and is reported (about), and its numbers
    (side).

    fingerprint: of the steps' times and metrics, so that one trace is known again under
    another name. errors: standard errors of metrics, from the run's own steps. level:
    counts accepted changes; runs of one level share a centre. recorded_at: as the trace
    says, ISO; added_at: when the snapshot came into the store, ISO, "" before.
    """

    key: Key
    about: Mapping[str, str]
    fingerprint: str
    recorded_at: str
    added_at: str
    level: int
    note: str
    side: Side
    errors: Mapping[str, float]
    origin: Origin = Origin()

    @property
    def age(self) -> tuple[int, str, str]:
        """By which the runs of a baseline are in order, oldest first."""
        return self.level, self.recorded_at, self.added_at

    def recorded_like(self, other: Snapshot) -> bool:
        """Whether both have calls of Python functions or neither has."""
        return self.about.get(CALLS) == other.about.get(CALLS)


def _parts_of_a_round(report: Report) -> str:
    """`steps of 121 µs, of a round of 592 ms`: where the window shows no whole round of
    the program's loop; "" where it may.
    """
    account, times = report.run_account, report.steps.time_ms
    if account is None or account.step_ms is None or times is None:
        return ""
    if not account.is_of_parts(times.median):
        return ""
    parts, whole = duration(times.median), duration(account.step_ms)
    return f"steps of {parts}, of a round of {whole}"


def snapshot_of(
    report: Report, model: str = DEFAULT_MODEL, labels: Mapping[str, str] | None = None
) -> Snapshot:
    """Raises TraceError when the report holds no step, or parts of a round alone."""
    if parts := _parts_of_a_round(report):
        raise TraceError(
            report.run.path,
            f"holds no whole step of the program's loop: {parts}.",
            "Record again: tfadvisor run --steps 20 -- python train.py, with --step-is "
            "and a function of the loop if that finds no other step.",
        )
    side = side_of(report)
    if side is None:
        raise TraceError(
            report.run.path,
            "holds no step to compare.",
            "Record at least three steps, with step markers where the framework sets "
            "none.",
        )
    ops, rest = hottest(side.ops, side.rest_ms, _MOST_OPS)
    hosts = report.run.hosts
    key = Key(
        model,
        report.run.framework,
        devices_of(report),
        len(hosts),
        dict(labels or {}),
    )
    return Snapshot(
        key=key,
        about=_about(report),
        fingerprint=_fingerprint(report),
        recorded_at=report.run.captured_at or "",
        added_at="",
        level=0,
        note="",
        side=replace(side, ops=ops, rest_ms=rest),
        errors=_errors(side),
        origin=Origin(machine=", ".join(hosts[:_MOST_HOSTS])[:_LONGEST]),
    )


def devices_of(report: Report) -> str:
    """`2 gpu NVIDIA H100, 1 cpu`."""
    kinds = [f"{device.kind} {device.model}".strip() for device in report.run.devices]
    counted = sorted(Counter(kinds).items())
    return ", ".join(f"{number} {what}" for what, number in counted) or "none"


def programs_of(report: Report) -> str:
    """The compiled programs that take most device time, the first three:
    `jit_train_step`; "" where the trace names none.
    """
    time: Counter[str] = Counter()
    for op in report.ops:
        if op.module:
            time[without_program_number(op.module)] += round(op.ms_per_step * 1e6)
    return ", ".join(sorted(name for name, _ in time.most_common(3)))


def _work(report: Report) -> str:
    """GFLOP of the listed ops of one step, where all that compute tell: another batch
    or model does other work.
    """
    known = [(op.flops or 0) * op.count_per_step for op in report.ops if op.flops]
    return f"{sum(known) / 1e9:.3g}" if known else ""


def _about(report: Report) -> dict[str, str]:
    about = {
        "framework version": report.run.framework_version or "",
        "steps found by": report.steps.source,
        "precision": _precision(report),
        "model parameters": _words(report, "model_parameters"),
        CALLS: "recorded" if report.run.python_calls else "not recorded",
        "GFLOP of a step's listed ops": _work(report),
        "programs": programs_of(report),
        "tfadvisor version": report.tool.version,
    }
    return {name: words for name, words in about.items() if words}


def _precision(report: Report) -> str:
    """The precision that takes most kernel time, where kernels tell."""
    shares: dict[str, float] = {}
    for precision in _PRECISIONS:
        share = _value(report, f"{precision}_kernel_share")
        if share:
            shares[precision] = share
    return max(shares, key=shares.__getitem__, default="")


def _words(report: Report, metric: str) -> str:
    value = _value(report, metric)
    return f"{value:.0f}" if value is not None else ""


def _value(report: Report, metric: str) -> float | None:
    known = report.metrics.get(metric)
    return known.value if known is not None else None


def _errors(side: Side) -> dict[str, float]:
    """Where the run's own steps tell how well a metric is measured."""
    found = {}
    if side.median_error_ms is not None:
        found["step_time_ms"] = side.median_error_ms
    for time_class in TimeClass:
        error = side.class_error_ms.get(time_class.label)
        if error is not None and time_class.metric in side.metrics:
            found[time_class.metric] = error / side.mean_ms
    return found


def _fingerprint(report: Report) -> str:
    """The same for two copies of a trace whatever their names, different for two runs:
    everything is measured in ps.
    """
    numbers = {
        "at": report.run.captured_at,
        "steps": [[step.start_ms, step.duration_ms] for step in report.steps.each],
        "window": report.run.window_ms,
        "classes": [report.breakdown.get(name) for name in _CLASSES_HASHED],
        "ops": [[op.ms_per_step, op.count_per_step] for op in report.ops],
    }
    return hashlib.sha256(json.dumps(numbers).encode()).hexdigest()[:32]


# Which runs of a store a run may be measured against.

_ONLY_THIS = "the baseline holds only this trace: there is nothing to compare"
_HOLDS_THIS = (
    "The baseline also holds this trace; the gate does not compare it with itself."
)


class Baseline(msgspec.Struct, frozen=True):
    """runs: comparable, oldest first. refused: why there are none although some were
    expected; empty on a first run.
    """

    runs: tuple[Snapshot, ...]
    refused: tuple[str, ...]
    notices: tuple[str, ...]
    differences: tuple[str, ...]
    in_turns: bool = False
    """Whether each run was recorded next to the candidate of its number, so that both
    saw the same machine.
    """

    def present(self) -> list[Snapshot]:
        """The runs of the present level; at least one where there are runs."""
        present = max((run.level for run in self.runs), default=0)
        return [run for run in self.runs if run.level == present]

    def typical(self) -> Snapshot:
        """The run of the present level whose step time is the middle one."""
        present = self.present()
        middle = middle_of([run.side.median_ms for run in present])
        return min(present, key=lambda run: abs(run.side.median_ms - middle))


def choose(
    stored: Sequence[Snapshot], candidates: Sequence[Snapshot], keep: int
) -> Baseline:
    """The latest `keep` runs that are comparable with the candidates, without the
    candidates themselves.
    """
    first = candidates[0]
    mixed = _differences(candidates)
    if mixed:
        return _refused(*(f"candidates differ: {difference}" for difference in mixed))

    of_model = [run for run in stored if run.key.model == first.key.model]
    if not of_model:
        return Baseline((), (), (_first_run(stored, first),), ())
    alike = [run for run in of_model if not must_be_alike(run.key, first.key)]
    if not alike:
        return _refused(*must_be_alike(of_model[-1].key, first.key))
    return _of_comparable(alike, candidates, keep)


def _of_comparable(
    alike: Sequence[Snapshot], candidates: Sequence[Snapshot], keep: int
) -> Baseline:
    known = {candidate.fingerprint for candidate in candidates}
    others = [run for run in alike if run.fingerprint not in known]
    if not others:
        return _refused(_ONLY_THIS)
    notices = (_HOLDS_THIS,) if len(others) < len(alike) else ()
    runs = tuple(others[-keep:])
    return Baseline(runs, (), notices, may_differ(runs[-1], candidates[0]))


def _refused(*why: str) -> Baseline:
    return Baseline((), why, (), ())


def _differences(candidates: Sequence[Snapshot]) -> list[str]:
    """In what candidates differ that must be alike, each once."""
    first, *others = candidates
    found: dict[str, None] = {}
    for other in others:
        found |= dict.fromkeys(must_be_alike(first.key, other.key))
    return list(found)


def _first_run(stored: Sequence[Snapshot], first: Snapshot) -> str:
    others = sorted({run.key.model for run in stored})
    words = (
        f"The store held no run of model {first.key.model} to compare this one with."
    )
    if others:
        words += f" The store holds {', '.join(others[:5])}; --model chooses."
    return f"{words} `tfadvisor gate --add` adds each run that does not fail."


# Whether two runs may be compared: what must be alike, and what may differ but is
# reported.

_SOFT_TOLERANCE = 0.02


def must_be_alike(base: Key, new: Key) -> tuple[str, ...]:
    """The differences that forbid a comparison, in words; none when the runs are
    comparable.
    """
    pairs = [
        ("model", base.model, new.model),
        ("framework", base.framework, new.framework),
        ("devices", base.devices, new.devices),
        ("hosts", str(base.hosts), str(new.hosts)),
    ]
    for label in sorted({*base.labels, *new.labels}):
        value = base.labels.get(label, "not given")
        other = new.labels.get(label, "not given")
        pairs.append((f"label {label}", value, other))
    return tuple(
        _difference(what, first, other)
        for what, first, other in pairs
        if first != other
    )


def may_differ(base: Snapshot, new: Snapshot) -> tuple[str, ...]:
    """The differences that are worth telling beside a verdict."""
    found: list[str] = []
    for what in dict.fromkeys([*base.about, *new.about]):
        value = base.about.get(what, "")
        other = new.about.get(what, "")
        if not _alike(value, other):
            found.append(_difference(what, value or "unknown", other or "unknown"))
    return tuple(found)


def _difference(what: str, base: str, new: str) -> str:
    return f"{what}: {base} in the baseline, {new} now"


def _alike(value: str, other: str) -> bool:
    try:
        first, second = float(value), float(other)
    except ValueError:
        return value == other
    return abs(first - second) <= _SOFT_TOLERANCE * max(abs(first), abs(second))
