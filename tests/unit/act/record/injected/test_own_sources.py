"""Which files a recorded program's code was read from."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tfadvisor.act.record.injected.tfadvisor_hook import own_sources


class Lazy(ModuleType):
    """Imports itself as soon as it is asked for anything."""

    def __getattribute__(self, name: str) -> object:
        raise AssertionError(name)


@pytest.fixture
def imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "my_program.py"
    file.write_text("x = 1\n", "utf-8")
    os.utime(file, (1, 1))
    spec = importlib.util.spec_from_file_location("my_program", file)
    assert spec is not None
    monkeypatch.setitem(
        sys.modules, "my_program", importlib.util.module_from_spec(spec)
    )
    monkeypatch.setitem(sys.modules, "lazy", Lazy("lazy"))
    # this checkout has many files, and may lie higher than a temporary folder
    monkeypatch.setattr(own_sources, "_MOST", 100_000)
    return file


def noted_of(file: Path) -> list[tuple[str, str, bool]]:
    found: list[tuple[str, str, bool]] = own_sources.own_sources()["files"]
    return [one for one in found if one[0] == str(file)]


def test_a_file_is_noted_with_its_digest(imported: Path) -> None:
    digest = hashlib.sha256(b"x = 1\n").hexdigest()

    assert noted_of(imported) == [(str(imported), digest, False)]


def test_a_file_written_since_may_not_be_what_runs(imported: Path) -> None:
    imported.write_text("x = 2\n", "utf-8")
    later = own_sources._BEGAN_NS + 10**9
    os.utime(imported, ns=(later, later))

    ((_, _, rewritten),) = noted_of(imported)
    assert rewritten


def test_libraries_and_files_that_are_gone_are_left_out(imported: Path) -> None:
    imported.unlink()

    assert noted_of(imported) == []
    names = [file for file, _, _ in own_sources.own_sources()["files"]]
    assert not any("site-packages" in file for file in names)
    assert os.__file__ not in names


def test_of_too_many_files_those_of_the_outermost_folders_are_noted(
    imported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deeper = imported.parent / "a_library" / "part.py"
    deeper.parent.mkdir()
    deeper.write_text("y = 1\n", "utf-8")
    found = {str(imported), str(deeper)}
    monkeypatch.setattr(own_sources, "_own_files", lambda: found)
    monkeypatch.setattr(own_sources, "_MOST", 1)

    files = own_sources.own_sources()["files"]

    assert [name for name, _, _ in files] == [str(imported)]
