"""The limits of rules that a configuration changes: tables below `[rules]`, each named for one rule."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tfadvisor.gate.config.file import ConfigFile, find_config, read_config
from tfadvisor.limit_change import LimitChange

LEVEL = "level"
"""The one key of such a table that names no limit: what the gate makes of the rule's findings."""


def limits_of_project(given: Path | None = None) -> tuple[LimitChange, ...]:
    """Those of a configuration, else of the nearest one; none where there is none. Raises UsageError for what is no TOML."""
    return limits_in(read_config(given) if given is not None else find_config(Path.cwd()))


def limits_in(file: ConfigFile) -> tuple[LimitChange, ...]:
    """In the order in which they stand. Whether there are such rules and limits is seen where rules are known."""
    rules = file.values.get("rules")
    tables = rules.items() if isinstance(rules, Mapping) else ()
    return tuple(
        LimitChange(rule, name, value, f"{file.path}:{file.line(('rules', rule, name))}")
        for rule, table in tables
        if isinstance(table, Mapping)
        for name, value in table.items()
        if name != LEVEL
    )
