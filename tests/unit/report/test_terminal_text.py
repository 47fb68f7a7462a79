"""Lines that flow: parts stay whole, no line is wider than the screen."""

from __future__ import annotations

import re

from msgspec.structs import replace
from support.golden_reports import report_of
from support.places import FIXTURES
from support.trace_builder import trace

from tfadvisor.report.forms.terminal import as_text
from tfadvisor.report.model import Report
from tfadvisor.report.wording import bar_note, fitted
from tfadvisor.text_page import Screen, TextPage
from tfadvisor.vocabulary import Severity


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


def waiting_for_input() -> Report:
    """Five steps that load their batch for 60 of 100 µs."""
    builder = trace()
    for at in range(0, 500, 100):
        builder.step(at, at + 100).call("load_batch", at, at + 60).call(
            "$train.py:7 load_batch", at, at + 60
        )
        builder.kernel("GPU:0", "k", at + 70, at + 100, launched=(at + 61, at + 62))
    return builder.report()


def test_titles_and_legend_keep_to_a_narrow_screen() -> None:
    report = waiting_for_input()

    lines = as_text(report, screen=Screen(40)).splitlines()

    (first,) = (number for number, line in enumerate(lines) if line.startswith("1. "))
    assert report.findings[0].title not in lines[first]
    assert max(map(len, lines[: first + 3])) <= 40


def test_a_finding_that_explains_the_verdict_stays_first_before_graver_ones() -> None:
    text = as_text(
        with_findings(
            ("Leads", Severity.LOW, 0.6),
            ("Is graver", Severity.MEDIUM, 0.2),
            ("Is tiny", Severity.LOW, 0.04),
        )
    )

    numbered = [line for line in text.splitlines() if line[:2] in ("1.", "2.")]
    assert "Leads" in numbered[0]
    assert "Is graver" in numbered[1]
    assert "Is tiny" not in text
    assert "1 smaller finding: see --details." in text


def test_a_minor_finding_that_takes_a_twentieth_stands_with_its_change() -> None:
    report = with_findings(
        ("Leads", Severity.HIGH, 0.6),
        ("Is smaller", Severity.LOW, 0.06),
        ("Is tiny", Severity.LOW, 0.04),
    )
    fix = " ".join(report.findings[1].fixes[0].do.split())
    text = " ".join(as_text(report).split())

    assert f"Smaller • Is smaller (takes 6.0% of the step). {fix}" in text
    assert "where train.py:7 in load_batch" in text.partition("Smaller")[2]
    assert "Is tiny" not in text
    assert "1 smaller finding: see --details." in text


def with_findings(*given: tuple[str, Severity, float]) -> Report:
    """That of a loop that loads, by title, severity and what each takes."""
    report = waiting_for_input()
    findings = tuple(
        replace(report.findings[0], title=title, severity=severity, takes=takes)
        for title, severity, takes in given
    )
    return replace(report, findings=findings)


def test_the_place_at_the_end_of_an_activity_is_never_cut() -> None:
    words = (
        "te_fused_attn_backward_ffi, most of it te_fused_attn_backward_ffi.18 "
        "(12_te_fused_attn.py:77)"
    )

    assert fitted(words, 60).endswith("… (12_te_fused_attn.py:77)")
    assert len(fitted(words, 60)) <= 60
    assert fitted("dot (train.py:12)", 60) == "dot (train.py:12)"
    assert len(fitted("x" * 90, 60)) == 60


def test_a_verdict_of_imbalance_says_why_the_bar_shows_less() -> None:
    """The bar is the mean of all hosts or devices, of which the late one does
    not wait.
    """
    late = report_of(FIXTURES / "jax-hosts-late")

    assert bar_note(late) in " ".join(as_text(late).split())
    assert "on the others, most of it waiting" in bar_note(late)
    device = report_of(FIXTURES / "jax-4dev-imbalance")
    assert device.verdict.fraction > device.breakdown["collective"]
    assert "mean of all devices" in bar_note(device)
    assert bar_note(device) in " ".join(as_text(device).split())
    assert bar_note(report_of(FIXTURES / "jax-logging")) == ""


def test_a_file_in_the_table_of_ops_is_shown_without_what_a_terminal_obeys() -> None:
    report = report_of(FIXTURES / "jax-logging")
    hostile = replace(
        report,
        ops=(replace(report.ops[0], file="a\x1b[31m\tb.py", line=7), *report.ops[1:]),
    )

    text = as_text(hostile, details=True)

    assert "b.py:7" in text
    assert not {"\x1b", "\t"} & set(text)


def test_no_two_ops_of_the_table_have_one_name() -> None:
    """Four layers' products end alike; on a CPU the kernel repeats its op's name, which
    is said once.
    """
    report = report_of(FIXTURES / "tf-healthy-keras")
    named = {op.name for op in report.ops[:15]}

    for width in (80, 130):
        rows = as_text(report, details=True, screen=Screen(width)).partition(
            "What takes most time on the devices\n"
        )[2]
        cells = [row.split() for row in rows.partition("\n\n")[0].splitlines()[1:]]
        assert len({row[0] for row in cells}) == len(named)
        assert cells[0][:3] == ["dense_2_1/MatMul/MatMul_1", "_MklMatMul", "compute"]


def test_a_name_that_is_cut_tells_still_which_layer_it_is() -> None:
    report = report_of(FIXTURES / "tf-healthy-keras")
    long = "a_model_of_many_parts/one_of_the_encoders_{}/and_within_it_a_block_of_its_own/MatMul"
    ops = [
        replace(op, op=long.format(at), kernel=long.format(at))
        for at, op in enumerate(report.ops[:15])
    ]

    text = as_text(replace(report, ops=tuple(ops)), details=True, screen=Screen(60))

    assert {int(found) for found in re.findall(r"ders_(\d+)/and", text)} == set(
        range(15)
    )
