"""Diffs applied, loops found again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from tfadvisor.act.repair.unified_diff import unified
from tfadvisor.act.trial.moved_loops import loop_after
from tfadvisor.act.trial.patches import from_diff
from tfadvisor.act.trial.tried_program import source_of
from tfadvisor.errors import UsageError

OLD = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"


@pytest.fixture
def applied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """From a diff and a text to the text after it."""
    monkeypatch.chdir(tmp_path)

    def apply(diff: str, text: str, name: str = "train.py") -> str:
        Path("a.diff").write_bytes(diff.encode())
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(text.encode())
        found = from_diff(Path("a.diff")).texts
        assert Path(name).read_bytes() == text.encode()
        return found[str(Path(name).resolve())]

    return apply


@pytest.mark.parametrize(
    "new",
    [
        OLD.replace("e", "E"),
        OLD.replace("b\n", ""),
        f"{OLD}k\n",
        OLD[:-1],
        "x\n" + OLD,
        OLD + "k",
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_fix_writes_is_what_try_reads(
    new: str, end: str, applied: Callable[..., str]
) -> None:
    old, new = OLD.replace("\n", end), new.replace("\n", end)

    assert applied(unified("train.py", old, new), old) == new


def test_a_file_without_an_end_of_line(applied: Callable[..., str]) -> None:
    assert applied(unified("train.py", "a\nb", "a\nc"), "a\nb") == "a\nc"


@pytest.mark.parametrize(("in_diff", "here"), [("train.py", "train.py"), ("my project/train.py", "my project/train.py"),
                                               ("project/train.py", "train.py")])  # fmt: skip
def test_a_file_is_found_from_here_or_without_its_first_folder(
    in_diff: str, here: str, applied: Callable[..., str]
) -> None:
    assert applied(
        unified(in_diff, OLD, OLD.replace("e", "E")), OLD, here
    ) == OLD.replace("e", "E")


def test_a_diff_that_names_files_without_a_and_b(applied: Callable[..., str]) -> None:
    diff = unified("train.py", OLD, OLD.replace("e", "E")).replace(
        "a/train.py", "train.py"
    )

    assert applied(
        diff.replace("b/train.py", "train.py\t2026-01-01"), OLD
    ) == OLD.replace("e", "E")


def test_a_hunk_finds_its_lines_where_they_have_moved_to(
    applied: Callable[..., str],
) -> None:
    diff = unified("train.py", OLD, OLD.replace("e", "E"))

    assert applied(diff, "new\nlines\n" + OLD) == "new\nlines\n" + OLD.replace("e", "E")


def test_a_hunk_whose_lines_are_gone_is_refused(applied: Callable[..., str]) -> None:
    diff = unified("train.py", OLD, OLD.replace("e", "E"))

    with pytest.raises(UsageError, match="does not fit the files as they are"):
        applied(diff, OLD.replace("d", "other"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing\n", "no unified diff"),
        (
            "--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+a\n",
            "adds or removes b/new.py",
        ),
        ("--- a/train.py\n+++ b/train.py\n@@ -1,3 +1,3 @@\n a\n", "does not fit"),
        ("--- a/../t.py\n+++ b/../t.py\n@@ -1 +1 @@\n-a\n+b\n", "no Python file below"),
        ("--- a/other.py\n+++ b/other.py\n@@ -1 +1 @@\n-a\n+b\n", "is not there"),
        (unified("train.py", OLD, OLD.replace("e", "(")), "cannot be parsed"),
        (
            unified("train.py", OLD, OLD.replace("e", "-" * 100_000 + "1")),
            "cannot be parsed",
        ),
    ],
)
def test_what_cannot_be_tried(
    text: str, said: str, applied: Callable[..., str]
) -> None:
    with pytest.raises(UsageError, match=said):
        applied(text, OLD)


@pytest.mark.parametrize("encoding", ["undefined", "hex", "no-such-encoding"])
def test_a_program_in_an_odd_encoding_is_one_line(
    tmp_path: Path, encoding: str
) -> None:
    (tmp_path / "train.py").write_text(f"# coding: {encoding}\nx = 1\n")

    with pytest.raises(UsageError, match="cannot be read"):
        source_of(tmp_path / "train.py")


LOOPS = dedent("""
    def train(batches):
        for batch in batches:
            for layer in layers:
                use(layer)
            loss = step(batch)
""")


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("def train", "import jax\n\ndef train", 5),
        ("in batches:", "in ahead(batches):", 3),
        (
            "            use(layer)\n",
            "            use(layer)\n            more(layer)\n",
            3,
        ),
        (
            "        for layer in layers:\n            use(layer)\n",
            "        use_all(layers)\n",
            3,
        ),
    ],
)
def test_the_loop_is_found_again(old: str, new: str, line: int) -> None:
    assert loop_after(LOOPS, 3, LOOPS.replace(old, new)) == line


def test_a_loop_that_is_gone() -> None:
    gone = LOOPS[: LOOPS.index("    for batch")] + "    fit(batches)\n"

    assert loop_after(LOOPS, 3, gone) is None
