"""A configuration's values to records, or an error that names file, line and key."""

from __future__ import annotations

import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

import msgspec

from tfadvisor.advice.loading.limits import LimitChange
from tfadvisor.comparison.gate.config import (
    LEVEL,
    LEVELS,
    POLICIES,
    PRESETS,
    Budget,
    Ignore,
    Layer,
    Override,
    Relative,
    RuleLevel,
    Written,
)
from tfadvisor.comparison.gate.config_file import NAME, ConfigFile, Values, find_config, meant, read_config
from tfadvisor.comparison.gate.config_file import KeyPath as Path
from tfadvisor.errors import SeveralMistakes

_DIRECTIONS = ("up", "down", "both")
_SEVERITIES = ("critical", "high", "medium", "low", "info")
_SLOWER = ("inconclusive", "fail")
_ON_CANNOT_TELL = ("on_cannot_tell", "on-cannot-tell", "on-inconclusive")
"""The last is what the first versions called it."""
_OF_LAYER = (
    *_ON_CANNOT_TELL,
    "on-slower-machine",
    "new-findings",
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


class Known(msgspec.Struct, frozen=True):
    """What configurations may name: metrics with their units, and rules."""

    metrics: Mapping[str, str]
    rules: tuple[str, ...]
    wrong_change: Callable[[LimitChange], str] = lambda _change: ""
    """What is wrong with a changed limit of a rule, "" for nothing."""


def read(file: ConfigFile, known: Known, preset: str | None = None) -> Written:
    """Raises ConfigError, or SeveralMistakes with all of them. A preset given here wins over the file's."""
    reader = _LayerReader(file, known)
    values = reader.table(file.values, (), _OF_FILE)
    chosen = preset or reader.choice(values, ("preset",), tuple(PRESETS)) or "recommended"
    layer = reader.layer(values, ())
    overrides = [reader.override(one, ("override", at)) for at, one in reader.tables(values, "override")]
    ignores = [reader.ignore(one, ("ignore", at)) for at, one in reader.tables(values, "ignore")]
    mistakes = sorted(reader.mistakes, key=lambda one: one.line)
    if mistakes:
        raise SeveralMistakes(mistakes) if len(mistakes) > 1 else mistakes[0]
    return Written(
        file=file.path,
        preset=_preset(chosen, known),
        layer=layer,
        overrides=tuple(one for one in overrides if one is not None),
        ignores=tuple(one for one in ignores if one is not None),
    )


def _preset(name: str, known: Known) -> Layer:
    """A preset's layer, without what this version of tfadvisor does not measure."""
    values = {
        part: {key: value for key, value in entries.items() if part == "severity" or key in known.metrics}
        for part, entries in PRESETS[name].items()
    }
    return _LayerReader(ConfigFile(NAME, "", values, ()), known).layer(values, ())


class _LayerReader(Values):
    """The parts of a configuration. Every method takes the path of what it reads, for its error."""

    def __init__(self, file: ConfigFile, known: Known) -> None:
        super().__init__(file)
        self._known = known

    def layer(self, values: Mapping[str, Any], at: Path) -> Layer:
        return Layer(
            model=self.text(values, (*at, "model")),
            labels=self.labels(values, (*at, "labels")),
            baseline=self.text(values, (*at, "baseline")),
            keep=self.whole(values, (*at, "keep"), 1, 1000),
            fewest_runs=self.whole(values, (*at, "min-runs"), 2, 1000),
            false_alarm_rate=self.rate(values, (*at, "false-alarm-rate")),
            on_cannot_tell=self.first_choice(values, at, _ON_CANNOT_TELL, POLICIES),
            on_slower_machine=self.choice(values, (*at, "on-slower-machine"), _SLOWER),
            new_findings=self.choice(values, (*at, "new-findings"), (*_SEVERITIES, "off")),
            budgets={
                name: found
                for name, one, where in self.metrics(values, (*at, "budgets"))
                if (found := self.budget(name, one, where)) is not None
            },
            relative={
                name: limit
                for name, one, where in self.metrics(values, (*at, "relative"))
                if (limit := self.relative(name, one, where)) is not None
            },
            severity=self.severity(values, (*at, "severity")),
            rules=self.rules(values, (*at, "rules")),
        )

    def override(self, value: Any, at: Path) -> Override | None:
        before = len(self.mistakes)
        values = self.table(value, at, _OF_OVERRIDE)
        patterns = {name: self.texts(values, (*at, name)) for name in ("models", "runs", "hosts", "devices")}
        if not any(patterns.values()) and len(self.mistakes) == before:
            self.note(at, "must name the models, runs, hosts or devices that it applies to.")
        return Override(
            models=patterns["models"],
            runs=patterns["runs"],
            hosts=patterns["hosts"],
            devices=patterns["devices"],
            layer=self.layer(values, at),
        )

    def ignore(self, value: Any, at: Path) -> Ignore | None:
        values = self.table(value, at, ("check", "reason", "expires", "models"))
        check, reason = self.text(values, (*at, "check")), self.text(values, (*at, "reason"))
        expires, models = self.day(values, (*at, "expires")), self.texts(values, (*at, "models"))
        if "check" not in values:
            self.note((*at, "check"), "is missing: the metric or rule to ignore.")
        if "reason" not in values:
            self.note((*at, "reason"), "is missing: why the gate may ignore this.")
        names = (*self._known.metrics, *self._known.rules)
        if check and not any(fnmatchcase(name, check) for name in names):
            self.note((*at, "check"), f"no metric or rule is called {check}{meant(check, names)}")
        if not check or not reason or expires is None:
            return None
        return Ignore(check=check, models=models, reason=reason, expires=expires, line=self._file.line(at))

    def budget(self, metric: str, value: Any, at: Path) -> Budget | None:
        before = len(self.mistakes)
        values = value if isinstance(value, dict) else {"max": value}
        self.table(values, at, ("max", "min", "level"))
        unit = self._known.metrics[metric]
        most, least = self.amount(values, (*at, "max"), unit), self.amount(values, (*at, "min"), unit)
        level = self.choice(values, (*at, "level"), LEVELS) or "error"
        if len(self.mistakes) > before:
            return None
        if most is None and least is None and level != "off":
            self.note(at, "needs a max or a min.")
        if most is not None and least is not None and least > most:
            self.note(at, "its min is above its max.")
        return Budget(metric, most, least, level, self.written_at(at))

    def relative(self, metric: str, value: Any, at: Path) -> Relative | None:
        before = len(self.mistakes)
        values = value if isinstance(value, dict) else {"limit": value}
        self.table(values, at, ("limit", "change", "worse", "floor", "level"))
        limit = self.share(values, (*at, "limit"))
        change = self.amount(values, (*at, "change"), self._known.metrics[metric])
        level = self.choice(values, (*at, "level"), LEVELS) or "error"
        worse = self.choice(values, (*at, "worse"), _DIRECTIONS)
        floor = self.share(values, (*at, "floor"))
        if len(self.mistakes) > before:
            return None
        if limit is None and change is None and level != "off":
            self.note(at, 'needs a limit ("5%" of the baseline) or a change (in its own unit).')
        if (change or 0) < 0:
            self.note((*at, "change"), "is below 0; `worse` says which way is meant.")
        if floor == 0:
            self.note((*at, "floor"), "must be above 0.")
        return Relative(metric, limit, change, worse, floor, level, self.written_at(at))

    def metrics(self, values: Mapping[str, Any], at: Path) -> Iterable[tuple[str, Any, Path]]:
        for name, value in self.table(values.get(str(at[-1]), {}), at, None).items():
            if name in self._known.metrics:
                yield name, value, (*at, name)
            else:
                self.note((*at, name), f"no metric has this name{meant(name, self._known.metrics)}")

    def rules(self, values: Mapping[str, Any], at: Path) -> tuple[RuleLevel, ...]:
        found = []
        for pattern, level in self.table(values.get("rules", {}), at, None).items():
            if isinstance(level, Mapping):
                found += self.rule_table(pattern, level, (*at, pattern))
                continue
            if not any(fnmatchcase(rule, pattern) for rule in self._known.rules):
                self.note((*at, pattern), f"no rule has this name{meant(pattern, self._known.rules)}")
            if (known := self.one_of(level, (*at, pattern), LEVELS)) is not None:
                found.append(RuleLevel(pattern, known, self.written_at((*at, pattern))))
        return tuple(found)

    def rule_table(self, rule: str, values: Mapping[str, Any], at: Path) -> list[RuleLevel]:
        """`[rules.RULE]`: a level, and limits, which hold for every run: `analyze` knows of no overrides."""
        if at[0] != "rules":
            self.note(at, f"is a table, and limits hold for all runs: write [rules.{rule}].")
            return []
        for name, value in values.items():
            if name != LEVEL and (cause := self._known.wrong_change(LimitChange(rule, name, value, ""))):
                self.note((*at, name), cause)
        level = self.choice(values, (*at, LEVEL), LEVELS)
        return [] if level is None else [RuleLevel(rule, level, self.written_at((*at, LEVEL)))]

    def severity(self, values: Mapping[str, Any], at: Path) -> dict[str, str]:
        levels = self.table(values.get("severity", {}), at, _SEVERITIES)
        found = {name: self.one_of(level, (*at, name), LEVELS) for name, level in levels.items()}
        return {name: level for name, level in found.items() if level is not None}

    def labels(self, values: Mapping[str, Any], at: Path) -> dict[str, str]:
        found = {}
        for name, value in self.table(values.get("labels", {}), at, None).items():
            if isinstance(value, str | int | float):
                found[name] = str(value)
            else:
                self.note((*at, name), "is not text or number.")
        return found


def known_names(rules: Sequence[pathlib.Path] = ()) -> Known:
    """What a configuration may name."""
    import tfadvisor.metrics  # noqa: F401
    from tfadvisor.advice.loading.catalogue import load_catalogue
    from tfadvisor.advice.loading.limits import wrong_change
    from tfadvisor.metrics.registry import registered_metrics

    known = load_catalogue(rules, preview=True).rules
    return Known(
        metrics={name: one.unit.value for name, one in registered_metrics().items()},
        rules=tuple(rule.id for rule in known),
        wrong_change=partial(wrong_change, known),
    )


def ignored_of_project(given: pathlib.Path | None = None, rules: Sequence[pathlib.Path] = ()) -> dict[str, str]:
    """Patterns of rules whose findings a configuration, else the nearest one, ignores today whatever the model, each with what
    is said about it. Raises UsageError for a configuration that ignores something and cannot be used.
    """
    file = read_config(given) if given is not None else find_config(pathlib.Path.cwd())
    if not file.values.get("ignore"):
        return {}
    today = date.today()
    return {
        one.check: f"ignored until {one.expires} by {file.path}:{one.line}: {one.reason}"
        for one in read(file, known_names(rules)).ignores
        if not one.models and today <= one.expires
    }
