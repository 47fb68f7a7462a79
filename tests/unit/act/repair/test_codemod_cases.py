"""Each codemod against the cases beside its module: programs that it must leave alone
first, then what it makes of others.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
import yaml
from support.places import ROOT

from tfadvisor.act.repair.hits import FaultPlace, Hit, load
from tfadvisor.advice.codemods import CODEMODS, LAUNCH_LINE, NEVER_MECHANICAL

FOLDER = ROOT / "tfadvisor" / "act" / "repair" / "codemods"
CASES = {
    one.name.split(".")[0]: yaml.safe_load(one.read_text(encoding="utf-8"))
    for one in FOLDER.glob("*.cases.yaml")
}
NAMES = sorted(name for name in CODEMODS if name != LAUNCH_LINE)


def cases_of(name: str) -> list[dict[str, Any]]:
    cases: list[dict[str, Any]] = CASES[CODEMODS[name].module][name]
    return cases


def hits_in(name: str, text: str, case: dict[str, Any]) -> list[Hit]:
    """snippets of the case: what the finding prescribes."""
    from tfadvisor.act.repair.reading.program import Program

    place = FaultPlace(snippets=case.get("snippets", ""))
    return [one for one in load(name)(Program(text), place) if one.source != text]


def each_case() -> list[Any]:
    return [
        pytest.param(name, one, id=f"{name}: {one['name']}")
        for name in NAMES
        for one in cases_of(name)
    ]


@pytest.mark.parametrize(("name", "case"), each_case())
def test_a_codemod_does_what_its_case_says(name: str, case: dict[str, Any]) -> None:
    found = hits_in(name, case["before"], case)

    if "asks" in case:
        assert [one.first for one in found] == case["asks"]
    else:
        assert [one.source for one in found] == (
            [case["after"]] if "after" in case else []
        )


@pytest.mark.parametrize("name", NAMES)
def test_a_codemod_leaves_alone_what_it_has_changed(name: str) -> None:
    """What a patch makes is no fault any more: it is not patched a second time."""
    for case in cases_of(name):
        if "after" in case:
            assert hits_in(name, case["after"], case) == []


@pytest.mark.parametrize("name", NAMES)
def test_the_first_case_is_one_that_stays(name: str) -> None:
    cases = cases_of(name)

    assert not {"after", "asks"} & set(cases[0])
    assert any("after" in case for case in cases)


@pytest.mark.parametrize("name", NAMES)
def test_line_ends_and_tabs_stay(name: str) -> None:
    """A program of Windows with tabs differs from its patch in the lines of the change
    alone.
    """
    for case in cases_of(name):
        if "after" not in case or "'''" in case["after"]:
            continue
        for found in hits_in(
            name, case["before"].replace("    ", "\t").replace("\n", "\r\n"), case
        ):
            assert found.source.replace("\r\n", "") == found.source.replace(
                "\r\n", ""
            ).replace("\n", "")
            assert found.source.count("\r\n") == case["after"].count("\n")


def test_every_public_function_is_a_codemod_with_cases_beside_its_module() -> None:
    for theme, cases in CASES.items():
        module = import_module(f"tfadvisor.act.repair.codemods.{theme}")
        functions = {
            name
            for name, one in vars(module).items()
            if getattr(one, "__module__", "") == module.__name__
        }
        named = {name for name in NAMES if CODEMODS[name].module == theme}

        assert set(cases) == named
        assert {
            one.replace("_", "-") for one in functions if not one.startswith("_")
        } == named


def test_every_codemod_is_named_by_a_rule() -> None:
    from tfadvisor.advice.loading.catalogue import built_in_rules

    named = {
        name
        for rule in built_in_rules()
        for one in rule.codemods
        for name in (one.name, *one.then)
    }

    assert named == set(CODEMODS)


def test_the_page_lists_every_codemod_in_the_words_of_the_registry() -> None:
    page = (ROOT / "docs" / "fix.md").read_text(encoding="utf-8")

    for name, about in CODEMODS.items():
        assert f"| `{name}` | {about.does} | {about.changes or '–'} |\n" in page


def test_what_a_compiler_makes_of_a_step_is_never_mechanical() -> None:
    from tfadvisor.advice.loading.catalogue import built_in_rules

    refs = [one for rule in built_in_rules() for one in rule.codemods]

    assert {one.sure for one in refs if NEVER_MECHANICAL & {one.name, *one.then}} == {
        "guess"
    }
