"""What a comparison says: frozen records, and their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tfadvisor.record import fields_of, record
from tfadvisor.version import VERSION

SCHEMA_VERSION = "1"


@record
class OpChange:
    """An op on both sides. Times are the op's own, per step and device.

    before: its name in the base where that differs. status: changed, new or gone. by: what told that it is the same op.
    number: how many ops are told together, because only one side has them and their names differ in numbers only.
    """

    name: str
    before: str | None
    kind: str
    status: str
    by: str | None
    number: int
    base_op_ms: float
    new_op_ms: float
    base_count: float
    new_count: float
    module: str | None
    file: str | None
    line: int | None


@record
class Cause:
    """A part of the change, in ms of step time. The causes add up to the change.

    kind: class (time in which no device works) · op · other ops (too small to name) · unchanged ops (together; their work
    is what it was, so this is rather the machine) · overlap (other work hides more or less of collectives or copies).
    sure_ms: how much of it, whatever its sign, neither the scatter of the steps nor the machine explains.
    """

    class_name: str
    kind: str
    name: str
    change_ms: float
    sure_ms: float
    base_ms: float | None
    new_ms: float | None
    op: OpChange | None


@record
class ClassChange:
    """A class of step time, ms a step. The classes add up to the step time. error_ms: of the change, from the steps."""

    name: str
    base_ms: float
    new_ms: float
    change_ms: float
    error_ms: float | None


@record
class MetricChange:
    """A metric that speaks about a class and is not what it was; it explains, and adds up to nothing."""

    class_name: str
    metric: str
    unit: str
    base: float
    new: float


@record
class FindingChange:
    """A finding that only one side has. appeared: on the new side."""

    rule_id: str
    category: str
    title: str
    place: str
    appeared: bool


@record
class Head:
    """One side in a line. error_ms: standard error of the median, from the run's own steps."""

    name: str
    steps: int
    mean_ms: float
    median_ms: float
    error_ms: float | None


@record
class Speed:
    """How much longer ops take whose work did not change. ops: how many were looked at. share: of all op time."""

    factor: float
    ops: int
    share: float


@record
class Comparison:
    """A comparison. Times in ms of mean step time.

    causes: the surest first, unchanged ops last unless nothing else comes near them; they add up to change_ms. differences:
    why the runs are not quite alike. same: one trace twice.
    """

    base: Head
    new: Head
    change_ms: float
    classes: tuple[ClassChange, ...]
    causes: tuple[Cause, ...]
    metrics: tuple[MetricChange, ...]
    findings: tuple[FindingChange, ...]
    speed: Speed | None
    matched: Mapping[str, int]
    differences: tuple[str, ...]
    same: bool

    @property
    def change_fraction(self) -> float:
        """Of the base's mean step time."""
        return self.change_ms / self.base.mean_ms

    @property
    def residual_ms(self) -> float:
        """What the causes leave unexplained: rounding."""
        return self.change_ms - sum(cause.change_ms for cause in self.causes)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, `schema_version` first. Numbers are finite."""
        plain = _plain(self)
        assert isinstance(plain, dict)
        return {
            "schema_version": SCHEMA_VERSION,
            "tool": {"name": "tfadvisor", "version": VERSION},
            **plain,
            "change_fraction": self.change_fraction,
            "residual_ms": self.residual_ms,
        }


def _plain(value: Any) -> Any:
    if names := fields_of(value):
        return {name.replace("class_name", "class"): _plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return value
