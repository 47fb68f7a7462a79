"""A configuration's values to records, or errors that name file, line and key, all of
them at once.
"""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime
from fnmatch import fnmatchcase
from typing import Any

import msgspec

from tfadvisor.comparison.gate.config import (
    LEVELS,
    POLICIES,
    PRESETS,
    Budget,
    Config,
    Ignore,
    Relative,
    RuleLevel,
)
from tfadvisor.comparison.gate.config_file import (
    NAME,
    ConfigError,
    ConfigFile,
    find_config,
    read_config,
)
from tfadvisor.comparison.gate.config_file import KeyPath as Path
from tfadvisor.did_you_mean import nearest
from tfadvisor.errors import SeveralMistakes

_SEVERITIES = ("critical", "high", "medium", "low", "info")
_ON_CANNOT_TELL = ("on_cannot_tell", "on-cannot-tell")
_PERCENT = re.compile(r"^\s*([+-]?\d+(?:\.\d+)?)\s*%\s*$")
_HUGE = 1e300
_MOST_KEYS = 1_000
"""Of a table: there are fewer metrics and rules."""

Kind = Callable[[Any], Any]
"""What a value must be: returns it as it is used, raises ValueError with what is wrong.
"""


class Known(msgspec.Struct, frozen=True):
    """What configurations may name: metrics with their units, and rules."""

    metrics: Mapping[str, str]
    rules: tuple[str, ...]


def read(file: ConfigFile, known: Known, preset: str | None = None) -> Config:
    """The file's settings over those of its preset. Raises ConfigError, or
    SeveralMistakes with all of them.

    A preset given here wins over the file's.
    """
    reader = _Reader(file, known)
    values = reader.record(file.values, _SETTINGS, ())
    parts = reader.parts(values)
    labels = values.get("labels", {})
    labels = (
        reader.record(
            labels,
            dict.fromkeys(reader.table(labels, ("labels",)), _label),
            ("labels",),
        )
        if labels
        else {}
    )
    rules = tuple(reader.rules(values.get("rules", {})))
    ignores = tuple(reader.ignores(values.get("ignore", [])))
    if mistakes := sorted(reader.mistakes, key=lambda one: one.line):
        raise SeveralMistakes(mistakes) if len(mistakes) > 1 else mistakes[0]
    below = _preset(preset or values.get("preset", "recommended"), known)
    whole = {
        name: {**below.get(name, {}), **parts.get(name, {})}
        for name in ("budgets", "relative", "severity")
    }
    on_cannot_tell = next(
        (values[name] for name in _ON_CANNOT_TELL if name in values), None
    )
    given = {
        **{name.replace("-", "_"): values[name] for name in _FIELDS if name in values},
        **(
            {"on_cannot_tell": on_cannot_tell, "on_not_comparable": on_cannot_tell}
            if on_cannot_tell
            else {}
        ),
    }
    return Config(
        file=file.path,
        labels=labels,
        budgets=tuple(one for one in whole["budgets"].values() if one.level != "off"),
        relative=tuple(one for one in whole["relative"].values() if one.level != "off"),
        severity=whole["severity"],
        rules=rules,
        ignores=ignores,
        **given,
    )


def _preset(name: str, known: Known) -> Mapping[str, Mapping[str, Any]]:
    """A preset's parts."""
    values = (
        read_config(pathlib.Path(__file__).with_name(f"{name}.toml")).values
        if name != "none"
        else {}
    )
    return _Reader(ConfigFile(NAME, "", values, ()), known).parts(values)


class _Reader:
    """The parts of a configuration. What is wrong is noted in `mistakes` and counts as
    not given.
    """

    def __init__(self, file: ConfigFile, known: Known) -> None:
        self._file, self._known = file, known
        self.mistakes: list[ConfigError] = []

    def note(self, at: Path, cause: str) -> None:
        self.mistakes.append(self._file.error(at, cause))

    def line(self, at: Path) -> int:
        """0 in a preset."""
        return self._file.line(at) if self._file.text else 0

    def table(self, value: Any, at: Path) -> Mapping[str, Any]:
        if isinstance(value, dict) and len(value) <= _MOST_KEYS:
            return value
        self.note(
            at,
            f"has more than {_MOST_KEYS} keys."
            if isinstance(value, dict)
            else "is not a table.",
        )
        return {}

    def record(self, value: Any, kinds: Mapping[str, Kind], at: Path) -> dict[str, Any]:
        """What is right of a table with no other keys than these."""
        found = {}
        for key, one in self.table(value, at).items():
            if key not in kinds:
                self.note((*at, key), f"is not known here{_meant(key, kinds)}")
                continue
            try:
                found[key] = kinds[key](one)
            except ValueError as error:
                self.note((*at, key), str(error))
        return found

    def parts(self, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """What a preset and a file have alike."""
        levels = dict.fromkeys(_SEVERITIES, _one_of(*LEVELS))
        return {
            "budgets": dict(self.metrics(values, "budgets", self.budget)),
            "relative": dict(self.metrics(values, "relative", self.relative)),
            "severity": self.record(values.get("severity", {}), levels, ("severity",)),
        }

    def metrics(
        self,
        values: Mapping[str, Any],
        name: str,
        make: Callable[[str, Any, Path], Any],
    ) -> Iterator[tuple[str, Any]]:
        for metric, value in self.table(values.get(name, {}), (name,)).items():
            at, before = (name, metric), len(self.mistakes)
            if metric not in self._known.metrics:
                self.note(
                    at, f"no metric has this name{_meant(metric, self._known.metrics)}"
                )
                continue
            made = make(metric, value, at)
            if len(self.mistakes) == before:
                yield metric, made

    def budget(self, metric: str, value: Any, at: Path) -> Budget:
        amount = _amount(self._known.metrics[metric])
        given = self.limit(
            value, at, {"max": amount, "min": amount}, "needs a max or a min."
        )
        if given.get("min", -_HUGE) > given.get("max", _HUGE):
            self.note(at, "its min is above its max.")
        return Budget(
            metric, given.get("max"), given.get("min"), given["level"], self.line(at)
        )

    def relative(self, metric: str, value: Any, at: Path) -> Relative:
        change, worse = (
            _amount(self._known.metrics[metric], above_0=True),
            _one_of("up", "down", "both"),
        )
        needs = 'needs a limit ("5%" of the baseline) or a change (in its own unit).'
        given = self.limit(
            value, at, {"limit": _share, "change": change, "worse": worse}, needs
        )
        return Relative(
            metric,
            given.get("limit"),
            given.get("change"),
            given.get("worse"),
            given["level"],
            self.line(at),
        )

    def limit(
        self, value: Any, at: Path, kinds: Mapping[str, Kind], needs: str
    ) -> dict[str, Any]:
        """What is right of a table, or of a value alone, which is of the first kind.
        needs: what to say of an empty one.
        """
        before = len(self.mistakes)
        alone = {next(iter(kinds)): value}
        given = self.record(
            value if isinstance(value, dict) else alone,
            {**kinds, "level": _one_of(*LEVELS)},
            at,
        )
        level = given.setdefault("level", "error")
        if (
            level != "off"
            and not given.keys() - {"level", "worse"}
            and len(self.mistakes) == before
        ):
            self.note(at, needs)
        return given

    def ignores(self, entries: Any) -> Iterator[Ignore]:
        if not isinstance(entries, list):
            self.note(
                ("ignore",), "must be written [[ignore]], because there can be several."
            )
            return
        names = (*self._known.metrics, *self._known.rules)
        missing = {
            "check": "the metric or rule to ignore.",
            "reason": "why the gate may ignore this.",
            "expires": "the last day to ignore this, such as 2026-12-31.",
        }
        for number, entry in enumerate(entries):
            at: Path = ("ignore", number)
            given = self.record(
                entry, {"check": _text, "reason": _text, "expires": _day}, at
            )
            for name, what in missing.items():
                if isinstance(entry, dict) and name not in entry:
                    self.note((*at, name), f"is missing: {what}")
            check = given.get("check")
            if check and not any(fnmatchcase(name, check) for name in names):
                self.note(
                    (*at, "check"),
                    f"no metric or rule is called {check}{_meant(check, names)}",
                )
            if missing.keys() <= given.keys():
                yield Ignore(**given, line=self._file.line(at))

    def rules(self, value: Any) -> Iterator[RuleLevel]:
        """`RULE = level`, or the same as a table."""
        for pattern, one in self.table(value, ("rules",)).items():
            at: Path = ("rules", pattern)
            if not any(fnmatchcase(rule, pattern) for rule in self._known.rules):
                self.note(
                    at, f"no rule has this name{_meant(pattern, self._known.rules)}"
                )
            table = isinstance(one, Mapping)
            key, values, within = (
                ("level", one, at) if table else (pattern, {pattern: one}, at[:1])
            )
            given = self.record(values, {key: _one_of(*LEVELS)}, within)
            if key in given:
                yield RuleLevel(pattern, given[key], self.line((*within, key)))


# Kinds of values.


def _one_of(*names: str) -> Kind:
    def kind(value: Any) -> str:
        if not isinstance(value, str) or value not in names:
            near = _meant(value, names) if isinstance(value, str) else "."
            raise ValueError(
                f"is {_said(value)}, and must be one of {', '.join(names)}{near}"
            )
        return value

    return kind


def _keep(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= 1000:
        raise ValueError("is not a whole number from 1 to 1,000.")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("is not text, or an empty one.")
    return value


def _label(value: Any) -> str:
    if not isinstance(value, str | int | float):
        raise ValueError("is not text or number.")
    return str(value)


def _number(value: Any) -> float:
    """A number, or a share such as "5%"."""
    if isinstance(value, str) and (match := _PERCENT.match(value)):
        return float(match.group(1)) / 100
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not -_HUGE < value < _HUGE
    ):
        raise ValueError(
            f'is {_said(value)}, and must be a number or a share such as "5%".'
        )
    return float(value)


def _share(value: Any) -> float:
    number = _number(value)
    if number < 0:
        raise ValueError("is below 0.")
    if number > 10 and not isinstance(value, str):
        raise ValueError(f'is {number:g} times; did you mean "{number:g}%"?')
    return number


def _rate(value: Any) -> float:
    if not 1e-6 <= (rate := _share(value)) <= 0.2:
        raise ValueError("must lie between 0.0001% and 20%.")
    return rate


def _amount(unit: str, *, above_0: bool = False) -> Kind:
    """A number in a metric's unit; per cent for fractions only."""

    def kind(value: Any) -> float:
        if isinstance(value, str) and unit != "fraction":
            raise ValueError(f"is not a number of {unit}.")
        number = _number(value)
        if above_0 and number < 0:
            raise ValueError("is below 0; `worse` says which way is meant.")
        return number

    return kind


def _day(value: Any) -> date:
    """As TOML writes it or as a text."""
    if isinstance(value, date):
        return value.date() if isinstance(value, datetime) else value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise ValueError(
            f"is {_said(value)}, and must be a day, such as 2026-12-31."
        ) from None


_FIELDS = ("model", "baseline", "new-findings", "false-alarm-rate", "keep")
"""Settings that are fields of Config as they are."""
_SETTINGS: Mapping[str, Kind] = {
    "preset": _one_of(*PRESETS),
    "model": _text,
    "baseline": _text,
    **dict.fromkeys(_ON_CANNOT_TELL, _one_of(*POLICIES)),
    "new-findings": _one_of(*_SEVERITIES, "off"),
    "false-alarm-rate": _rate,
    "keep": _keep,
    **dict.fromkeys(
        ("labels", "budgets", "relative", "severity", "rules", "ignore"),
        lambda value: value,
    ),
}


def _meant(name: str, known: Iterable[str]) -> str:
    """The end of a sentence: `; did you mean preset?` where one name is near, else a
    full stop.
    """
    near = nearest(name, known)
    return f"; did you mean {near}?" if near is not None else "."


def _said(value: Any) -> str:
    return f"{value!r:.60}"


def known_names(rules: Sequence[pathlib.Path] = ()) -> Known:
    """What a configuration may name."""
    from tfadvisor.advice.loading.catalogue import load_catalogue
    from tfadvisor.metrics.registry import registered_metrics

    return Known(
        metrics={name: one.unit.value for name, one in registered_metrics().items()},
        rules=tuple(rule.id for rule in load_catalogue(rules, preview=True).rules),
    )


def ignored_of_project(
    given: pathlib.Path | None = None, rules: Sequence[pathlib.Path] = ()
) -> dict[str, str]:
    """Patterns of rules whose findings a configuration, else the nearest one, ignores
    today, each with what is said about it. Raises UsageError for a configuration that
    ignores something, or means to, and cannot be used.
    """
    file = read_config(given) if given is not None else find_config(pathlib.Path.cwd())
    misspelt = any(
        nearest(one, ("ignore",)) for one in file.values if one not in _SETTINGS
    )
    if not (file.values.get("ignore") or misspelt):
        return {}
    today = date.today()
    return {
        one.check: f"ignored until {one.expires} by {file.path}:{one.line}: {one.reason}"
        for one in read(file, known_names(rules)).ignores
        if today <= one.expires
    }
