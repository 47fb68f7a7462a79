"""How a command is changed so that its programs load the hook."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.act.record.started_program import searching_first

OURS = Path("/hook")


@pytest.mark.parametrize(
    ("command", "changed"),
    [
        ("env PYTHONPATH=. python t.py", "env PYTHONPATH=/hook:. python t.py"),
        ("env -u A B=1 PYTHONPATH=a:b python", "env -u A B=1 PYTHONPATH=a:b python"),
        ("env B=1 PYTHONPATH=a:b python", "env B=1 PYTHONPATH=/hook:a:b python"),
        ("/usr/bin/env PYTHONPATH= python", "/usr/bin/env PYTHONPATH=/hook: python"),
        ("env python t.py PYTHONPATH=x", "env python t.py PYTHONPATH=x"),
        ("python t.py PYTHONPATH=x", "python t.py PYTHONPATH=x"),
    ],
)
def test_a_path_that_the_command_sets_itself_begins_with_the_hook(
    command: str, changed: str
) -> None:
    assert searching_first(command.split(), OURS) == changed.split()
