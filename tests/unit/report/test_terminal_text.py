"""Lines that flow: parts stay whole, no line is wider than the screen."""

from __future__ import annotations

from support.trace_builder import trace

from tfadvisor.report.forms.terminal import Screen, TextPage, as_text


def flowed(width: int, *parts: str) -> list[str]:
    page = TextPage(Screen(width))
    page.flowing([[part] for part in parts], indent=2)
    return page.text().splitlines()


def test_parts_that_fit_share_a_line() -> None:
    assert flowed(9, "one ", "two ", "x") == ["one two x"]


def test_a_part_that_does_not_fit_begins_the_next_line() -> None:
    assert flowed(8, "one ", "two ", "x") == ["one two", "  x"]


def test_blanks_at_the_end_of_a_line_need_no_room() -> None:
    assert flowed(7, "one ", "two     ", "three ") == ["one two", "  three"]


def test_a_part_longer_than_the_screen_stays_whole() -> None:
    assert flowed(4, "a ", "unbreakable ", "b") == ["a", "  unbreakable", "  b"]


def test_titles_and_legend_keep_to_a_narrow_screen() -> None:
    builder = trace()
    for at in range(0, 500, 100):
        builder.step(at, at + 100).call("load_batch", at, at + 60).call("$train.py:7 load_batch", at, at + 60)
        builder.kernel("GPU:0", "k", at + 70, at + 100, launched=(at + 61, at + 62))
    report = builder.report()

    lines = as_text(report, screen=Screen(40)).splitlines()

    (first,) = (number for number, line in enumerate(lines) if line.startswith("1. "))
    assert report.findings[0].title not in lines[first]
    assert max(map(len, lines[: first + 3])) <= 40
