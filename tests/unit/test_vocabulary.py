"""Each shared word has its facts, and they fit the rest."""

from __future__ import annotations

import re

import pytest

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.metrics.registry import registered_metrics
from tfadvisor.units import Unit
from tfadvisor.vocabulary import (
    CATEGORIES,
    FRAMEWORKS,
    TIME_CLASSES,
    VERDICTS,
    Severity,
    TimeClass,
)


def test_the_first_class_that_holds_wins_in_this_order() -> None:
    """The page knows a class by its place, too."""
    assert [int(one) for one in TimeClass] == list(range(8))
    assert TIME_CLASSES == (
        "compute",
        "collective",
        "transfer",
        "compile",
        "input",
        "launch",
        "host",
        "idle",
    )


@pytest.mark.parametrize("one", TimeClass)
def test_each_class_is_the_share_that_its_metric_gives(one: TimeClass) -> None:
    metric = registered_metrics()[one.metric]

    assert metric.unit is Unit.FRACTION
    assert f"breakdown class `{one.label}`" in metric.about


def test_classes_are_told_apart_with_and_without_colours() -> None:
    for what in ("fill", "style", "meaning", "metric"):
        assert len({getattr(one, what) for one in TimeClass}) == len(TimeClass), what
    for theme in (0, 1):
        colours = {one.colours[theme] for one in TimeClass}
        assert len(colours) == len(TimeClass)
        assert all(re.fullmatch("#[0-9a-f]{6}", colour) for colour in colours)


def test_a_category_named_for_a_class_claims_that_class_first() -> None:
    for name in set(CATEGORIES) & set(TIME_CLASSES):
        assert CATEGORIES[name] == (TimeClass[name.upper()],)


def test_memory_claims_the_time_in_which_the_allocator_holds_up_the_host() -> None:
    assert CATEGORIES["memory"] == (TimeClass.LAUNCH, TimeClass.HOST, TimeClass.IDLE)


def test_placement_claims_the_wait_for_the_host_before_the_copies() -> None:
    assert CATEGORIES["placement"] == (
        TimeClass.LAUNCH,
        TimeClass.HOST,
        TimeClass.IDLE,
        TimeClass.TRANSFER,
    )


def test_every_category_of_the_rules_is_known() -> None:
    assert {rule.category for rule in load_catalogue().rules} <= set(CATEGORIES)


def test_each_bottleneck_has_a_name_and_those_that_are_lost_time_say_what_into() -> (
    None
):
    assert set(VERDICTS) == {
        *(set(TIME_CLASSES) - {"idle"}),
        "imbalance",
        "memory",
        "none",
        "unknown",
    }
    assert {name for name, words in VERDICTS.items() if not words.lost} == {
        "imbalance",
        "compute",
        "none",
        "unknown",
    }


def test_severities_rank_from_info_to_critical() -> None:
    assert [
        Severity(name).rank for name in ("info", "low", "medium", "high", "critical")
    ] == [0, 1, 2, 3, 4]


def test_frameworks_are_written_as_their_people_write_them() -> None:
    assert FRAMEWORKS["tensorflow"] == "TensorFlow"
    assert "unknown" not in FRAMEWORKS
