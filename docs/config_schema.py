"""The JSON Schema of tfadvisor.toml, for editors: names with what they mean, and the
values that each takes.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.comparison.gate.config import LEVELS, POLICIES, PRESETS
from tfadvisor.metrics.registry import registered_metrics

NAME = "tfadvisor-toml-1.json"
_SHARE = {
    "type": ["number", "string"],
    "pattern": r"^\s*\d+(\.\d+)?\s*%\s*$",
    "minimum": 0,
}
_SIGNED = {"type": ["number", "string"], "pattern": r"^\s*[+-]?\d+(\.\d+)?\s*%\s*$"}
_SEVERITIES = ("critical", "high", "medium", "low", "info")
_OLDER = ("on-cannot-tell",)


def config_schema() -> str:
    """Draft 7, which editors of TOML read."""
    whole = {
        "preset": _choice(PRESETS, "What holds where this file says nothing."),
        "model": {
            "type": "string",
            "minLength": 1,
            "description": "Whose baseline; --model wins.",
        },
        "baseline": {
            "type": "string",
            "minLength": 1,
            "description": "The store's folder; --baseline wins.",
        },
        "labels": {
            "type": "object",
            "description": "What a trace does not tell and must be alike to compare.",
            "additionalProperties": {"type": ["string", "number", "boolean"]},
        },
        **_settings(),
        "ignore": {
            "type": "array",
            "items": _ignore(),
            "description": "Known, until a day.",
        },
    }
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "tfadvisor.toml",
        "description": "What `tfadvisor gate` asks of a run, and what is known and ignored.",
        **_table(whole),
        "definitions": _limits(),
    }
    return json.dumps(schema, indent=2) + "\n"


def _settings() -> dict[str, Any]:
    policy = _choice(POLICIES, "What to do where the data do not decide.")
    severity = _choice(LEVELS, "The level of findings of this severity.")
    return {
        "on_cannot_tell": policy,
        **{
            name: {**policy, "description": "An older name of on_cannot_tell."}
            for name in _OLDER
        },
        "new-findings": _choice(
            (*_SEVERITIES, "off"),
            "From which severity on a finding fails that the baseline has not.",
        ),
        "false-alarm-rate": {
            **_SHARE,
            "maximum": 0.2,
            "description": "Over all gated metrics together.",
        },
        "keep": _whole(1, "How many runs a baseline keeps."),
        "budgets": _table(
            dict(_each_metric("budget")), "Absolute limits, in the metric's unit."
        ),
        "relative": _table(
            dict(_each_metric("relative")), "Limits on the change against the baseline."
        ),
        "severity": _table(
            dict.fromkeys(_SEVERITIES, severity), "The level of findings by severity."
        ),
        "rules": {
            "type": "object",
            "description": "By rule, or pattern of rules: the level of its findings, above severity.",
            "properties": {
                rule.id: _rule(rule.title)
                for rule in load_catalogue(preview=True).rules
            },
            "patternProperties": {
                r"[*?\[]": _choice(LEVELS, "For every rule that the pattern fits.")
            },
            "additionalProperties": False,
        },
    }


def _rule(title: str) -> dict[str, Any]:
    """A level, or a table with one."""
    level = _choice(LEVELS, "The level of its findings.")
    return {
        "description": title,
        "anyOf": [{"enum": list(LEVELS)}, _table({"level": level})],
    }


def _each_metric(kind: str) -> Iterable[tuple[str, dict[str, Any]]]:
    for name, metric in sorted(registered_metrics().items()):
        unit = metric.unit.value
        limit = {"$ref": f"#/definitions/{_named(kind, unit)}"}
        yield name, {"description": f"{metric.about} ({unit})", "allOf": [limit]}


def _limits() -> dict[str, Any]:
    """The limits that metrics of each unit take."""
    units = sorted({metric.unit.value for metric in registered_metrics().values()})
    made = {"budget": _budget, "relative": _relative}
    return {
        _named(kind, unit): make(unit) for kind, make in made.items() for unit in units
    }


def _named(kind: str, unit: str) -> str:
    return f"{kind} in {unit}".replace("/", " per ").replace(" ", "-")


def _budget(unit: str) -> dict[str, Any]:
    amount = _SIGNED if unit == "fraction" else {"type": "number"}
    table = _table(
        {
            "max": amount,
            "min": amount,
            "level": _choice(LEVELS, "off, or what it is to exceed it."),
        }
    )
    return {"anyOf": [amount, table]}


def _relative(unit: str) -> dict[str, Any]:
    table = _table({
        "limit": {**_SHARE, "description": "As a share of the baseline."},
        "change": {**(_SHARE if unit == "fraction" else {"type": "number", "minimum": 0}), "description": f"In {unit}."},
        "worse": _choice(("up", "down", "both"), "Which way is worse, where it is not what is usual for the metric."),
        "level": _choice(LEVELS, "off, or what it is to exceed it."),
    })  # fmt: skip
    return {"anyOf": [_SHARE, table]}


def _ignore() -> dict[str, Any]:
    day = {"type": "string", "description": "The last day of it, as 2026-12-31."}
    text = {"type": "string", "minLength": 1}
    properties = {
        "check": {**text, "description": "A metric or a rule, or a pattern."},
        "reason": {**text, "description": "Why the gate may ignore it."},
        "expires": day,
    }
    return {**_table(properties), "required": ["check", "reason", "expires"]}


def _table(properties: Mapping[str, Any], about: str = "") -> dict[str, Any]:
    described = {"description": about} if about else {}
    return {
        "type": "object",
        **described,
        "properties": dict(properties),
        "additionalProperties": False,
    }


def _choice(names: Iterable[str], about: str) -> dict[str, Any]:
    return {"enum": list(names), "description": about}


def _whole(least: int, about: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": 1000, "description": about}
