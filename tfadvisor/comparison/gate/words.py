"""Distances on a metric's scale as values and sentences."""

from __future__ import annotations

from collections.abc import Sequence
from math import expm1, inf, isfinite, log

import msgspec

from tfadvisor.comparison.gate.gated_metric import GatedMetric
from tfadvisor.comparison.statistics.ranks import middle_of
from tfadvisor.comparison.statistics.spread import Nature
from tfadvisor.units import Unit, in_words

_HUGE = 1e15
_TENFOLD = log(10)


def beyond(base: Sequence[float], distance: float, nature: Nature) -> float:
    """The value that lies this far from the baseline's centre, on the side that is
    worse.
    """
    centre = middle_of(base)
    away = -distance if nature.worse == "down" else distance
    if nature.by_factor:
        return centre * (1 + expm1(min(max(away, -30.0), 30.0)))
    return centre + away


def detectable(
    base: Sequence[float], reach: float | None, nature: Nature
) -> float | None:
    """The smallest change for the worse, in the metric's unit, that exceeds noise; None
    while the runs show nothing.
    """
    if reach is None or reach == inf or shows_nothing(reach, nature):
        return None
    return abs(beyond(base, reach, nature) - middle_of(base))


def shows_nothing(reach: float, nature: Nature) -> bool:
    """Whether so few runs are known that even ten times as much would be no
    surprise.
    """
    return nature.by_factor and reach > _TENFOLD


def change_words(base: float, change: float, unit: Unit) -> str:
    """`13%` of the base; in the unit where the base is 0 or the metric is a share
    already.
    """
    if unit is Unit.FRACTION:
        return f"{abs(change) * 100:.2g} points"
    if base == 0 and unit is Unit.COUNT and 0 < abs(change) < 1:
        return "any"
    if base == 0 or abs(change / base) > 3:
        return in_words(abs(change), unit)
    share = abs(change / base) * 100
    return f"{share:.0f}%" if share >= 10 else f"{share:.1f}%"


class Sentence(msgspec.Struct, frozen=True):
    """The sentences of a verdict about one metric."""

    about: GatedMetric

    def failed(self, reach: float) -> str:
        """Over the limit and beyond what noise explains."""
        noise = f"runs of an unchanged program stay within {self._of(reach)}"
        return (
            f"{self._moved()}; the limit is {self._of(self.about.allowed)}, and "
            f"{noise}."
        )

    def above_all(self) -> str:
        """Over the limit and far from all runs, however these scatter."""
        about = self.about
        falls = about.nature.worse == "down"
        edge = min(about.base) if falls else max(about.base)
        return (
            f"{self._moved()}; the limit is {self._of(about.allowed)}, and the "
            f"{'smallest' if falls else 'largest'} of {len(about.base)} baseline runs "
            f"is {in_words(edge, Unit(about.unit))}."
        )

    def passed(self, *, significant: bool) -> str:
        """Within the limit."""
        more = "; more than noise, but within the limit" if significant else ""
        return f"{self._moved()}{more}; the limit is {self._of(self.about.allowed)}."

    def cannot_tell(self, reach: float, outside: float | None, *, more: int) -> str:
        """The limit is finer than what these runs can show. outside: what they show
        beside the unchanged ops. more: runs that would help.
        """
        number, in_turns = self.about.runs, self.about.in_turns
        runs = (
            f"{number} "
            f"{'turn' if in_turns else 'baseline run'}{'s' if number != 1 else ''}"
        )
        above = f"changes above {self._of(reach)}"
        if outside is not None and outside < reach:
            above += f" (outside the unchanged ops, above {self._of(outside)})"
        blind = shows_nothing(reach, self.about.nature)
        how = (
            f"{runs} cannot show yet how much runs differ"
            if blind
            else f"{runs} can show only {above}"
        )
        use = "a longer --budget" if in_turns else "several --candidates"
        help_ = (
            f"Use {use}, a quieter machine or a wider limit"
            if in_turns or more <= 1
            else f"Add {more} more runs"
        )
        return (
            f"{self._moved()}; the limit is {self._of(self.about.allowed)}. {how}. "
            f"{help_}."
        )

    def slower_machine(self, log_factor: float, *, steady: bool) -> str:
        """Everything takes longer alike."""
        text = (
            f"{self._moved()}, and ops whose work did not change take "
            f"{expm1(log_factor) * 100:.0f}% longer throughout"
        )
        if steady:
            return f"{text}; the limit is {self._of(self.about.allowed)}."
        return (
            f"{text}: as on a slower or busier machine. Run again, alternating with "
            "the base, to find out."
        )

    def slower_at_equal_speed(self, distance: float, log_factor: float) -> str:
        """The machine hides a change, and was as fast before."""
        speed = -expm1(log_factor) * 100
        return (
            f"{self._moved()} on a machine that was {speed:.0f}% faster; at equal "
            f"speed it is {self._of(distance)} worse, and "
            f"the limit is {self._of(self.about.allowed)}."
        )

    def faster_machine(self, distance: float, log_factor: float) -> str:
        """The machine hides a change."""
        speed = -expm1(log_factor) * 100
        return (
            f"{self._moved()}, but ops whose work did not change take {speed:.0f}% "
            "less time, as on a faster machine; at equal "
            f"speed it would be {self._of(distance)} worse. Run again, alternating "
            "with the base, to find out."
        )

    def _moved(self) -> str:
        metric, value = self.about.asked.metric, self.about.value
        unit, centre = Unit(self.about.unit), middle_of(self.about.base)
        change = value - centre
        values = f"{in_words(centre, unit)} → {in_words(value, unit)}"
        if not change:
            return f"{metric} is unchanged at {in_words(value, unit)}"
        verb = "rose" if change > 0 else "fell"
        return f"{metric} {verb} by {change_words(centre, change, unit)} ({values})"

    def _of(self, distance: float) -> str:
        """A distance on the scale, in words of change."""
        if not isfinite(distance) or abs(distance) > _HUGE:
            return "any size"
        metric, centre = self.about, middle_of(self.about.base)
        return change_words(
            centre,
            beyond(metric.base, distance, metric.nature) - centre,
            Unit(metric.unit),
        )
