"""A folder with a program, for each test."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tried_programs import Place


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)
