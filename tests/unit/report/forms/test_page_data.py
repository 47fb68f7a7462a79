"""What the page is given: short, complete, and unable to end its script tag."""

from __future__ import annotations

import json

import pytest
from msgspec.structs import replace
from support.made_runs import op
from support.pages import page_of, page_of_folder
from support.places import FIXTURES
from support.trace_builder import trace

from tfadvisor.report.forms.encode import encode_pages
from tfadvisor.report.forms.html import as_html

HOSTILE = "</script><img src=x onerror=alert(1)><!--<script> & \u2028\u2029"


def data_of(html: str) -> str:
    """What stands between the tags of the data, up to the first end of a script."""
    _, _, rest = html.partition('<script id="data" type="application/json">')
    return rest.partition("</script>")[0]


def test_the_report_is_inside_with_its_steps_as_columns() -> None:
    page = page_of_folder(FIXTURES / "jax-logging")

    (run,) = json.loads(encode_pages([page]))["runs"]

    assert run["report"]["verdict"]["summary"] == page.report.verdict.summary
    assert [one["rule_id"] for one in run["report"]["findings"]] == [
        one.rule_id for one in page.report.findings
    ]
    assert run["report"]["steps"]["each"]["index"] == [
        step.index for step in page.report.steps.each
    ]
    assert len(run["ops"]["share"]) == len(page.ops)


def test_no_name_can_end_the_data_or_start_markup() -> None:
    builder = trace().step(0, 100, name=HOSTILE).step(100, 200, name=HOSTILE)
    builder.busy("GPU:0", (10, 90), (110, 190), name=HOSTILE)
    page = page_of(builder)

    data = data_of(as_html([page]))

    assert not set("<>&\u2028\u2029") & set(data)
    (run,) = json.loads(data)["runs"]
    assert run["report"]["steps"]["each"]["name"]["texts"][0].startswith(HOSTILE)
    assert HOSTILE in run["ops"]["kernel"]["texts"]


def test_numbers_are_finite_and_short() -> None:
    text = encode_pages([page_of_folder(FIXTURES / "tf-python-map")])

    assert not {"NaN", "Infinity"} & set(text.replace(":", ",").split(","))
    assert "0.333333333" not in text


@pytest.mark.parametrize(
    "folder", ["jax-logging", "jax-hosts-late", "tf-tiny-ops", "jax-4dev-imbalance"]
)
def test_the_page_of_a_usual_trace_is_below_1_5_mb(folder: str) -> None:
    assert len(as_html([page_of_folder(FIXTURES / folder)]).encode()) < 1_500_000


def test_several_hosts_are_told_apart() -> None:
    page = page_of_folder(FIXTURES / "jax-hosts-late")

    late = {one.host: one.last_share for one in page.devices}

    assert {one.host for one in page.drawn} == {"alpha", "beta", "gamma"}
    assert late["beta"] == 1.0
    assert page.collectives[0].bytes is not None
    assert page.collectives[0].wait_ms is not None


def test_the_input_pipeline_is_told_stage_by_stage() -> None:
    (pipeline,) = page_of_folder(FIXTURES / "tf-python-map").pipelines

    slowest = max(pipeline.stages, key=lambda stage: stage.wall_ms)

    assert slowest.kind == "ParallelMap"
    assert slowest.python


def test_short_names_follow_the_table_of_ops() -> None:
    """And no set, whose order differs from run to run: one trace gives one page."""
    names = [f"void Eigen::kernel{letter}<int>(int)" for letter in "fcaebd"]
    page = page_of(trace().step(0, 100))
    ops = tuple(op(name, 1.0) for name in names)

    text = encode_pages([replace(page, ops=ops)])

    (run,) = json.loads(text)["runs"]
    assert list(run["short_names"]) == names
