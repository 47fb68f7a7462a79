"""Every tip of the source documents is looked for by a rule, or it is said why none
does.
"""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
from support.places import ROOT

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.errors import RuleError

covered = runpy.run_path(str(ROOT / "docs" / "tips.py"))["covered"]
TIPS = ROOT.parent / "shared" / "knowledge.md"
RULES = load_catalogue().rules


@pytest.mark.parametrize("one", covered(RULES), ids=lambda one: one.tip)
def test_a_rule_cites_the_tip_or_the_reason_is_written(one) -> None:
    assert one.about
    assert one.cited_by or (one.reason and one.given_in)


def test_no_rule_cites_a_tip_that_is_not_listed() -> None:
    listed = {one.tip for one in covered(RULES)}
    others = (
        "XPF-",
        "TFD-",
        "JXP-",
        "LNX-",
        "NVML-",
        "CUPTI-",
        "CUDA-",
        "KER-",
        "NPD-",
        "PYD-",
        "TPU-",
        "TFG-0.",
    )  # of profilers and systems, and the guide on recording

    cited = {source.section for rule in RULES for source in rule.source}

    assert {one for one in cited if not one.startswith(others)} == {
        one for one in listed if one in cited
    }


@pytest.mark.skipif(
    not TIPS.is_file(), reason="the list of tips is not beside this checkout"
)
def test_the_list_is_whole() -> None:
    rows = re.findall(
        r"^\| ((?:TFG|JXG|JTB|XPS|PTT|host)[^|]*) \|", TIPS.read_text(), re.MULTILINE
    )

    assert [tip.strip() for row in rows for tip in row.split(",")] == [
        one.tip for one in covered(RULES)
    ]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("TFG-1: {about: a, why: b}", "not a field here"),
        ("TFG-1: {about: a, given_in: [no-such-rule]}", "no rule is called"),
    ],
)
def test_a_wrong_entry_is_told(tmp_path: Path, text: str, cause: str) -> None:
    (tmp_path / "coverage.yaml").write_text(text)

    with pytest.raises(RuleError, match=cause):
        covered(RULES, tmp_path / "coverage.yaml")
