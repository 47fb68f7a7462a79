"""A configuration's values to records, or errors that name file, line and key, all of
them at once.
"""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
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
from tfadvisor.comparison.gate.config_values import (
    Kind,
    amount,
    anything,
    day,
    label,
    meant,
    number_of_runs,
    one_of,
    rate,
    share,
    words,
)
from tfadvisor.did_you_mean import nearest
from tfadvisor.errors import SeveralMistakes

_SEVERITIES = ("critical", "high", "medium", "low", "info")
_ON_CANNOT_TELL = ("on_cannot_tell", "on-cannot-tell")
_HUGE = 1e300
_MOST_KEYS = 1_000
"""Of a table: there are fewer metrics and rules."""
_PARTS = ("budgets", "relative", "severity")
"""Tables that a preset has too."""
_FIELDS = ("model", "baseline", "new-findings", "false-alarm-rate", "keep")
"""Settings that are fields of Config as they are."""
_SETTINGS: Mapping[str, Kind] = {
    "preset": one_of(*PRESETS),
    "model": words,
    "baseline": words,
    **dict.fromkeys(_ON_CANNOT_TELL, one_of(*POLICIES)),
    "new-findings": one_of(*_SEVERITIES, "off"),
    "false-alarm-rate": rate,
    "keep": number_of_runs,
    **dict.fromkeys((*_PARTS, "labels", "rules", "ignore"), anything),
}
_IGNORE: Mapping[str, Kind] = {"check": words, "reason": words, "expires": day}
_MISSING = {
    "check": "the metric or rule to ignore.",
    "reason": "why the gate may ignore this.",
    "expires": "the last day to ignore this, such as 2026-12-31.",
}
_NEEDS_BUDGET = "needs a max or a min."
_NEEDS_LIMIT = 'needs a limit ("5%" of the baseline) or a change (in its own unit).'


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
    own = reader.parts(values)
    labels = reader.labels(values.get("labels", {}))
    rules = tuple(reader.rules(values.get("rules", {})))
    ignores = tuple(reader.ignores(values.get("ignore", [])))
    reader.complain()

    below = _preset(preset or values.get("preset", "recommended"), known)
    parts = {name: {**below[name], **own[name]} for name in _PARTS}
    return Config(
        file=file.path,
        labels=labels,
        budgets=_switched_on(parts["budgets"]),
        relative=_switched_on(parts["relative"]),
        severity=parts["severity"],
        rules=rules,
        ignores=ignores,
        **_fields(values),
    )


def _switched_on(limits: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(limit for limit in limits.values() if limit.level != "off")


def _fields(values: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that are fields of Config, under their names there."""
    given = {name.replace("-", "_"): values[name] for name in _FIELDS if name in values}
    for name in _ON_CANNOT_TELL:
        if values.get(name):
            given.setdefault("on_cannot_tell", values[name])
            given.setdefault("on_not_comparable", values[name])
    return given


def _preset(name: str, known: Known) -> Mapping[str, Mapping[str, Any]]:
    """A preset's parts."""
    values: Mapping[str, Any] = {}
    if name != "none":
        values = read_config(pathlib.Path(__file__).with_name(f"{name}.toml")).values
    return _Reader(ConfigFile(NAME, "", values, ()), known).parts(values)


class _Reader:
    """The parts of a configuration. What is wrong is noted in `mistakes` and counts as
    not given.
    """

    def __init__(self, file: ConfigFile, known: Known) -> None:
        self._file = file
        self._known = known
        self.mistakes: list[ConfigError] = []

    def note(self, at: Path, cause: str) -> None:
        self.mistakes.append(self._file.error(at, cause))

    def complain(self) -> None:
        """Raises what was noted."""
        mistakes = sorted(self.mistakes, key=lambda mistake: mistake.line)
        if len(mistakes) > 1:
            raise SeveralMistakes(mistakes)
        if mistakes:
            raise mistakes[0]

    def line(self, at: Path) -> int:
        """0 in a preset."""
        return self._file.line(at) if self._file.text else 0

    def table(self, value: Any, at: Path) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            self.note(at, "is not a table.")
            return {}
        if len(value) > _MOST_KEYS:
            self.note(at, f"has more than {_MOST_KEYS} keys.")
            return {}
        return value

    def record(self, value: Any, kinds: Mapping[str, Kind], at: Path) -> dict[str, Any]:
        """What is right of a table with no other keys than these."""
        found = {}
        for key, setting in self.table(value, at).items():
            if key not in kinds:
                self.note((*at, key), f"is not known here{meant(key, kinds)}")
                continue
            try:
                found[key] = kinds[key](setting)
            except ValueError as error:
                self.note((*at, key), str(error))
        return found

    def labels(self, value: Any) -> dict[str, Any]:
        if not value:
            return {}
        at: Path = ("labels",)
        return self.record(value, dict.fromkeys(self.table(value, at), label), at)

    def parts(self, values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
        """What a preset and a file have alike."""
        levels = dict.fromkeys(_SEVERITIES, one_of(*LEVELS))
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
        known = self._known.metrics
        for metric, value in self.table(values.get(name, {}), (name,)).items():
            at: Path = (name, metric)
            if metric not in known:
                self.note(at, f"no metric has this name{meant(metric, known)}")
                continue

            before = len(self.mistakes)
            made = make(metric, value, at)
            if len(self.mistakes) == before:
                yield metric, made

    def budget(self, metric: str, value: Any, at: Path) -> Budget:
        of_unit = amount(self._known.metrics[metric])
        kinds = {"max": of_unit, "min": of_unit}
        given = self.limit(value, at, kinds, _NEEDS_BUDGET)
        if given.get("min", -_HUGE) > given.get("max", _HUGE):
            self.note(at, "its min is above its max.")
        return Budget(
            metric,
            given.get("max"),
            given.get("min"),
            given["level"],
            self.line(at),
        )

    def relative(self, metric: str, value: Any, at: Path) -> Relative:
        kinds = {
            "limit": share,
            "change": amount(self._known.metrics[metric], above_0=True),
            "worse": one_of("up", "down", "both"),
        }
        given = self.limit(value, at, kinds, _NEEDS_LIMIT)
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
        first = next(iter(kinds))
        table = value if isinstance(value, dict) else {first: value}
        given = self.record(table, {**kinds, "level": one_of(*LEVELS)}, at)
        given.setdefault("level", "error")

        is_empty = not given.keys() - {"level", "worse"}
        if is_empty and given["level"] != "off" and len(self.mistakes) == before:
            self.note(at, needs)
        return given

    def ignores(self, entries: Any) -> Iterator[Ignore]:
        if not isinstance(entries, list):
            self.note(
                ("ignore",), "must be written [[ignore]], because there can be several."
            )
            return
        for number, entry in enumerate(entries):
            at: Path = ("ignore", number)
            given = self.record(entry, _IGNORE, at)
            if isinstance(entry, dict):
                self._check_entry(entry, at)
            self._check_name(given.get("check", ""), (*at, "check"))
            if _MISSING.keys() <= given.keys():
                yield Ignore(**given, line=self._file.line(at))

    def _check_entry(self, entry: Mapping[str, Any], at: Path) -> None:
        for name, what in _MISSING.items():
            if name not in entry:
                self.note((*at, name), f"is missing: {what}")

    def _check_name(self, check: str, at: Path) -> None:
        names = (*self._known.metrics, *self._known.rules)
        if check and not _fits_any(check, names):
            self.note(at, f"no metric or rule is called {check}{meant(check, names)}")

    def rules(self, value: Any) -> Iterator[RuleLevel]:
        """`RULE = level`, or the same as a table."""
        known = self._known.rules
        for pattern, setting in self.table(value, ("rules",)).items():
            at: Path = ("rules", pattern)
            if not _fits_any(pattern, known):
                self.note(at, f"no rule has this name{meant(pattern, known)}")

            if isinstance(setting, Mapping):
                key, values, within = "level", setting, at
            else:
                key, values, within = pattern, {pattern: setting}, ("rules",)
            given = self.record(values, {key: one_of(*LEVELS)}, within)
            if key in given:
                yield RuleLevel(pattern, given[key], self.line((*within, key)))


def _fits_any(pattern: str, names: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for name in names)


def known_names(rules: Sequence[pathlib.Path] = ()) -> Known:
    """What a configuration may name."""
    from tfadvisor.advice.loading.catalogue import load_catalogue
    from tfadvisor.metrics import registered_metrics

    catalogue = load_catalogue(rules, preview=True)
    return Known(
        metrics={
            name: metric.unit.value for name, metric in registered_metrics().items()
        },
        rules=tuple(rule.id for rule in catalogue.rules),
    )


def ignored_of_project(
    given: pathlib.Path | None = None, rules: Sequence[pathlib.Path] = ()
) -> dict[str, str]:
    """Patterns of rules whose findings a configuration, else the nearest one, ignores
    today, each with what is said about it. Raises UsageError for a configuration that
    ignores something, or means to, and cannot be used.
    """
    file = read_config(given) if given is not None else find_config(pathlib.Path.cwd())
    unknown = [name for name in file.values if name not in _SETTINGS]
    misspelt = any(nearest(name, ("ignore",)) for name in unknown)
    if not file.values.get("ignore") and not misspelt:
        return {}

    today = date.today()
    ignored: dict[str, str] = {}
    for entry in read(file, known_names(rules)).ignores:
        if today <= entry.expires:
            ignored[entry.check] = (
                f"ignored until {entry.expires} by {file.path}:{entry.line}: "
                f"{entry.reason}"
            )
    return ignored
