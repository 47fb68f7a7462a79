"""The program's files, by the names that traces have."""

from __future__ import annotations

import hashlib
import os
import shutil
import warnings
from pathlib import Path

import pytest

from tfadvisor.causes import source_files
from tfadvisor.causes.source_files import SourceFiles
from tfadvisor.trace.noted_sources import NotedSource

TEXT = "x = 1\n"


def noted(
    path: Path, text: str = TEXT, *, rewritten: bool = False
) -> tuple[NotedSource, ...]:
    """That a file held this text while it was recorded."""
    digest = hashlib.sha256(text.encode()).hexdigest()
    return (NotedSource(str(path), digest, rewritten),)


@pytest.fixture
def train(tmp_path: Path) -> Path:
    file = tmp_path / "train.py"
    file.write_text(TEXT, "utf-8")
    return file


def test_a_noted_file_that_is_what_ran_is_read_where_it_lies(train: Path) -> None:
    found = SourceFiles(None, noted(train)).read("train.py")

    assert found is not None
    assert (found.state, found.lines) == ("same", ("x = 1", ""))


@pytest.mark.parametrize("rewritten", [True, False])
def test_nothing_of_another_content_is_shown_unless_the_folder_is_given(
    train: Path, rewritten: bool
) -> None:
    """A note may come from anywhere: it must not make tfadvisor print other files."""
    text = TEXT if rewritten else "x = 2\n"
    files = SourceFiles(None, noted(train, text, rewritten=rewritten))

    assert files.read("train.py") is None
    assert files.left_out() == ("train.py",)

    given = SourceFiles(train.parent, noted(train, text, rewritten=rewritten))
    found = given.read("train.py")
    assert found is not None
    assert found.state == "differs"


def test_without_a_note_nobody_knows_whether_it_ran(train: Path) -> None:
    found = SourceFiles(train.parent).read("train.py")

    assert found is not None
    assert found.state == "unknown"


def test_of_one_name_the_file_nearest_to_the_folder_is_meant(train: Path) -> None:
    (train.parent / "old").mkdir()
    (train.parent / "old" / "train.py").write_text("x = 1\n", "utf-8")

    found = SourceFiles(train.parent).read("train.py")

    assert found is not None
    assert "\n".join(found.lines) == TEXT


def test_of_one_name_the_file_that_ran_is_meant_wherever_it_lies(train: Path) -> None:
    (train.parent / "jax").mkdir()
    other = train.parent / "jax" / "train.py"
    other.write_text("y = 2\n", "utf-8")

    found = SourceFiles(train.parent, noted(other, "y = 2\n")).read("train.py")

    assert found is not None
    assert (found.state, found.lines[0]) == ("same", "y = 2")


@pytest.mark.parametrize("is_given", [True, False])
def test_of_two_files_that_ran_under_one_name_none_is_meant(
    train: Path, is_given: bool
) -> None:
    """A trace has no folders: which of them its line is of, it does not say."""
    (train.parent / "lib").mkdir()
    other = train.parent / "lib" / "train.py"
    other.write_text("y = 2\n", "utf-8")
    both = (*noted(train), *noted(other, "y = 2\n"))

    files = SourceFiles(train.parent if is_given else None, both)

    assert files.read("train.py") is None


def test_a_name_that_two_files_have_as_near_is_none(tmp_path: Path) -> None:
    for folder in ("new", "old"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.py").write_text(TEXT, "utf-8")

    assert SourceFiles(tmp_path).read("train.py") is None


@pytest.mark.parametrize(
    "content", [b"def f(:\n", b"\xff\xfe", b"x = 1\x00", b"(" * 5000, b"x\n" * 600_000]
)
def test_what_is_no_python_that_people_write_is_not_read(
    train: Path, content: bytes
) -> None:
    train.write_bytes(content)

    assert SourceFiles(train.parent).read("train.py") is None


def test_a_link_that_leads_out_of_the_folder_is_not_followed(
    train: Path, tmp_path: Path
) -> None:
    inside = tmp_path / "program"
    inside.mkdir()
    (inside / "train.py").symlink_to(train)

    assert SourceFiles(inside).read("train.py") is None


def test_lines_are_counted_as_python_counts_them(train: Path) -> None:
    """A form feed ends no line."""
    train.write_bytes(b"a = '\\d'\r\n\x0cb = 2\rc = 3")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = SourceFiles(train.parent).read("train.py")

    assert found is not None
    assert found.lines == ("a = '\\d'", "\x0cb = 2", "c = 3")


def test_links_in_circles_and_long_paths_are_left_out(tmp_path: Path) -> None:
    """100 folders of 200 characters in one another are more than Linux opens."""
    (tmp_path / "train.py").write_text(TEXT, "utf-8")
    (tmp_path / "loop.py").symlink_to("loop.py")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        for _ in range(100):
            Path("a" * 200).mkdir()
            os.chdir("a" * 200)
        Path("deep.py").write_text(TEXT, "utf-8")
    finally:
        os.chdir(before)
    files = SourceFiles(tmp_path)

    assert files.read("train.py") is not None
    assert files.read("loop.py") is None
    assert files.read("deep.py") is None
    shutil.rmtree(tmp_path / ("a" * 200), ignore_errors=True)


def test_a_script_is_read_with_what_it_imports(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import net\n", "utf-8")
    for name in ("net.py", "other.py"):
        (tmp_path / name).write_text(TEXT, "utf-8")
    files = SourceFiles(tmp_path / "train.py")

    assert files.read("train.py") is not None
    assert files.read("net.py") is not None
    assert files.read("other.py") is None


def test_a_file_that_is_nested_without_end_is_left_out_in_words(tmp_path: Path) -> None:
    text = "if a == 0:\n    f()\n" + "elif a == 1:\n    f()\n" * 150
    (tmp_path / "odd.py").write_text(text, "utf-8")
    files = SourceFiles(tmp_path)

    assert files.read("odd.py") is None
    assert files.unread == [
        "odd.py is left out: its statements or expressions are nested more than 100 "
        "deep."
    ]


def test_a_file_of_more_syntax_than_people_write_is_left_out(tmp_path: Path) -> None:
    """50,001 assignments of four nodes each are 200,004."""
    (tmp_path / "tables.py").write_text("x = 1\n" * 50_001, "utf-8")
    files = SourceFiles(tmp_path)

    assert files.read("tables.py") is None
    assert files.unread == [
        "tables.py is left out: its syntax has more than 200,000 nodes."
    ]


def test_files_are_searched_up_to_a_sum_and_read_by_name_beyond(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six files of 45 assignments of four nodes: five are 900, six too many."""
    for at in range(6):
        (tmp_path / f"part_{at}.py").write_text("x = 1\n" * 45, "utf-8")
    monkeypatch.setattr(source_files, "_MOST_IN_ALL", 1_000)
    files = SourceFiles(tmp_path)

    assert len(files.first(200)) == len(files.first(200)) == 5
    assert len(files.unread) == 1
    assert all(files.read(f"part_{at}.py") is not None for at in range(6))
