"""What a stable rule needs before it is admitted."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.places import ROOT

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.findings import SourceRef
from tfadvisor.advice.judging.conditions import Compare, Joined
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.limits import bounds_of
from tfadvisor.advice.loading.rule import Cap, Rule
from tfadvisor.vocabulary import Severity

lacks = runpy.run_path(str(ROOT / "docs" / "admission.py"))["lacks"]
BOUND = Compare("steps_counted", "below", 3.0, "two tell no spread")
BARE = replace(BOUND, because="")
GUIDE = SourceRef("TFG", "1", "https://www.tensorflow.org/guide/profiler")
BLOG = SourceRef("own", "1", "https://example.org/")
RULE = replace(
    next(one for one in load_catalogue().rules if one.id == "few-steps"),
    when=BOUND,
    at_most=None,
    fixes=(),
    source=(GUIDE,),
    confirmed=("a public trace",),
)


def test_a_rule_with_all_of_it_lacks_nothing(tmp_path: Path) -> None:
    assert lacks(RULE, tmp_path) == []


def test_every_bound_needs_its_reason_wherever_it_stands(tmp_path: Path) -> None:
    fix = next(one for one in load_catalogue().rules if one.id == "few-steps").fixes[0]
    rule = replace(
        RULE,
        when=Joined("all", (BOUND, Joined("not", (BARE,)))),
        at_most=Cap(Severity.LOW, BARE),
        fixes=(replace(fix, when=BARE), replace(fix, when=None)),
    )

    assert len(bounds_of(rule)) == 4
    assert lacks(rule, tmp_path) == ["3 bounds without a reason"]
    assert lacks(replace(RULE, when=BARE), tmp_path) == ["1 bound without a reason"]


@pytest.mark.parametrize(
    ("url", "admitted"),
    [
        ("https://www.tensorflow.org/guide/profiler", True),
        ("https://docs.nvidia.com/deeplearning", True),
        ("https://developer.nvidia.com/blog", True),
        ("https://github.com/openxla/xprof", True),
        ("https://github.com/someone/xprof", False),
        ("https://example.org/www.tensorflow.org", False),
        ("https://notnvidia.com/", False),
    ],
)
def test_a_source_is_a_vendors_or_two_confirmations_stand_in(
    url: str, admitted: bool, tmp_path: Path
) -> None:
    rule = replace(RULE, source=(replace(GUIDE, url=url),))
    missing = ["neither a source by a vendor or framework nor two confirmations"]

    assert lacks(rule, tmp_path) == ([] if admitted else missing)
    assert lacks(replace(rule, confirmed=("one", "another")), tmp_path) == []


def test_a_trace_is_needed_and_a_fixture_must_be_there(tmp_path: Path) -> None:
    (tmp_path / "fixtures" / "there").mkdir(parents=True)

    assert lacks(replace(RULE, confirmed=()), tmp_path) == ["no trace in `confirmed`"]
    assert lacks(
        replace(RULE, confirmed=("fixtures/there", "fixtures/gone")), tmp_path
    ) == ["fixtures/gone is not there"]


def test_a_rule_on_trial_lacks_nothing(tmp_path: Path) -> None:
    assert (
        lacks(
            replace(RULE, tier="preview", when=BARE, confirmed=(), source=(BLOG,)),
            tmp_path,
        )
        == []
    )


@pytest.mark.parametrize(
    "rule", load_catalogue(preview=True).rules, ids=lambda one: one.id
)
def test_the_catalogue_lacks_nothing(rule: Rule) -> None:
    assert lacks(rule, ROOT) == []
