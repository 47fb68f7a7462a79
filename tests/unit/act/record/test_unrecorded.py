"""What is said where there is no recording."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from support.told_processes import process

from tfadvisor.act.record.unrecorded import Nothing, gave_up, why_nothing
from tfadvisor.report.watched import WatchedWords


def test_a_program_that_is_in_one_call_is_told_to_make_it_shorter() -> None:
    """`--after` and `--steps` would not help."""
    found = Nothing([], None, gave_up=True, inside="train.py:19")

    said = str(gave_up(["python", "train.py"], found, 65.0))

    assert (
        "nothing that repeats was found in 65 s: it is in one call, train.py:19, and "
        "goes on unrecorded." in said
    )
    assert "Let that call do fewer steps" in said
    assert "--after" not in said


def said(found: Nothing, code: int | None, **program: bool) -> str:
    """Of `train` after 2.5 s. code: how it ended."""
    given = {"interrupted": False, "overdue": False, **program}
    started = SimpleNamespace(ended=lambda: code, **given)
    return str(why_nothing(["train"], found, started, 2.5))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("found", "code", "words"),
    [
        (Nothing([], None), 0, "ended after 2.5 s, and no process of it had imported"),
        (Nothing([], "busy"), 1, "ended with exit code 1 after 2.5 s, and no process"),
        (Nothing([process("a")], "busy"), 0, "and could not be recorded: busy."),
        (
            Nothing([process("a", error="no"), process("b", error="nor")], None),
            0,
            ": no.",
        ),
        (Nothing([process("a", error="no")], "busy"), 139, "is a bug to report"),
        (Nothing([process("a")], None), 3, "exit code 3 after 2.5 s, before its steps"),
        (
            Nothing([process("a", compiled_at=1.0, compiled=1_200)], None),
            None,
            "runs on after 2.5 s and never came to steps that repeat (1,200 comp",
        ),
    ],
)
def test_the_first_reason_that_applies_is_said(
    found: Nothing, code: int | None, words: str
) -> None:
    assert words in said(found, code)


@pytest.mark.parametrize(
    ("code", "seconds", "remedy"),
    [
        (
            2,
            1.9,
            "was not seen to import TensorFlow or JAX. What it says itself stands above.",
        ),
        (2, 2.0, "Python started with -I"),
        (0, 1.9, "Python started with -I"),
    ],
)
def test_a_program_that_fails_at_once_says_itself_why(
    code: int, seconds: float, remedy: str
) -> None:
    """As one whose name was mistyped."""
    started = SimpleNamespace(ended=lambda: code, interrupted=False, overdue=False)

    why = why_nothing(["train"], Nothing([], None), started, seconds)  # type: ignore[arg-type]

    assert remedy in str(why)


def test_a_program_that_a_failing_profiler_may_have_harmed_is_told_so() -> None:
    found = Nothing([process("a")], "it failed in CUPTI", failed=True)

    for words in (said(found, 0), str(gave_up(["train"], found, 2.5))):
        assert "could not be recorded: it failed in CUPTI. Run it without" in words


def test_a_program_whose_time_was_over_is_told_that_alone() -> None:
    assert "recorded within 2 s, and was ended." in said(
        Nothing([], "busy"), 143, overdue=True
    )


def test_a_program_that_was_interrupted_has_nothing_said() -> None:
    started = SimpleNamespace(interrupted=True)

    found = why_nothing(["train"], Nothing([], None), started, 2.5)  # type: ignore[arg-type]

    assert isinstance(found, KeyboardInterrupt)


COMPILES = WatchedWords("61 of 74 s: compiling f (train.py:57)", True, ("Where",))


def test_a_program_that_compiles_all_the_time_is_told_so() -> None:
    """Also where all samples are in that one call, which no fewer steps would mend."""
    found = Nothing([], None, gave_up=True, inside="train.py:57", went=COMPILES)

    words = str(gave_up(["train"], found, 74.0))

    assert "found in 74 s: 61 of 74 s: compiling f (train.py:57); it goes on" in words
    assert "--after" in words
    assert "fewer steps" not in words


def test_what_took_most_of_a_program_without_steps_is_said() -> None:
    assert "(1,200 compilations; 61 of 74 s: compiling f (train.py:57))" in said(
        Nothing([process("a", compiled_at=1.0, compiled=1_200)], None, went=COMPILES),
        None,
    )
