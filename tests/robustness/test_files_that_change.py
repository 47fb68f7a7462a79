"""A file that is cut, grown, rewritten, replaced or removed while it is read: one clear error, or what was there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from support.trace_builder import trace

from tfadvisor.errors import TraceError
from tfadvisor.xplane import source
from tfadvisor.xplane.source import open_source


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "h.xplane.pb"
    piece = trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes()
    path.write_bytes(piece * (source._HEAD // len(piece) + 1))
    return path


def while_it_is_read(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """After the first small piece, once."""
    pieces = iter([happens])
    read = source._zero_tag

    def before_the_rest(*arguments: object) -> int | None:
        next(pieces, lambda: None)()
        return read(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(source, "_zero_tag", before_the_rest)


def touched(path: Path) -> None:
    """As a write does, whose time the file system may round to that of the last one."""
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1_000_000))


def cut(path: Path) -> None:
    os.truncate(path, 100)


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


def rewrite(path: Path) -> None:
    path.write_bytes(path.read_bytes())
    touched(path)


@pytest.mark.parametrize("change", [cut, grow, rewrite])
def test_a_file_that_changes_is_told(
    file: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    while_it_is_read(monkeypatch, lambda: change(file))

    with pytest.raises(TraceError, match=r"changed while it was read\. Somebody is writing it"):
        open_source(file)


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.with_name("x").rename(path)], ids=["gone", "other"])
def test_a_file_that_is_removed_or_replaced_is_read_as_it_was(
    file: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> None:
    data = file.read_bytes()
    file.with_name("x").write_bytes(b"another")
    while_it_is_read(monkeypatch, lambda: change(file))

    assert bytes(open_source(file).buffer) == data


def test_a_file_that_is_cut_after_it_was_read_harms_nobody(file: Path) -> None:
    """With a mapping, looking at the bytes would kill the process."""
    data = file.read_bytes()
    opened = open_source(file)
    os.truncate(file, 0)

    assert bytes(opened.buffer) == data


def test_a_file_larger_than_the_free_memory_is_refused_before_it_is_read(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "free_memory", lambda: file.stat().st_size - 1)

    with pytest.raises(TraceError, match="more than the memory that is free here"):
        open_source(file)
