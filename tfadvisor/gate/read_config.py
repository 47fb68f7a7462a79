"""A configuration's values to records, or an error that names file, line and key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from fnmatch import fnmatchcase
from typing import Any

from tfadvisor.gate.config import LEVELS, POLICIES, Budget, Ignore, Layer, Override, Relative, RuleLevel, Written
from tfadvisor.gate.config_file import NAME, ConfigError, ConfigFile
from tfadvisor.gate.presets import PRESETS
from tfadvisor.gate.toml_lines import Path
from tfadvisor.record import record

_PERCENT = re.compile(r"^\s*([+-]?\d+(?:\.\d+)?)\s*%\s*$")
_HUGE = 1e300
_DIRECTIONS = ("up", "down", "both")
_SEVERITIES = ("critical", "high", "medium", "low", "info")
_SLOWER = ("inconclusive", "fail")
_OF_LAYER = (
    "on-inconclusive",
    "on-slower-machine",
    "false-alarm-rate",
    "min-runs",
    "keep",
    "budgets",
    "relative",
    "severity",
    "rules",
)
_OF_FILE = ("preset", "model", "labels", "baseline", *_OF_LAYER, "ignore", "override")
_OF_OVERRIDE = ("models", "runs", "hosts", "devices", *_OF_LAYER)


@record
class Known:
    """What configurations may name: metrics with their units, and rules."""

    metrics: Mapping[str, str]
    rules: tuple[str, ...]


def read(file: ConfigFile, known: Known, preset: str | None = None) -> Written:
    """Raises ConfigError. A preset given here wins over the file's."""
    reader = _Reader(file, known)
    values = reader.table(file.values, (), _OF_FILE)
    chosen = preset or reader.choice(values, ("preset",), tuple(PRESETS)) or "recommended"
    return Written(
        file=file.path,
        preset=_preset(chosen, known),
        layer=reader.layer(values, ()),
        overrides=tuple(reader.override(one, ("override", at)) for at, one in reader.tables(values, "override")),
        ignores=tuple(reader.ignore(one, ("ignore", at)) for at, one in reader.tables(values, "ignore")),
    )


def _preset(name: str, known: Known) -> Layer:
    """A preset's layer, without what this version of tfadvisor does not measure."""
    values = {
        part: {key: value for key, value in entries.items() if part == "severity" or key in known.metrics}
        for part, entries in PRESETS[name].items()
    }
    return _Reader(ConfigFile(NAME, "", values, ()), known).layer(values, ())


class _Reader:
    """Values by the type that they must have. Every method takes the path of what it reads, for its error."""

    def __init__(self, file: ConfigFile, known: Known) -> None:
        self._file = file
        self._known = known

    def layer(self, values: Mapping[str, Any], at: Path) -> Layer:
        return Layer(
            model=self.text(values, (*at, "model")),
            labels=self.labels(values, (*at, "labels")),
            baseline=self.text(values, (*at, "baseline")),
            keep=self.whole(values, (*at, "keep"), 1, 1000),
            fewest_runs=self.whole(values, (*at, "min-runs"), 2, 1000),
            false_alarm_rate=self.rate(values, (*at, "false-alarm-rate")),
            on_inconclusive=self.choice(values, (*at, "on-inconclusive"), POLICIES),
            on_slower_machine=self.choice(values, (*at, "on-slower-machine"), _SLOWER),
            budgets={
                name: self.budget(name, one, where) for name, one, where in self.metrics(values, (*at, "budgets"))
            },
            relative={
                name: self.relative(name, one, where) for name, one, where in self.metrics(values, (*at, "relative"))
            },
            severity=self.severity(values, (*at, "severity")),
            rules=self.rules(values, (*at, "rules")),
        )

    def override(self, value: Any, at: Path) -> Override:
        values = self.table(value, at, _OF_OVERRIDE)
        patterns = {name: self.texts(values, (*at, name)) for name in ("models", "runs", "hosts", "devices")}
        if not any(patterns.values()):
            raise self._file.error(at, "names no models, runs, hosts or devices that it is for.")
        return Override(
            models=patterns["models"],
            runs=patterns["runs"],
            hosts=patterns["hosts"],
            devices=patterns["devices"],
            layer=self.layer(values, at),
        )

    def ignore(self, value: Any, at: Path) -> Ignore:
        values = self.table(value, at, ("check", "reason", "expires", "models"))
        check, reason = self.text(values, (*at, "check")), self.text(values, (*at, "reason"))
        if not check:
            raise self._file.error((*at, "check"), "is missing: the metric or rule that is ignored.")
        if not reason:
            raise self._file.error((*at, "reason"), "is missing: why this may be ignored.")
        names = (*self._known.metrics, *self._known.rules)
        if not any(fnmatchcase(name, check) for name in names):
            raise self._file.error((*at, "check"), f"no metric or rule is called {check}{_meant(check, names)}.")
        return Ignore(
            check=check,
            models=self.texts(values, (*at, "models")),
            reason=reason,
            expires=self.day(values, (*at, "expires")),
            line=self._file.line(at),
        )

    def budget(self, metric: str, value: Any, at: Path) -> Budget:
        values = value if isinstance(value, dict) else {"max": value}
        self.table(values, at, ("max", "min", "level"))
        most, least = self.amount(values, (*at, "max"), metric), self.amount(values, (*at, "min"), metric)
        level = self.choice(values, (*at, "level"), LEVELS) or "error"
        if most is None and least is None and level != "off":
            raise self._file.error(at, "needs a max or a min.")
        if most is not None and least is not None and least > most:
            raise self._file.error(at, "its min is above its max.")
        return Budget(metric, most, least, level, self.written_at(at))

    def relative(self, metric: str, value: Any, at: Path) -> Relative:
        values = value if isinstance(value, dict) else {"limit": value}
        self.table(values, at, ("limit", "change", "worse", "floor", "level"))
        limit, change = self.share(values, (*at, "limit")), self.amount(values, (*at, "change"), metric)
        level = self.choice(values, (*at, "level"), LEVELS) or "error"
        if (limit is None) == (change is None) and level != "off":
            raise self._file.error(at, 'needs either a limit ("5 %" of the baseline) or a change (in its own unit).')
        if (change or 0) < 0:
            raise self._file.error((*at, "change"), "is below 0; `worse` says which way is meant.")
        floor = self.share(values, (*at, "floor"))
        if floor is not None and floor == 0:
            raise self._file.error((*at, "floor"), "must be above 0.")
        return Relative(
            metric=metric,
            limit=limit,
            change=change,
            worse=self.choice(values, (*at, "worse"), _DIRECTIONS),
            floor=floor,
            level=level,
            line=self.written_at(at),
        )

    def metrics(self, values: Mapping[str, Any], at: Path) -> Iterable[tuple[str, Any, Path]]:
        for name, value in self.table(values.get(str(at[-1]), {}), at, None).items():
            if name not in self._known.metrics:
                raise self._file.error((*at, name), f"no metric is called so{_meant(name, self._known.metrics)}.")
            yield name, value, (*at, name)

    def rules(self, values: Mapping[str, Any], at: Path) -> tuple[RuleLevel, ...]:
        found = []
        for pattern, level in self.table(values.get("rules", {}), at, None).items():
            if not any(fnmatchcase(rule, pattern) for rule in self._known.rules):
                raise self._file.error((*at, pattern), f"no rule is called so{_meant(pattern, self._known.rules)}.")
            found.append(
                RuleLevel(pattern, self.one_of(level, (*at, pattern), LEVELS), self.written_at((*at, pattern)))
            )
        return tuple(found)

    def severity(self, values: Mapping[str, Any], at: Path) -> dict[str, str]:
        levels = self.table(values.get("severity", {}), at, _SEVERITIES)
        return {name: self.one_of(level, (*at, name), LEVELS) for name, level in levels.items()}

    def labels(self, values: Mapping[str, Any], at: Path) -> dict[str, str]:
        found = {}
        for name, value in self.table(values.get("labels", {}), at, None).items():
            if not isinstance(value, str | int | float):
                raise self._file.error((*at, name), "is no text or number.")
            found[name] = str(value)
        return found

    def written_at(self, at: Path) -> int:
        """The line of a key; 0 in a preset."""
        return self._file.line(at) if self._file.text else 0

    def table(self, value: Any, at: Path, allowed: Sequence[str] | None) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise self._file.error(at, "is no table.")
        for key in value:
            if allowed is not None and key not in allowed:
                raise self._file.error((*at, key), f"is not known here{_meant(key, allowed)}.")
        return value

    def tables(self, values: Mapping[str, Any], name: str) -> Iterable[tuple[int, Any]]:
        found = values.get(name, [])
        if not isinstance(found, list):
            raise self._file.error((name,), f"must be written [[{name}]], since there can be several.")
        return enumerate(found)

    def text(self, values: Mapping[str, Any], at: Path) -> str | None:
        value = values.get(str(at[-1]))
        if value is not None and (not isinstance(value, str) or not value.strip()):
            raise self._file.error(at, "is no text, or an empty one.")
        return value

    def texts(self, values: Mapping[str, Any], at: Path) -> tuple[str, ...]:
        value = values.get(str(at[-1]), [])
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
            raise self._file.error(at, "is no list of patterns.")
        return tuple(value)

    def whole(self, values: Mapping[str, Any], at: Path, least: int, most: int) -> int | None:
        value = values.get(str(at[-1]))
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._file.error(at, f"is no whole number from {least} to {most:,}.")
        return value

    def choice(self, values: Mapping[str, Any], at: Path, allowed: Sequence[str]) -> str | None:
        value = values.get(str(at[-1]))
        return None if value is None else self.one_of(value, at, allowed)

    def one_of(self, value: Any, at: Path, allowed: Sequence[str]) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise self._file.error(at, f"is {_shown(value)}, and must be one of {', '.join(allowed)}.")
        return value

    def rate(self, values: Mapping[str, Any], at: Path) -> float | None:
        rate = self.share(values, at)
        if rate is not None and not 1e-6 <= rate <= 0.2:
            raise self._file.error(at, "must lie between 0.0001 % and 20 %.")
        return rate

    def share(self, values: Mapping[str, Any], at: Path) -> float | None:
        """`"5 %"` or `0.05`."""
        number = self._number(values, at)
        if number is not None and number < 0:
            raise self._file.error(at, "is below 0.")
        if number is not None and number > 10 and not isinstance(values[str(at[-1])], str):
            raise self._file.error(at, f'is {number:g} times; did you mean "{number:g} %"?')
        return number

    def amount(self, values: Mapping[str, Any], at: Path, metric: str) -> float | None:
        """A number in the metric's unit; per cent for fractions only."""
        value = values.get(str(at[-1]))
        if isinstance(value, str) and self._known.metrics.get(metric) != "fraction":
            raise self._file.error(at, f"is no number of {self._known.metrics.get(metric)}.")
        return self._number(values, at)

    def _number(self, values: Mapping[str, Any], at: Path) -> float | None:
        value = values.get(str(at[-1]))
        if value is None:
            return None
        if isinstance(value, str) and (match := _PERCENT.match(value)):
            return float(match.group(1)) / 100
        if isinstance(value, bool) or not isinstance(value, int | float) or not -_HUGE < value < _HUGE:
            raise self._file.error(at, f'is {_shown(value)}, and must be a number or a share such as "5 %".')
        return float(value)

    def day(self, values: Mapping[str, Any], at: Path) -> date:
        value = values.get(str(at[-1]))
        if value is None:
            raise self._file.error(at, "is missing: the day until which this is ignored, as 2026-12-31.")
        if isinstance(value, datetime):
            return value.date()
        if isinstance(value, date):
            return value
        try:
            return date.fromisoformat(value)
        except (TypeError, ValueError):
            raise self._file.error(at, f"is {_shown(value)}, and must be a day, as 2026-12-31.") from None


def _meant(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, list(known), 1, 0.6)
    return f"; did you mean {near[0]}?" if near else ""


def _shown(value: Any) -> str:
    return f"{value!r:.60}"


__all__ = ["ConfigError", "Known", "read"]
