"""How a text is taken apart: by a shell's rules first, then by XLA's."""

from __future__ import annotations

import pytest

from tfadvisor.advice.flags.settings import LONGEST, take_apart
from tfadvisor.errors import UsageError


def parts(text: str) -> list[tuple[str, str, str | None]]:
    return [(one.variable, one.name, one.value) for one in take_apart(text).settings]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("--a=1 --b", [("", "a", "1"), ("", "b", None)]),
        ("--a=", [("", "a", "")]),
        ("X=1 Y='a b'", [("X", "X", "1"), ("Y", "Y", "a b")]),
        ("export X=1; export Y=2", [("X", "X", "1"), ("Y", "Y", "2")]),
        ("X=1 \\\n Y=2\nZ=3", [("X", "X", "1"), ("Y", "Y", "2"), ("Z", "Z", "3")]),
        ("XLA_FLAGS='--a=1 --b'", [("XLA_FLAGS", "a", "1"), ("XLA_FLAGS", "b", None)]),
        (
            "XLA_FLAGS=\"--a='b c' --d=''\"",
            [("XLA_FLAGS", "a", "b c"), ("XLA_FLAGS", "d", "")],
        ),
        ('XLA_FLAGS="$XLA_FLAGS --a=1"', [("XLA_FLAGS", "a", "1")]),
        ("XLA_FLAGS+=' --a=1'", [("XLA_FLAGS", "a", "1")]),
        (
            "XLA_FLAGS='--a=1\n  --b'\nX=2",
            [("XLA_FLAGS", "a", "1"), ("XLA_FLAGS", "b", None), ("X", "X", "2")],
        ),
        (
            'XLA_FLAGS=--a; XLA_FLAGS="${XLA_FLAGS:-} --b"',
            [("XLA_FLAGS", "a", None), ("XLA_FLAGS", "b", None)],
        ),
        ("XLA_FLAGS='--a $XLA_FLAGS'", [("XLA_FLAGS", "a", None)]),
        ("--a=1\n--b\n", [("", "a", "1"), ("", "b", None)]),
        ("--a=1 X=2", [("", "a", "1"), ("X", "X", "2")]),
        ("--a=b=c", [("", "a", "b=c")]),
    ],
)
def test_settings(text: str, expected: list[tuple[str, str, str | None]]) -> None:
    given = take_apart(text)

    assert parts(text) == expected
    assert given.unread == ()


def test_a_command_after_assignments_is_no_setting() -> None:
    (unread,) = take_apart("X=1 python train.py --lr 3").unread

    assert (unread.words, unread.harmless) == ("python train.py --lr 3", True)


@pytest.mark.parametrize("text", ["--a true --b=2", "XLA_FLAGS='--a true --b=2'"])
def test_xla_stops_at_a_word_without_dashes(text: str) -> None:
    """jaxlib 0.9.2: `--xla_cpu_enable_fast_math false --xla_dump_to=z` sets fast math
    and dumps nothing.
    """
    given = take_apart(text)

    assert [one.name for one in given.settings] == ["a"]
    (unread,) = given.unread
    assert (unread.words, unread.instead, unread.harmless) == (
        "true --b=2",
        "--a=true",
        False,
    )


def test_without_dashes_xla_takes_the_text_for_a_file() -> None:
    given = take_apart("XLA_FLAGS=xla_gpu_autotune_level=3")

    assert given.settings == ()
    assert "name of a file" in given.unread[0].why


def test_a_second_assignment_replaces_the_first() -> None:
    given = take_apart("XLA_FLAGS=--a X=1 XLA_FLAGS=--b")

    assert [one.name for one in given.settings] == ["X", "b"]
    (unread,) = given.unread
    assert (unread.words, unread.harmless) == ("--a", False)
    assert "set again" in unread.why


def test_the_longest_variable_that_linux_passes_on() -> None:
    assert len(take_apart("--a=" + "x" * (LONGEST - 4)).settings) == 1
    with pytest.raises(UsageError, match="131,072"):
        take_apart("--a=" + "x" * (LONGEST - 3))


@pytest.mark.parametrize("text", ["'", '--a="b', "XLA_FLAGS='--a=1"])
def test_an_open_quote(text: str) -> None:
    with pytest.raises(UsageError, match="quote"):
        take_apart(text)
