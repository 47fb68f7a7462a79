"""Diffs applied, changes merged, loops found again."""

from __future__ import annotations

from textwrap import dedent

import pytest

from tfadvisor.act.repair.plan import unified
from tfadvisor.act.trial.candidates import loop_after, merged
from tfadvisor.act.trial.patches import patched, read_diff
from tfadvisor.errors import UsageError

OLD = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n"


def applied(diff: str, text: str) -> str:
    (one,) = read_diff(diff, "a.diff")
    return patched(text, one.hunks, one.name)


@pytest.mark.parametrize(
    "new", [OLD.replace("e", "E"), OLD.replace("b\n", ""), f"{OLD}k\n", OLD[:-1], "x\n" + OLD, OLD + "k"]
)
def test_what_fix_writes_is_what_try_reads(new: str) -> None:
    assert applied(unified("train.py", OLD, new), OLD) == new


def test_a_file_without_an_end_of_line() -> None:
    assert applied(unified("train.py", "a\nb", "a\nc"), "a\nb") == "a\nc"


def test_a_hunk_finds_its_lines_where_they_have_moved_to() -> None:
    diff = unified("train.py", OLD, OLD.replace("e", "E"))

    assert applied(diff, "new\nlines\n" + OLD) == "new\nlines\n" + OLD.replace("e", "E")


def test_a_hunk_whose_lines_are_gone_is_refused() -> None:
    diff = unified("train.py", OLD, OLD.replace("e", "E"))

    with pytest.raises(UsageError, match="does not fit the file as it is, near line 2"):
        applied(diff, OLD.replace("d", "other"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("nothing\n", "no unified diff"),
        ("--- /dev/null\n+++ b/new.py\n@@ -0,0 +1 @@\n+a\n", "adds or removes new.py"),
        ("--- a/t.py\n+++ b/t.py\n@@ -1,3 +1,3 @@\n a\n", "cut short"),
    ],
)
def test_what_cannot_be_tried(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        read_diff(text, "--patch a.diff")


def test_changes_of_other_lines_are_had_together() -> None:
    assert merged(OLD, OLD.replace("b", "B"), OLD.replace("h", "H\nH")) == OLD.replace("b", "B").replace("h", "H\nH")


def test_changes_of_the_same_lines_are_not() -> None:
    assert merged(OLD, OLD.replace("b", "B"), OLD.replace("b", "C")) is None


def test_the_same_change_twice_is_one() -> None:
    assert merged(OLD, OLD.replace("b", "B"), OLD.replace("b", "B")) == OLD.replace("b", "B")


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
        ("            use(layer)\n", "            use(layer)\n            more(layer)\n", 3),
        ("        for layer in layers:\n            use(layer)\n", "        use_all(layers)\n", 3),
    ],
)
def test_the_loop_is_found_again(old: str, new: str, line: int) -> None:
    assert loop_after(LOOPS, 3, LOOPS.replace(old, new)) == line


def test_a_loop_that_is_gone() -> None:
    gone = LOOPS[: LOOPS.index("    for batch")] + "    fit(batches)\n"

    assert loop_after(LOOPS, 3, gone) is None
