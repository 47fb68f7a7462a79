"""A file that is cut, grown, rewritten, replaced or removed while it is read is one
clear error, and kills nobody.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.trace_builder import trace

from tfadvisor.errors import TraceError
from tfadvisor.trace import source
from tfadvisor.trace.source import open_source


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "h.xplane.pb"
    piece = trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes()
    path.write_bytes(piece * (source._HEAD // len(piece) + 1))
    return path


def while_it_is_read(
    monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]
) -> None:
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

    with pytest.raises(
        TraceError, match=r"changed while it was read\. Somebody is writing it"
    ):
        open_source(file)


def test_a_file_that_is_removed_is_told(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read is whole, and no more what the report would name."""
    while_it_is_read(monkeypatch, file.unlink)

    with pytest.raises(TraceError, match=r"was removed while it was read\."):
        open_source(file)


def test_a_file_that_is_replaced_is_told(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By one of the same size and time, as a copy that keeps times makes it."""
    shutil.copy2(file, file.with_name("x"))
    while_it_is_read(monkeypatch, lambda: file.with_name("x").rename(file))

    with pytest.raises(
        TraceError, match=r"was replaced while it was read\. Somebody is writing it"
    ):
        open_source(file)


def test_a_link_to_a_trace_is_read(file: Path) -> None:
    file.with_name("link.xplane.pb").symlink_to(file)

    assert open_source(file.with_name("link.xplane.pb")).size == file.stat().st_size


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
