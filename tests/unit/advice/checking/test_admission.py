"""What a stable rule needs before it is admitted."""

from __future__ import annotations

import json
import runpy
from pathlib import Path

import pytest
from msgspec.structs import replace
from support.places import ROOT

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.findings import SourceRef
from tfadvisor.advice.judging.conditions import Compare, Joined
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.advice.loading.rule import Cap, Rule
from tfadvisor.vocabulary import Severity

ADMISSION = runpy.run_path(str(ROOT / "docs" / "admission.py"))
lacks, bounds_of = ADMISSION["lacks"], ADMISSION["bounds_of"]
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
    confirmed=("fixtures/short",),
)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What is said of some recordings: the rule fires on `short` and on a stranger's
    trace, and named a public program and one of a batch at first sight.
    """
    golden = tmp_path / "tests" / "golden"
    for name, said in (
        ("fixtures/short", "  info, few-steps\n"),
        ("fixtures/long", "  info, no-step-markers\n"),
        ("traces/course/t4", "  low, unsure, few-steps, takes 5%\n"),
        ("cases/strangers/laptop", "  info, few-steps\n"),
    ):
        file = golden / f"{name}.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"verdict: none\nfindings:\n{said}")
    public = tmp_path / "benchmarks" / "public-programs"
    batch = tmp_path / "benchmarks" / "diagnosis" / "batches" / "9"
    answers = {"findings": [{"id": "few-steps", "fix": "Record more."}]}
    sight = {"findings": [{"rule": "few-steps", "do": "Record more."}]}
    for folder, said in ((public, {"run": answers}), (batch, {"faulty": sight})):
        folder.mkdir(parents=True)
        text = json.dumps({"tf_vae": said, "jax_gcn": {"run": {"findings": []}}})
        (folder / "first_answers.json").write_text(text)
    return tmp_path


def test_a_rule_with_all_of_it_lacks_nothing(checkout: Path) -> None:
    assert lacks(RULE, checkout) == []


def test_every_bound_needs_its_reason_wherever_it_stands(checkout: Path) -> None:
    fix = next(one for one in load_catalogue().rules if one.id == "few-steps").fixes[0]
    rule = replace(
        RULE,
        when=Joined("all", (BOUND, Joined("not", (BARE,)))),
        at_most=Cap(Severity.LOW, BARE),
        fixes=(replace(fix, needs=BARE), replace(fix, needs=None)),
    )

    assert len(bounds_of(rule)) == 4
    assert lacks(rule, checkout) == ["3 bounds without a reason"]
    assert lacks(replace(RULE, when=BARE), checkout) == ["1 bound without a reason"]


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
    url: str, admitted: bool, checkout: Path
) -> None:
    rule = replace(RULE, source=(replace(GUIDE, url=url),))
    missing = ["neither a source by a vendor or framework nor two confirmations"]
    twice = ("fixtures/short", "public trace laptop")

    assert lacks(rule, checkout) == ([] if admitted else missing)
    assert lacks(replace(rule, confirmed=twice), checkout) == []


@pytest.mark.parametrize(
    ("recording", "fires"),
    [
        ("fixtures/short", True),
        ("fixtures/long", False),
        ("fixtures/gone", False),
        ("public trace course/t4", True),
        ("public trace laptop", True),
        ("public trace gone", False),
        ("public program tf_vae", True),
        ("public program jax_gcn", False),
        ("public program gone", False),
        ("first sight, batch 9: tf_vae", True),
        ("first sight, batch 9: jax_gcn", False),
        ("first sight, batch 8: tf_vae", False),
    ],
)
def test_the_rule_fires_on_what_confirms_it(
    recording: str, fires: bool, checkout: Path
) -> None:
    found = lacks(replace(RULE, confirmed=(recording,)), checkout)

    assert found == ([] if fires else [f"does not fire on {recording}"])


def test_without_a_recording_a_guide_must_stand_behind_it(checkout: Path) -> None:
    unconfirmed = replace(RULE, confirmed=())
    documented = replace(unconfirmed, proof="documented")

    assert lacks(unconfirmed, checkout) == ["no recording in `confirmed`"]
    assert lacks(documented, checkout) == []
    assert lacks(replace(documented, source=(BLOG,)), checkout) == [
        "documented, and no source by a vendor or framework"
    ]
    assert lacks(replace(RULE, proof="documented"), checkout) == [
        "documented, and a recording confirms it"
    ]


def test_a_rule_that_was_a_cause_of_another_is_known_by_what_that_advised(
    tmp_path: Path,
) -> None:
    batch = tmp_path / "benchmarks" / "diagnosis" / "batches" / "9"
    batch.mkdir(parents=True)
    said = [
        {"rule": "exposed-collectives", "do": "Sum once after the loop. It runs twice."}
    ]
    text = json.dumps({"jax_sums": {"faulty": {"findings": said}}})
    (batch / "first_answers.json").write_text(text)
    recording = "first sight, batch 9: jax_sums"
    rule = replace(RULE, id="all-reduce-in-loop", confirmed=(recording,))

    assert lacks(rule, tmp_path) == []
    assert lacks(replace(rule, id="exposed-exchanges"), tmp_path) == [
        f"does not fire on {recording}"
    ]


def test_a_rule_on_trial_lacks_nothing(tmp_path: Path) -> None:
    trial = replace(RULE, tier="preview", when=BARE, confirmed=(), source=(BLOG,))

    assert lacks(trial, tmp_path) == []


@pytest.mark.parametrize(
    "rule", load_catalogue(preview=True).rules, ids=lambda one: one.id
)
def test_the_catalogue_lacks_nothing(rule: Rule) -> None:
    assert lacks(rule, ROOT) == []
