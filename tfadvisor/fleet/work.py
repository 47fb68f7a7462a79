"""The map: from where a run lies to the bytes of its row. A plain function, for other
processes.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import lru_cache
from hashlib import sha256
from pathlib import Path

import msgspec

from tfadvisor.advice.findings import Finding
from tfadvisor.advice.loading.catalogue import Catalogue, load_catalogue
from tfadvisor.errors import AdvisorError
from tfadvisor.memory_limits import limited_memory, limits_of_files
from tfadvisor.report import Report
from tfadvisor.trace import Run, recorded_at
from tfadvisor.trace.remote_path import place_of
from tfadvisor.trace.stores import Unreachable
from tfadvisor.version import VERSION


class HowToRead(msgspec.Struct, frozen=True):
    """What all runs of a table are read with."""

    rules: tuple[str, ...] = ()
    """Folders with more rules."""
    disabled: tuple[str, ...] = ()
    """Ids of rules."""


class Task(msgspec.Struct, frozen=True):
    """A run to read."""

    place: str
    run: str
    folder: bytes
    """The place as the system has it, which may be no UTF-8."""
    files: tuple[bytes, ...]
    stamp: str
    rules: str
    labels: Mapping[str, str]
    how: HowToRead


def row_bytes(task: bytes) -> bytes:
    """A Task as msgpack to a Row as msgpack. What is wrong with the run goes into its
    row.
    """
    return msgspec.msgpack.encode(row_of(msgspec.msgpack.decode(task, type=Task)))


def lost_row(task: Task) -> Row:
    """For a run whose processes were killed."""
    why = (
        "could not be read: the system killed each process that read it, probably "
        "because memory ran out."
    )
    return _row(task, {"error": why, "error_kind": "killed"})


def row_of(task: Task) -> Row:
    """The run's row, also where the run cannot be read."""
    from tfadvisor.analysis import Options, conclude  # NumPy, which no --help needs

    files = [place_of(os.fsdecode(file)) for file in task.files]
    run = Run(
        task.run,
        place_of(os.fsdecode(task.folder)),
        tuple(files),
    )
    try:
        with _limited(run.files):
            report, _ = conclude(
                run,
                Options(),
                catalogue=catalogue_of(task.how),
            )
            columns = columns_of(report)
    except (Exception, _Late) as error:
        kind, why = _fault(error)
        columns = {"error": why, "error_kind": kind}

    if columns.get("recorded_at") is None:
        columns["recorded_at"] = _by_files(run)
    return _row(task, columns)


class _Late(BaseException):
    """A run's time is over. No code on the way takes it for an error of its own."""


def _fault(error: BaseException) -> tuple[str, str]:
    """(kind, words) of what kept a run from being read."""
    if isinstance(error, Unreachable):
        return "unreachable", str(error)
    if isinstance(error, AdvisorError):
        return "trace", str(error)
    if isinstance(error, MemoryError):
        return "killed", "needs more memory than there is, or than any run of its size."
    if isinstance(error, _Late):
        return "killed", "took longer than any run of its size needs."
    return "bug", f"{type(error).__name__}: {error}"


@contextmanager
def _limited(files: Sequence[Path]) -> Iterator[None]:
    """Inside, reading takes no longer and no more memory than any run of this size, in
    a process that has nothing else to do.

    Raises _Late and MemoryError. TFADVISOR_LIMITS=0 is for those who trust the runs.
    """
    if os.environ.get("TFADVISOR_LIMITS") == "0" or not _can_be_timed():
        yield
        return

    def late(*_: object) -> None:
        raise _Late

    limits = limits_of_files(files)
    signal.signal(signal.SIGALRM, late)
    # again after half a second, where code between has swallowed it
    signal.setitimer(signal.ITIMER_REAL, limits.deadline_s, 0.5)
    try:
        with limited_memory(limits.memory):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def _can_be_timed() -> bool:
    """Whether an alarm of the system can end what this thread does, and nobody else
    uses it.
    """
    if threading.current_thread() is not threading.main_thread():
        return False
    if not hasattr(signal, "setitimer"):
        return False
    return signal.getsignal(signal.SIGALRM) == signal.SIG_DFL


@lru_cache(maxsize=1)
def catalogue_of(how: HowToRead) -> Catalogue:
    """The rules, read once for all runs. Raises UsageError as load_catalogue."""
    return load_catalogue([place_of(rule) for rule in how.rules], how.disabled)


def rules_version(how: HowToRead) -> str:
    """Changes with tfadvisor's version, the rules, and how runs are read."""
    content = msgspec.json.encode(catalogue_of(how).rules)
    return sha256(f"{VERSION}\0".encode() + content).hexdigest()[:16]


def _by_files(run: Run) -> datetime | None:
    try:
        when = recorded_at(run)
    except AdvisorError:
        return None
    return datetime.fromtimestamp(when, timezone.utc) if when else None


def _row(
    task: Task,
    columns: Mapping[str, object],
) -> Row:
    known = {
        "place": task.place,
        "run": task.run,
        "stamp": task.stamp,
        "rules": task.rules,
        "tool": VERSION,
    }
    return msgspec.convert({**task.labels, **columns, **known}, Row)


# A run as a row of the table: what its report says, in columns.

SCHEMA_VERSION = "1"
"""Of the table. Columns may be added; one that is renamed or removed makes a new
version.
"""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One run. Every field is a column of the table; None where the trace does not
    tell.
    """

    place: str
    """The run's folder or file, or its address. No two rows have the same."""
    run: str
    """The run's name below the source that it was found in."""
    recorded_at: datetime | None = None
    """When it was recorded, UTC."""
    team: str | None = None
    """By `--labels`."""
    model: str | None = None
    """By `--labels`; else the first folder below the source."""
    job: str | None = None
    """By `--labels`."""
    framework: str | None = None
    """tensorflow, jax, pytorch-xla or unknown."""
    framework_version: str | None = None
    """As the trace says."""
    hosts: int | None = None
    """That could be read."""
    devices: int | None = None
    """That worked in the run."""
    device_kind: str | None = None
    """gpu, tpu or cpu, of the first device."""
    device_model: str | None = None
    """As `NVIDIA H100`, of the first device."""
    steps: int | None = None
    """Counted, on the host that has most."""
    confidence: float | None = None
    """In the steps, 0..1."""
    step_time_ms: float | None = None
    """Median, ms."""
    step_time_p95_ms: float | None = None
    """95% of the steps take no longer, ms."""
    window_ms: float | None = None
    """From the first event of the trace to the last, ms."""
    verdict: str | None = None
    """What costs most: input, host, launch, compile, transfer, collective, imbalance,
    memory, compute, none or unknown.
    """
    verdict_fraction: float | None = None
    """Its share of step time, 0..1."""
    healthy: bool | None = None
    """Whether nothing costs enough to act on."""
    compute: float | None = None
    """Share of step time, 0..1, as the seven that follow: together they are 1."""
    collective: float | None = None
    """Exposed collectives."""
    transfer: float | None = None
    """Exposed copies."""
    input: float | None = None
    """Waiting for the next batch."""
    launch: float | None = None
    """Launching ops or kernels."""
    compile: float | None = None
    """Tracing, compiling, autotuning."""
    host: float | None = None
    """Other work of the host."""
    idle: float | None = None
    """Nothing known."""
    findings: int | None = None
    """How many."""
    finding: str | None = None
    """Id of the first one's rule."""
    finding_title: str | None = None
    """In words."""
    finding_severity: str | None = None
    """critical, high, medium, low or info."""
    finding_place: str | None = None
    """As `train.py:41`, where the trace names the line, else the op."""
    saving_low: float | None = None
    """What the first finding could save at least, share of step time."""
    saving_high: float | None = None
    """And at most."""
    error: str | None = None
    """Why there is no report, None where there is one."""
    error_kind: str | None = None
    """trace (the files are at fault), unreachable (the store is; tried again next
    time), killed or bug.
    """
    stamp: str
    """Changes when a file of the run does: of names, sizes, and etags or times of
    change.
    """
    rules: str
    """Changes with the rules and options that the row was made with."""
    tool: str
    """The version of tfadvisor that made it."""
    there: bool = True
    """False once the run is gone from its source; the row stays."""


def columns_of(report: Report) -> dict[str, object]:
    """The columns that a report fills."""
    run, steps, times = report.run, report.steps, report.steps.time_ms
    first = run.devices[0] if run.devices else None
    return {
        "recorded_at": _time(run.captured_at),
        "framework": run.framework,
        "framework_version": run.framework_version,
        "hosts": len(run.hosts),
        "devices": len(run.devices),
        "device_kind": first.kind if first else None,
        "device_model": first.model if first else None,
        "steps": steps.count,
        "confidence": steps.confidence,
        "step_time_ms": times.median if times else None,
        "step_time_p95_ms": times.p95 if times else None,
        "window_ms": run.window_ms,
        "verdict": report.verdict.bottleneck,
        "verdict_fraction": report.verdict.fraction,
        "healthy": report.verdict.healthy,
        **(report.breakdown if times else {}),
        **_finding_columns(report.findings),
    }


def _finding_columns(findings: tuple[Finding, ...]) -> dict[str, object]:
    advice = [finding for finding in findings if finding.category != "capture"]
    costing = [candidate for candidate in advice if not candidate.is_question]
    if not costing:
        return {"findings": 0}
    first = costing[0]
    return {
        "findings": len(costing),
        "finding": first.rule_id,
        "finding_title": first.title,
        "finding_severity": first.severity.value,
        "finding_place": _place_of(first),
        "saving_low": first.saving.low if first.saving else 0.0,
        "saving_high": first.saves,
    }


def _place_of(finding: Finding) -> str | None:
    for location in finding.locations:
        if location.file:
            return (
                f"{location.file}:{location.line}" if location.line else location.file
            )
    return next((location.op for location in finding.locations if location.op), None)


def _time(iso: str | None) -> datetime | None:
    if iso is None:
        return None
    found = datetime.fromisoformat(iso.replace("Z", "+00:00"))
    if found.tzinfo is None:
        found = found.replace(tzinfo=timezone.utc)
    return found.astimezone(timezone.utc)
