"""JSON, terminal and Markdown say the same report, and let no text from a trace do
harm.
"""

from __future__ import annotations

import io
import json
import re

import pytest
from msgspec.structs import replace
from support.golden_reports import report_of
from support.places import FIXTURES
from support.trace_builder import trace

from tfadvisor.printable import in_markdown, one_line, printable
from tfadvisor.report.forms.html import as_json
from tfadvisor.report.forms.markdown import as_markdown
from tfadvisor.report.forms.terminal import _cells, as_text
from tfadvisor.report.model import Report
from tfadvisor.text_page import screen_of
from tfadvisor.units import Unit, in_words

HOSTILE = (
    "\x1b[31mred\x1b[0m [bold]markup[/bold] <script>alert(1)</script> | `x` "
    "](http://evil) \u202egnp.exe\r\n::error::"
)


@pytest.fixture(scope="module")
def report() -> Report:
    builder = trace()
    for index in range(5):
        at = index * 100
        builder.step(at, at + 100).call("load_batch", at, at + 60).call(
            "$train.py:7 load_batch", at, at + 60
        )
        builder.kernel("GPU:0", "k", at + 70, at + 100, launched=(at + 61, at + 62))
    return builder.report()


@pytest.fixture(scope="module")
def hostile() -> Report:
    builder = trace().host(HOSTILE.replace("/", "_"))
    for index in range(5):
        at = index * 100
        builder.step(at, at + 100, name=HOSTILE).call(
            f"$evil.py:7 {HOSTILE} load_batch", at, at + 60
        )
        builder.kernel("GPU:0", HOSTILE, at + 70, at + 100, launched=(at + 61, at + 62))
    return builder.warning(HOSTILE).error(HOSTILE).report()


def test_the_json_begins_with_its_version(report: Report) -> None:
    data = json.loads(as_json(report))

    assert next(iter(data)) == "schema_version"
    assert data["schema_version"] == "1"
    assert set(data["breakdown"]) == {
        "compute",
        "collective",
        "transfer",
        "input",
        "launch",
        "compile",
        "host",
        "idle",
    }


def test_shares_add_up_to_one(report: Report) -> None:
    data = report.to_dict()

    assert sum(data["breakdown"].values()) == pytest.approx(1, abs=1e-6)
    for step in data["steps"]["each"]:
        assert sum(step["breakdown"].values()) == pytest.approx(1, abs=1e-6)


def test_each_step_tells_its_period(report: Report) -> None:
    steps = report.to_dict()["steps"]

    assert steps["count"] == len(steps["each"]) == 5
    assert [step["duration_ms"] for step in steps["each"]] == pytest.approx([0.1] * 5)
    assert steps["each"][1]["start_ms"] == pytest.approx(0.1)
    assert steps["time_ms"]["mean"] == pytest.approx(0.1)


def test_absent_metrics_are_null_with_a_reason(report: Report) -> None:
    for name, metric in report.to_dict()["metrics"].items():
        assert (metric["value"] is None) == (metric["reason"] is not None), name


def test_the_json_is_ascii_and_finite(hostile: Report) -> None:
    text = as_json(hostile)

    assert text.isascii()
    assert "\x1b" not in text
    json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))


def test_the_terminal_shows_verdict_bar_and_first_fix(report: Report) -> None:
    text = as_text(report)

    assert "INPUT-BOUND" in text
    assert "input 60%" in text
    assert "▓" in text
    assert "1. CRITICAL  The training loop loads its own batch before each step" in text
    assert "train.py:7 in load_batch" in text
    assert "Load with several processes" in text
    assert "\x1b" not in text


def test_the_terminal_fits_one_screen(report: Report) -> None:
    assert len(as_text(report).splitlines()) <= 45


def test_details_show_evidence_metrics_and_what_was_not_applicable(
    report: Report,
) -> None:
    text = as_text(report, details=True)

    for expected in (
        "seen",
        "kernel_launch_latency_us",
        "Not applicable",
        "step 0" if "step 0" in text else "train 0",
        "rule   input-loader-in-step",
    ):
        assert expected in text


def test_details_show_the_hottest_ops_and_fold_what_is_absent() -> None:
    """Kernels by time first, as who looks into a trace wants them; a reason is said
    once, with all that it is the reason of.
    """
    report = report_of(FIXTURES / "jax-loader")
    text = as_text(report, details=True)
    absent = [one.reason or "" for one in report.metrics.values() if one.value is None]
    folded = " ".join(
        text.partition("Metrics that this trace does not give")[2]
        .partition("\n\n")[0]
        .split()
    )

    ops = text.partition("What takes most time on the devices\n")[2].splitlines()
    assert ops[1].split() == [
        "dot",
        "compute",
        "56%",
        "402",
        "µs",
        "1",
        "program.py:12",
    ]
    assert len(absent) > 2 * len(set(absent))
    assert {reason: folded.count(f"{reason}: ") for reason in absent} == dict.fromkeys(
        absent, 1
    )
    assert text.index("What takes most time on the devices") < text.index(
        "Metrics (`tfadvisor explain NAME`"
    )


def test_no_control_character_reaches_terminal_or_page(hostile: Report) -> None:
    for text in (as_text(hostile, details=True), as_markdown(hostile)):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", text)


def test_markdown_escapes_names_from_the_trace(hostile: Report) -> None:
    text = as_markdown(hostile)

    assert "<script>" not in text
    assert "](http://evil)" not in text
    assert "\n::error::" not in text


def test_names_mention_nobody() -> None:
    """`@everyone` calls all members where Markdown is posted; a decorator reads the
    same.
    """
    assert in_markdown("@everyone, @tf.function, a@b 100 @ 3") == (
        "@\u200beveryone, @\u200btf.function, a@\u200bb 100 @ 3"
    )


def test_markup_in_names_is_text_on_the_terminal(hostile: Report) -> None:
    assert "[bold]markup[/bold]" in as_text(hostile, details=True)


def test_a_snippet_with_backticks_stays_inside_its_fence(report: Report) -> None:
    finding = report.findings[0]
    fix = replace(finding.fixes[0], snippet="```\nescaped?\n```")
    text = as_markdown(replace(report, findings=(replace(finding, fixes=(fix,)),)))

    assert "````python\n```\nescaped?\n```\n````" in text


def test_colours_only_on_a_terminal_and_without_no_color(
    report: Report, monkeypatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, plain = Terminal(), Terminal()
    coloured.write(as_text(report, screen=screen_of(coloured)))
    monkeypatch.setenv("NO_COLOR", "1")
    plain.write(as_text(report, screen=screen_of(plain)))

    assert "\x1b[3" in coloured.getvalue()
    assert not re.search(r"\x1b\[3\d", plain.getvalue())


def test_the_bar_is_as_wide_as_it_should_be() -> None:
    cells = _cells([("compute", 0.333), ("input", 0.333), ("host", 0.334)], 78)

    assert sum(width for _, width in cells) == 78


def test_printable_and_one_line() -> None:
    assert printable("a\x1b[2Jb\nc\u202e") == "a\\x1b[2Jb\nc\\x202e"
    assert one_line("a\n  b\tc") == "a b c"


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (0.382, Unit.FRACTION, "38%"),
        (0.0382, Unit.FRACTION, "3.8%"),
        (0.0, Unit.FRACTION, "0%"),
        (1234.5, Unit.MS, "1.23 s"),
        (12.34, Unit.MS, "12.3 ms"),
        (0.0051, Unit.MS, "5.10 µs"),
        (21.94, Unit.US, "21.9 µs"),
        (3_250_585, Unit.BYTES, "3.10 MiB"),
        (512, Unit.BYTES, "512 B"),
        (126224, Unit.COUNT, "126,224"),
        (34.67, Unit.COUNT, "34.7"),
    ],
)
def test_numbers_in_words(value: float, unit: Unit, words: str) -> None:
    assert in_words(value, unit) == words
