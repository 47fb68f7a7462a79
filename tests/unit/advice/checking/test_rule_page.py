"""A rule's page: why, when, what to do."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.checking.rule_page import index_page, rule_page
from tfadvisor.advice.judging.conditions import Compare
from tfadvisor.advice.loading.catalogue import load_catalogue
from tfadvisor.cli.main import guarded_main

RULES = {rule.id: rule for rule in load_catalogue(preview=True).rules}


def test_the_page_says_why_when_and_what() -> None:
    page = rule_page(RULES["uneven-devices"])

    assert page.startswith(
        "### uneven-devices\n\n**The devices of a host do not share the work evenly.**"
    )
    assert (
        "- any of\n  - all of\n    - `late_device_fraction` is known\n    - "
        "`late_device_fraction` at least 0.1" in page
    )
    assert "```python\nsharding = jax.sharding" in page
    assert "Source: [TFG-2.5](https://" in page


def test_facts_and_negations_in_words() -> None:
    page = rule_page(RULES["exposed-collectives"])

    assert "not\n" in page and "`device_kind` is cpu" in page
    assert "`costly_op_kind` is checks for NaN and Inf or summaries" in rule_page(
        RULES["debugging-in-step"]
    )


def test_the_page_of_a_rule_on_trial_says_so_asks_and_gives_reasons() -> None:
    rule = RULES["few-steps"]
    bound = Compare("steps_counted", "below", 3.0, "two tell no spread")
    page = rule_page(
        replace(
            rule,
            tier="preview",
            proof="likely",
            ask="Was it cut?",
            when=bound,
            confirmed=("fixtures/a", "b"),
        )
    )

    assert (
        "_Preview: off unless `--preview` is given._\n\n_Worth checking:_ Was it "
        "cut?\n\n**The trace" in page
    )
    assert "- `steps_counted` below 3 (two tell no spread)" in page
    assert page.endswith("Confirmed by fixtures/a; b\n")


def test_the_index_links_every_page() -> None:
    index = index_page(list(RULES.values()))

    assert all(
        f"- [{name}]({name}.md): {rule.title}" in index for name, rule in RULES.items()
    )


def test_the_command_writes_them(tmp_path: Path, capsys) -> None:
    assert (
        guarded_main(["rules", "docs", "--out", str(tmp_path / "deep" / "pages")]) == 0
    )

    written = {path.name for path in (tmp_path / "deep" / "pages").iterdir()}
    assert written == {f"{name}.md" for name in RULES} | {"index.md"}
    assert f"{len(RULES)} pages and index.md" in capsys.readouterr().out


def test_a_place_that_cannot_be_written_is_a_usage_error(
    tmp_path: Path, capsys
) -> None:
    (tmp_path / "taken").write_text("a file")

    assert guarded_main(["rules", "docs", "--out", str(tmp_path / "taken")]) == 2
    assert "--out" in capsys.readouterr().err
