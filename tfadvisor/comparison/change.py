"""What a comparison says: frozen records, and their JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from tfadvisor.printable import plain
from tfadvisor.version import VERSION

SCHEMA_VERSION = "1"


class OpChange(msgspec.Struct, frozen=True):
    """An op on both sides, or several that only one side has and whose names differ in
    numbers only.
    """

    name: str
    """On the new side, else in the base; of several, what their names share."""
    before: str | None
    """Its name in the base where that differs."""
    kind: str
    """Of device work, as of the report's ops."""
    status: str
    """changed, new or gone."""
    by: str | None
    """How it was recognised as the same op, None where one side has no such op."""
    number: int
    """How many ops are reported together."""
    base_op_ms: float
    """The op's own time in the base, ms a step and device."""
    new_op_ms: float
    """The same on the new side."""
    base_count: float
    """How often it runs in the base, a step and device."""
    new_count: float
    """The same on the new side."""
    module: str | None
    """Its compiled program, without the number that it has in one run."""
    file: str | None
    """Of the user's program, without its folder."""
    line: int | None
    """In that file."""
    base_shape: str | None = None
    """Of its result in the base, with its layout: `f32[96,256]{1,0}`; None for several
    ops, and where the trace does not tell.
    """
    new_shape: str | None = None
    """The same on the new side."""


class ChangeCause(msgspec.Struct, frozen=True, rename={"class_name": "class"}):
    """A part of the change, in ms of step time. The causes add up to the change.

    kind: class (time in which no device works) · op · other ops (too small to name) ·
    unchanged ops (together; their work is what it was, so this is rather the machine) ·
    overlap (other work hides more or less of collectives or copies). sure_ms: how much
    of it, whatever its sign, neither the scatter of the steps nor the machine explains.
    """

    class_name: str
    kind: str
    name: str
    change_ms: float
    sure_ms: float
    base_ms: float | None
    new_ms: float | None
    op: OpChange | None


class ClassChange(msgspec.Struct, frozen=True):
    """A class of step time, ms a step. The classes add up to the step time. error_ms:
    of the change, from the steps.
    """

    name: str
    base_ms: float
    new_ms: float
    change_ms: float
    error_ms: float | None


class FindingChange(msgspec.Struct, frozen=True):
    """A finding that only one side has. appeared: on the new side."""

    rule_id: str
    category: str
    title: str
    place: str
    appeared: bool


class Head(msgspec.Struct, frozen=True):
    """One side in a line. error_ms: standard error of the median, from the run's own
    steps.
    """

    name: str
    steps: int
    mean_ms: float
    median_ms: float
    error_ms: float | None


class MachineSpeed(msgspec.Struct, frozen=True):
    """How much longer ops take whose work did not change. ops: how many were
    looked at.
    """

    factor: float
    ops: int


class Comparison(msgspec.Struct, frozen=True):
    """A comparison. Times in ms of mean step time."""

    base: Head
    """The run before."""
    new: Head
    """The run to explain."""
    change_ms: float
    """Of the mean step time, above 0 where the new side is slower."""
    classes: tuple[ClassChange, ...]
    """The change by class of step time; they add up to it."""
    causes: tuple[ChangeCause, ...]
    """The surest first, unchanged ops last unless nothing else comes near them; they
    add up to change_ms.
    """
    findings: tuple[FindingChange, ...]
    """Findings that only one side has."""
    speed: MachineSpeed | None
    """Whether ops whose work did not change run slower; None where none can be
    compared.
    """
    differences: tuple[str, ...]
    """Why the runs are not quite alike."""
    same: bool
    """One trace twice."""
    refused: tuple[str, ...] = ()
    """Why the runs may not be compared, as the gate says it: the causes are then no
    one's change.
    """

    @property
    def change_fraction(self) -> float:
        """Of the base's mean step time."""
        return self.change_ms / self.base.mean_ms

    @property
    def median_change_ms(self) -> float:
        """By how much the median step takes longer: the step time that reports, metrics
        and the gate speak of.
        """
        return self.new.median_ms - self.base.median_ms

    @property
    def median_change_fraction(self) -> float:
        """Of the base's median step time."""
        return self.median_change_ms / self.base.median_ms

    @property
    def uneven_ms(self) -> float:
        """By how much the change of the mean, which the causes add up to, is more than
        that of the median.
        """
        return self.change_ms - self.median_change_ms

    @property
    def residual_ms(self) -> float:
        """What the causes leave unexplained: rounding."""
        return self.change_ms - sum(cause.change_ms for cause in self.causes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, `schema_version` first. Numbers are finite."""
        whole: dict[str, Any] = plain(self)
        return {
            "schema_version": SCHEMA_VERSION,
            "tool": {"name": "tfadvisor", "version": VERSION},
            **whole,
            "change_fraction": self.change_fraction,
            "residual_ms": self.residual_ms,
        }
