"""Which Python files a program has."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tfadvisor import program_files
from tfadvisor.errors import UsageError
from tfadvisor.program_files import check_given, lies_in, python_files


def anything(_folder: Path) -> bool:
    return True


def made(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x = 1\n", "utf-8")


def below(folder: Path, most: int = 10) -> tuple[list[str], bool]:
    found = python_files(folder, most, anything)
    names = [path.relative_to(folder).as_posix() for path in found.files]
    return names, found.is_all


def test_the_nearest_come_first(tmp_path: Path) -> None:
    made(tmp_path, "a/b/c.py", "a/d.py", "z.py", "b/e.py", "a/data.csv")

    assert below(tmp_path) == (["z.py", "a/d.py", "b/e.py", "a/b/c.py"], True)
    assert below(tmp_path, 2) == (["z.py", "a/d.py"], False)


def test_a_folder_that_is_gone_or_closed_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those below /proc are."""
    made(tmp_path, "a/x.py", "b/y.py")
    scandir: Callable[[Path], object] = os.scandir

    def closed(folder: Path) -> object:
        if folder.name == "a":
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", closed)

    assert below(tmp_path) == (["b/y.py"], True)


def test_of_folders_without_end_a_part_is_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seven entries at the top, and the next level is not reached."""
    made(tmp_path, "train.py", *(f"data/{n}.csv" for n in range(9)), "a/b/c.py")
    monkeypatch.setattr(program_files, "_MOST_ENTRIES", 5)
    assert below(tmp_path) == (["train.py"], False)

    monkeypatch.undo()
    monkeypatch.setattr(program_files, "_MOST_IN_ONE", 5)
    assert below(tmp_path) == (["train.py", "a/b/c.py"], False)


def test_a_link_in_a_circle_lies_nowhere(tmp_path: Path) -> None:
    (tmp_path / "loop.py").symlink_to("loop.py")
    made(tmp_path, "train.py")

    assert not lies_in(tmp_path / "loop.py", tmp_path.resolve())
    assert lies_in(tmp_path / "train.py", tmp_path.resolve())


@pytest.mark.parametrize("name", ["missing", "a/b/c.py", "a" * 5000, "loop", "nul\0l"])
def test_a_place_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "loop").symlink_to("loop")

    with pytest.raises(UsageError, match="no such file or folder"):
        check_given(tmp_path / name)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    check_given(tmp_path)
    with pytest.raises(UsageError, match="no file and no folder"):
        check_given(Path(os.devnull))
