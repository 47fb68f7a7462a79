"""What the gate says about turns: their snapshots as pairs, the findings of what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone

from msgspec.structs import replace

from tfadvisor.against.turns import Turn
from tfadvisor.errors import NothingToCompare, TraceError
from tfadvisor.gate.baseline.comparability import may_differ, must_be_alike
from tfadvisor.gate.baseline.comparable_runs import Baseline
from tfadvisor.gate.baseline.snapshot import DEFAULT_MODEL, Snapshot, snapshot_of
from tfadvisor.gate.config.resolved import Config
from tfadvisor.gate.judging.judge import judge
from tfadvisor.gate.judging.result import GateResult
from tfadvisor.report.model import Report


class Sides:
    """Names and first recordings of both sides, by which every verdict is given."""

    def __init__(
        self, names: tuple[str, str], shown: tuple[Report, Report], model: str | None, labels: Mapping[str, str]
    ) -> None:
        """base first. shown: what findings are taken from; it may have calls of Python that the judged ones have not."""
        self._names, self._shown = names, shown
        self._model, self._labels = model or DEFAULT_MODEL, labels

    def verdict(self, turns: list[Turn], config: Config, share: float) -> GateResult:
        """share: of the configuration's rate of false alarms. Raises NothingToCompare when a run holds no step."""
        base = [self._snapshot(turn.base, 0) for turn in turns]
        head = [self._snapshot(turn.head, 1) for turn in turns]
        unlike = must_be_alike(base[0].key, head[0].key)
        baseline = Baseline(() if unlike else tuple(base), unlike, (), may_differ(base[0], head[0]), in_turns=True)
        today = datetime.now(timezone.utc).date()
        asked = replace(config, false_alarm_rate=config.false_alarm_rate * share)
        found = judge(asked, [self._shown[1]], head, baseline, today)
        gated = replace(found.gated, against=self._names[0])
        return replace(found, false_alarm_rate=config.false_alarm_rate, gated=gated)

    def _snapshot(self, report: Report, side: int) -> Snapshot:
        """With the findings of what is shown of the side: whether calls of Python are in it decides what is found."""
        try:
            judged = snapshot_of(report, self._model, self._labels)
            shown = snapshot_of(self._shown[side], self._model, self._labels)
        except TraceError as error:
            raise NothingToCompare(self._names[side], error.cause, error.remedy) from error
        return replace(judged, side=replace(judged.side, name=self._names[side], findings=shown.side.findings))
