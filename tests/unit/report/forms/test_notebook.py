"""What a report, a comparison and a trace show in a notebook, and the frames that they
give.
"""

from __future__ import annotations

import io
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from pydoc import plaintext, render_doc

import msgspec
import pytest
from msgspec.structs import replace
from support.places import ROOT

import tfadvisor
from tfadvisor.analysis import Analysis
from tfadvisor.comparison.change_forms import signed
from tfadvisor.errors import TraceError, UsageError

FIXTURES = ROOT / "fixtures"
LOGGING = next((FIXTURES / "jax-logging").rglob("*.xplane.pb*"))


@pytest.fixture(scope="module")
def found() -> Analysis:
    return tfadvisor.analyze(FIXTURES / "jax-4dev-imbalance")


class _Elements(HTMLParser):
    """Every element with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_an_analysis_is_one_line_and_one_self_contained_fragment(
    found: Analysis,
) -> None:
    shown = found._repr_html_()

    assert re.fullmatch(
        r"<tfadvisor\.Report of .* · \d+ steps of .*: UNBALANCED, \d+ findings?>",
        repr(found),
    )
    assert "--details" not in shown
    elements = _Elements(shown).found
    assert not [
        attributes
        for _, attributes in elements
        if {"src", "href", "onclick"} & attributes.keys()
    ]
    assert not [
        tag for tag, _ in elements if tag in ("script", "link", "img", "iframe")
    ]
    assert "http" not in re.sub(r"<details>.*</details>", "", shown, flags=re.S)
    assert "prefers-color-scheme:dark" in shown


def test_names_from_a_trace_are_text(found: Analysis) -> None:
    report = found.report
    bad = "<img src=x onerror=alert(1)>\x1b[31m"
    verdict = replace(report.verdict, summary=bad)
    findings = tuple(replace(one, title=bad, summary=bad) for one in report.findings)

    hostile = replace(
        report, verdict=verdict, findings=findings, run=replace(report.run, name=bad)
    )
    shown = replace(found, report=hostile)

    assert not [tag for tag, _ in _Elements(shown._repr_html_()).found if tag == "img"]
    assert "\x1b" not in shown._repr_html_() + repr(shown)


def test_the_page_is_written_from_the_trace(found: Analysis, tmp_path: Path) -> None:
    found.to_html(tmp_path / "report.html")

    text = (tmp_path / "report.html").read_text("utf-8")
    assert text.startswith("<!doctype html>")
    assert found.report.run.name in text


def test_an_analysis_holds_the_report_and_answers_for_it(found: Analysis) -> None:
    report = found.report

    assert isinstance(report, tfadvisor.Report)
    assert found.to_dict() == report.to_dict()
    assert found.verdict is report.verdict
    assert found.findings is report.findings
    assert found.metrics is report.metrics


def test_the_report_of_an_analysis_is_a_record_like_any(found: Analysis) -> None:
    """It can be written as JSON, and equals that of another analysis of the trace."""
    again = tfadvisor.analyze(FIXTURES / "jax-4dev-imbalance")

    assert msgspec.json.encode(found.report) == msgspec.json.encode(again.report)
    assert found == again
    assert found.report == again.report


def test_an_analysis_is_a_side_of_a_comparison(found: Analysis) -> None:
    assert tfadvisor.compare(found, found.report).comparison.same


def test_the_page_of_a_trace_that_is_gone_says_so(tmp_path: Path) -> None:
    file = shutil.copy(LOGGING, tmp_path)
    report = tfadvisor.analyze(file)
    Path(file).unlink()

    with pytest.raises(TraceError, match="No such file"):
        report.to_html(tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("given", ["bytes", "file", "stream"])
def test_the_content_of_a_trace_is_read_as_its_file_is(given: str) -> None:
    data = LOGGING.read_bytes()
    by_path = tfadvisor.analyze(LOGGING)

    with LOGGING.open("rb") as file:
        forms = {"bytes": data, "file": file, "stream": io.BytesIO(data)}
        found = tfadvisor.analyze(forms[given])

    assert found.metrics == by_path.metrics
    assert found.findings == by_path.findings
    path = LOGGING.name if given == "file" else "trace in memory"
    assert found.report.run.path == path
    assert len(found.page().ops) >= len(found.report.ops)


def test_content_that_is_no_trace_is_said_without_a_path() -> None:
    with pytest.raises(TraceError) as told:
        tfadvisor.analyze(b"\xff" * 64)
    assert str(told.value).startswith("trace in memory: ")
    with pytest.raises(UsageError, match="mode 'rb'"):
        tfadvisor.analyze(io.StringIO("text"))  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a int is no trace"):
        tfadvisor.analyze(7)  # type: ignore[arg-type]


def test_a_comparison_shows_its_causes() -> None:
    change = tfadvisor.compare(
        FIXTURES / "tf-no-prefetch", FIXTURES / "tf-healthy-loop"
    )

    (total,) = (
        line for line in repr(change).splitlines() if "total, median step time" in line
    )
    assert signed(change.comparison.median_change_ms) in total


def test_a_comparison_gives_its_record_its_causes_and_its_json() -> None:
    change = tfadvisor.compare(
        FIXTURES / "tf-no-prefetch", FIXTURES / "tf-healthy-loop"
    )

    assert isinstance(change.comparison, tfadvisor.Comparison)
    assert change.causes is change.comparison.causes
    assert change.to_dict() == change.comparison.to_dict()


def test_a_trace_shows_its_planes() -> None:
    trace = tfadvisor.open(LOGGING)

    events = sum(len(host.events) for host in trace.hosts)
    assert (
        repr(trace)
        == f"<tfadvisor.Trace of {trace.run.name}: 1 host, {events:,} events>"
    )
    assert len(tfadvisor.open(LOGGING.read_bytes()).events()) == events


def test_the_package_says_what_it_holds() -> None:
    assert tfadvisor.__version__ == tfadvisor.analyze(LOGGING).report.tool.version
    assert set(dir(tfadvisor)) == set(tfadvisor.__all__)
    for record in (tfadvisor.Report, tfadvisor.Comparison, tfadvisor.Trace):
        told = render_doc(record, renderer=plaintext)
        assert [name for name in record.__struct_fields__ if name not in told] == []
