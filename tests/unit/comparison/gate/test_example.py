"""The example file of the docs: explained whole, valid, and with every setting; and the
schema that editors use.
"""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import pytest
from support.places import ROOT

from tfadvisor.comparison.gate.config_file import ConfigFile, read_config, tomllib
from tfadvisor.comparison.gate.read_config import (
    _ON_CANNOT_TELL,
    _SETTINGS,
    known_names,
    read,
)
from tfadvisor.errors import UsageError

EXAMPLE = ROOT / "docs" / "tfadvisor.toml"
PAGE = (ROOT / "docs" / "gate-config.md").read_text(encoding="utf-8")
SCHEMA = json.loads(
    (ROOT / "schemas" / "tfadvisor-toml-1.json").read_text(encoding="utf-8")
)


def in_json(text: str) -> Any:
    """TOML as an editor's schema sees it: a day is a text."""
    return json.loads(json.dumps(tomllib.loads(text), default=str))


def by_schema(text: str) -> list[str]:
    """What the schema has against a file."""
    return [
        one.message
        for one in jsonschema.Draft7Validator(SCHEMA).iter_errors(in_json(text))
    ]


def by_gate(text: str) -> str:
    """What the gate has against it."""
    try:
        read(ConfigFile("tfadvisor.toml", text, tomllib.loads(text), ()), known_names())
    except UsageError as error:
        return str(error)
    return ""


def test_the_page_explains_the_whole_file() -> None:
    blocks = re.findall(r"```toml\n(.*?)\n```\n\n(.+?)(?=\n\n|\Z)", PAGE, re.DOTALL)
    lines = [line for block, _ in blocks for line in block.splitlines()]

    assert lines == [
        line for line in EXAMPLE.read_text(encoding="utf-8").splitlines() if line
    ]
    assert PAGE.count("```toml") == len(blocks)


def test_the_file_is_right_by_the_gate_and_by_the_schema() -> None:
    text = EXAMPLE.read_text(encoding="utf-8")
    jsonschema.Draft7Validator.check_schema(SCHEMA)

    read(read_config(EXAMPLE), known_names())
    assert by_schema(text) == []


def test_every_setting_is_in_it_and_in_the_schema() -> None:
    """Older names of a setting are in the schema alone."""
    asked = tomllib.loads(EXAMPLE.read_text(encoding="utf-8"))

    assert {*asked} == {*_SETTINGS} - {*_ON_CANNOT_TELL[1:]}
    assert {*SCHEMA["properties"]} == {*_SETTINGS}


@pytest.mark.parametrize(
    "text",
    [
        'preset = "strict"',
        "keep = 0",
        "keep = 2000",
        'modle = "x"',
        "[labels]\nbatch = [1]",
        '[budgets]\nno_such_metric = "5%"',
        '[budgets]\nstep_time_ms = "5%"',
        "[budgets]\nstep_time_ms = { most = 3 }",
        "[relative]\nstep_time_ms = -0.1",
        '[relative]\nstep_time_ms = { limit = "5%", worse = "left" }',
        '[rules]\nno-such-rule = "error"',
        '[rules]\n"input-*" = "eror"',
        "[rules.few-steps]\nsteps = 5",
        "[rules.input-made-in-loop]\nlevel = 'eror'",
        '["rules"."input-*"]\nsteps_counted = 5',
        "[rules.no-such-rule]\nlevel = 'off'",
        '[severity]\ngrave = "warn"',
        "[[ignore]]\ncheck = 'step_time_ms'\nexpires = 2026-01-01",
        "false-alarm-rate = 0.5",
        "on_cannot_tell = 'maybe'",
    ],
)
def test_the_schema_and_the_gate_refuse_the_same(text: str) -> None:
    assert by_schema(text)
    assert by_gate(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[budgets]\ninput_bound_fraction = 0.05",
        "[relative]\nstep_time_ms = 0.1\nkernels_per_step = { change = 3 }",
        "[labels]\nbatch = 1\nfused = true",
        '[rules.input-made-in-loop]\nlevel = "off"',
        '[rules]\nfew-steps = { level = "warn" }\n"input-*" = "off"',
    ],
)
def test_the_schema_and_the_gate_take_the_same(text: str) -> None:
    assert by_schema(text) == []
    assert by_gate(text) == ""
