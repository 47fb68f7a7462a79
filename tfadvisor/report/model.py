"""The report: one frozen object, the product. Every output reads it and nothing else.

`to_dict` is the JSON schema, version "1"; fields may be added, never renamed or removed under the same version.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tfadvisor.report.plain import plain
from tfadvisor.vocabulary import Better, Scatter, Severity

SCHEMA_VERSION = "1"


class Tool(msgspec.Struct, frozen=True):
    """Who wrote the report."""

    name: str
    version: str


class DeviceInfo(msgspec.Struct, frozen=True):
    """One device that worked in the run."""

    name: str
    kind: str
    model: str
    host: str


class RunInfo(msgspec.Struct, frozen=True):
    """What was analysed. captured_at: ISO time in UTC or None. window_ms: from the first event to the last."""

    path: str
    name: str
    hosts: tuple[str, ...]
    devices: tuple[DeviceInfo, ...]
    framework: str
    framework_version: str | None
    captured_at: str | None
    window_ms: float


class StepTimes(msgspec.Struct, frozen=True):
    """Periods of the counted steps, start to start."""

    mean: float
    """ms."""
    median: float
    """ms."""
    p95: float
    """ms: 95% of the steps take no longer."""
    min: float
    """ms."""
    max: float
    """ms."""
    stdev: float
    """Standard deviation, ms."""


class StepInfo(msgspec.Struct, frozen=True):
    """One counted step. breakdown: share of its period per class, mean over the devices."""

    index: int
    """Among all steps of its host, from 0."""
    name: str
    host: str
    start_ms: float
    duration_ms: float
    breakdown: Mapping[str, float]


class SetAsideStep(msgspec.Struct, frozen=True):
    """A step that does not count, and why: compiling, warm-up or cut-off."""

    index: int
    """Among all steps of its host, from 0."""
    name: str
    host: str
    duration_ms: float
    reason: str


class StepsInfo(msgspec.Struct, frozen=True):
    """The counted steps. source: how they were found; confidence 0..1; about: what they were told by.

    count: on the host that has most; each holds those of all hosts.
    """

    count: int
    source: str
    confidence: float
    about: str
    time_ms: StepTimes | None
    each: tuple[StepInfo, ...]
    set_aside: tuple[SetAsideStep, ...]


class Verdict(msgspec.Struct, frozen=True):
    """bottleneck: what costs most; fraction: its share of step time; healthy: nothing costs enough to act on."""

    bottleneck: str
    fraction: float
    healthy: bool
    summary: str


class MetricValue(msgspec.Struct, frozen=True):
    """A metric's number, or None and the reason."""

    value: float | None
    """In `unit`."""
    unit: str
    reason: str | None
    """Why there is no value, None with one."""
    about: str
    """Its definition."""
    better: Better = Better.LESS
    scatter: Scatter = Scatter.FACTOR


class Evidence(msgspec.Struct, frozen=True):
    """A metric by name or a text, with its value and unit ("text" for words)."""

    metric: str | None
    text: str
    value: float | str | None
    """In `unit`."""
    unit: str


class Saving(msgspec.Struct, frozen=True):
    """What a fix could save: a range of shares of step time, and what the range rests on."""

    low: float
    """Share of step time, 0..1."""
    high: float
    """Share of step time, 0..1."""
    basis: str


class Patch(msgspec.Struct, frozen=True):
    """The edit of one file of the user's program. Made by `tfadvisor fix`, which is given the program."""

    file: str
    """Below the source folder; "" for lines of the script that launches the program."""
    diff: str
    """Unified; of the launch script the lines themselves."""
    sure: str
    """mechanical: derived from the source alone, results stay; guess: to be tried or confirmed."""
    check: str
    """What must stay the same to trust it: batches, values or none."""


class Fix(msgspec.Struct, frozen=True, omit_defaults=True):
    """kind: code, env, flag, config or command. do: the edit in words. snippet: the edit itself."""

    kind: str
    do: str
    snippet: str
    env: Mapping[str, str]
    valid_for: str
    side_effect: str
    patch: Patch | None = None
    """Absent unless `tfadvisor fix` made one."""


class Location(msgspec.Struct, frozen=True):
    """A place in the user's program; file is as the trace names it, without its folder."""

    file: str
    line: int | None
    """From 1; None where the trace does not tell."""
    op: str


class SourceRef(msgspec.Struct, frozen=True):
    """Where a rule's knowledge comes from."""

    doc: str
    section: str
    url: str


class Tried(msgspec.Struct, frozen=True):
    """What came of a fix of this finding when it was tried on this program, as shares of step time."""

    measured: float
    """The saving; below 0 it is slower."""
    low: float
    """From here."""
    high: float
    """To here, with 95% confidence."""
    predicted_low: float
    """What the finding promised then, from here."""
    predicted_high: float
    """To here."""
    outcome: str
    """better, not better or cannot tell."""
    change: str
    """The codemod, or env."""
    at: str
    """When, ISO time in UTC."""
    device: str
    """The kind of device that it was tried on."""


class Finding(msgspec.Struct, frozen=True):
    """One thing to change."""

    rule_id: str
    category: str
    severity: Severity
    title: str
    summary: str
    evidence: tuple[Evidence, ...]
    saving: Saving
    fixes: tuple[Fix, ...]
    locations: tuple[Location, ...]
    source: tuple[SourceRef, ...]
    caveat: str
    """Why to trust it less, "" when nothing speaks against it."""
    claims: tuple[str, ...] = ()
    """The classes of step time that its saving comes out of, in the order in which it draws on them; where it saves
    nothing by itself, those that it is about. Outputs mark it in this time."""
    tried: Tried | msgspec.UnsetType = msgspec.UNSET
    """Absent unless `tfadvisor try` has measured a fix of it."""


class Op(msgspec.Struct, frozen=True):
    """What ran on the devices, per counted step and device: an op of a compiled program, a kernel, a copy.

    None where the trace does not tell.
    """

    op: str | None
    """Its HLO name."""
    kernel: str
    """What the device ran for it; the op's own name where the device has no kernels."""
    module: str | None
    """The compiled program that it belongs to."""
    kind: str
    """compute, collective, h2d, d2h, d2d, p2p, other_copy, memset or infeed."""
    share: float
    """Of all device time, 0..1."""
    ms_per_step: float
    """Its time a step and device, ms."""
    count_per_step: float
    """How often it runs a step and device."""
    precision: str | None
    """Of a GPU kernel by its name, "unknown" where that does not say."""
    opcode: str | None
    """Of its HLO instruction."""
    flops: int | None
    """Of one execution, by shapes."""
    bytes: int | None
    """Read and written by one execution, by shapes."""
    file: str | None
    """Of the user's program, without its folder."""
    line: int | None
    """In that file."""

    @property
    def name(self) -> str:
        """The op's, else the kernel's."""
        return self.op or self.kernel


class TimePart(msgspec.Struct, frozen=True):
    """One layer, op type or source line, per counted step and device."""

    name: str | None
    """None for what the trace does not place and what is too short to be named."""
    share: float
    """Of the compute time of all devices, 0..1; a list's shares add up to 1."""
    ms_per_step: float
    """Summed time of its ops, ms; ops that run side by side count each."""
    count_per_step: float
    """How often its ops run."""
    flops: int | None
    """Per step, by shapes; None where the HLO does not say for all of its ops."""
    bytes: int | None
    """Likewise, read and written."""


class TimeBy(msgspec.Struct, frozen=True):
    """The same compute time in three ways, the largest first; empty where the trace names nothing of the kind."""

    layer: tuple[TimePart, ...] = ()
    """By scope in the framework's names, gradients with their layer, the optimizer as one."""
    op_type: tuple[TimePart, ...] = ()
    """By TensorFlow's op type, the HLO's opcode or JAX's primitive."""
    line: tuple[TimePart, ...] = ()
    """By line of the user's program: `train.py:42`."""


class NotApplicable(msgspec.Struct, frozen=True):
    """A rule that the trace cannot decide."""

    rule_id: str
    reason: str


class CaptureNote(msgspec.Struct, frozen=True):
    """What is wrong with the trace itself and what to do at the next capture."""

    rule_id: str
    note: str
    do: str
    snippet: str


class Broken(msgspec.Struct, frozen=True):
    """A rule or metric that failed; the rest of the report stands."""

    name: str
    error: str


class Report(msgspec.Struct, frozen=True):
    """Everything that one analysis found. findings: the largest saving first. ops: the hottest first."""

    tool: Tool
    run: RunInfo
    steps: StepsInfo
    breakdown: Mapping[str, float]
    """Share of step time per class; they add up to 1."""
    verdict: Verdict
    metrics: Mapping[str, MetricValue]
    findings: tuple[Finding, ...]
    not_applicable: tuple[NotApplicable, ...]
    capture: tuple[CaptureNote, ...]
    broken: tuple[Broken, ...] = ()
    ops: tuple[Op, ...] = ()
    time_by: TimeBy = TimeBy()

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, `schema_version` first. Numbers are finite."""
        whole: dict[str, Any] = plain(self)
        return {"schema_version": SCHEMA_VERSION, **whole}

    def worst(self) -> Severity | None:
        """The highest severity among the findings, None without any."""
        return max((finding.severity for finding in self.findings), key=lambda severity: severity.rank, default=None)
