"""What is noted beside a trace of the files that ran."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.trace.noted_sources import NotedSource, noted_sources

NOTE = '{"version": 1, "files": [["/a/train.py", "ab", false]]}'


def test_hosts_that_note_the_same_file_note_it_once(tmp_path: Path) -> None:
    for host in ("one", "two"):
        (tmp_path / f"{host}.sources.json").write_text(NOTE, "utf-8")

    found = noted_sources(sorted(tmp_path.iterdir()))

    assert found == (NotedSource("/a/train.py", "ab", rewritten=False),)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"version": 2, "files": [["/a/train.py", "ab", false]]}',
        '{"version": 1, "files": [["/a/train.py", "ab"]]}',
        '{"version": 1, "files": [[1, "ab", false]]}',
        "[" * 100_000,
    ],
)
def test_a_note_that_cannot_be_used_names_no_file(tmp_path: Path, content: str) -> None:
    note = tmp_path / "host.sources.json"
    note.write_text(content, "utf-8")

    assert noted_sources([note, tmp_path / "gone.sources.json"]) == ()


@pytest.mark.parametrize("name", ["", "."])
def test_what_is_no_name_of_a_file_stays_as_it_is(tmp_path: Path, name: str) -> None:
    note = tmp_path / "host.sources.json"
    note.write_text(NOTE.replace("/a/train.py", name), "utf-8")

    assert noted_sources([note]) == (NotedSource(name, "ab", rewritten=False),)


def test_a_name_without_a_folder_is_of_a_file_beside_the_note(tmp_path: Path) -> None:
    note = tmp_path / "host.sources.json"
    note.write_text(NOTE.replace("/a/train.py", "train.py"), "utf-8")

    (found,) = noted_sources([note])

    assert found.file == str(tmp_path / "train.py")
