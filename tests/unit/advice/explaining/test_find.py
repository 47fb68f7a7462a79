"""What a name means: exactly, by a synonym, by its words, or not at all."""

from __future__ import annotations

import re

import pytest

from tfadvisor.advice.explaining.find import all_known, asked_for, meant, named
from tfadvisor.advice.explaining.synonyms import SYNONYMS
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.errors import UsageError

RULES = load_catalogue(preview=True).rules


def found(asked: str) -> list[tuple[str, str]]:
    return [(one.kind, one.name) for one in meant(asked, RULES).explained]


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("input-not-prefetched", [("rule", "input-not-prefetched")]),
        ("input_bound_fraction", [("metric", "input_bound_fraction")]),
        ("input bound fraction", [("metric", "input_bound_fraction")]),
        ("late_device", [("fact", "late_device")]),
        ("transfer", [("class of time", "transfer"), ("verdict", "Transfer-bound")]),
        ("input-bound", [("verdict", "Input-bound")]),
        (
            "Straggler",
            [("word", "Straggler"), ("rule", "late-host"), ("fact", "late_host")],
        ),
        ("h2d", [("word", "H2D, D2H, D2D")]),
        ("kernels", [("word", "Kernel")]),
        ("--xla_dump_to=/tmp/x", [("flag", "--xla_dump_to")]),
        ("NCCL_DEBUG", [("environment variable", "NCCL_DEBUG")]),
        ("mfu", [("metric", "mfu")]),
        ("HFU", [("metric", "flops_utilization")]),
        (
            "launch gap",
            [
                ("metric", "kernel_launch_gap_fraction"),
                ("rule", "launch-gaps-between-kernels"),
            ],
        ),
    ],
)
def test_a_name_is_found_by_what_people_call_it(
    asked: str, expected: list[tuple[str, str]]
) -> None:
    assert found(asked) == expected


def test_where_several_hold_the_words_they_are_listed() -> None:
    both = meant("memory pool", RULES)

    assert both.explained == ()
    assert [one.name for one in both.listed] == [
        "small-memory-pool",
        "memory_pool_fraction",
    ]


def test_a_kind_lists_its_names() -> None:
    listed = meant("verdicts", RULES).listed

    assert [one.name for one in listed][:2] == ["Input-bound", "Host-bound"]
    assert {one.kind for one in listed} == {"verdict"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("input_bound_fracton", "Did you mean input_bound_fraction?"),
        ("xla_gpu_autotune_levl", "Did you mean xla_gpu_autotune_level?"),
        ("stragler", "Did you mean Straggler?"),
        ("qqqq", "nothing is called qqqq."),
        ("", "nothing is called ."),
    ],
)
def test_what_nothing_is_called_says_what_was_meant(asked: str, said: str) -> None:
    with pytest.raises(UsageError, match=re.escape(said)):
        meant(asked, RULES)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["launch", "gap"], ["launch gap"]),
        (["mfu", "mbu"], ["mfu", "mbu"]),
        (["memory", "pool"], ["memory pool"]),
        (["rules", "metrics"], ["rules", "metrics"]),
        (["mfu", "qqqq"], ["mfu", "qqqq"]),
    ],
)
def test_words_are_one_name_or_several(words: list[str], names: list[str]) -> None:
    assert list(asked_for(words, RULES)) == names


def test_each_synonym_leads_to_something_and_is_found_as_people_say_it() -> None:
    known = all_known(RULES)

    assert [(one, to) for one, to in SYNONYMS.items() if not named(one, known)] == []
    assert [
        to for names in SYNONYMS.values() for to in names if not named(to, known)
    ] == []


def test_everything_has_a_title_and_an_explanation() -> None:
    for one in all_known(RULES):
        assert one.title, one.name
        assert all(paragraph.text for paragraph in one.paragraphs()), one.name
