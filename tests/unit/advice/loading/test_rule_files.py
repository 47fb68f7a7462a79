"""Rule files: read safely, checked field by field, errors with file, line and field;
all built-in rules with their cases.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support.places import RULES

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.checking.cases import check_folder
from tfadvisor.advice.loading.catalogue import checked, load_catalogue
from tfadvisor.advice.loading.yaml_marks import load
from tfadvisor.errors import RuleError, UsageError

GOOD = (RULES / "input" / "input-not-prefetched.yaml").read_text()


def test_every_built_in_rule_is_right_and_does_what_its_cases_say() -> None:
    outcome = check_folder(RULES)

    assert outcome.failures == ()
    assert outcome.rules >= 15
    assert outcome.cases >= 4 * outcome.rules


def test_the_catalogue_is_the_folder() -> None:
    files = [
        path for path in RULES.glob("*/*.yaml") if not path.name.endswith(".cases.yaml")
    ]
    previews = [
        path
        for path in RULES.glob("preview/*/*.yaml")
        if not path.name.endswith(".cases.yaml")
    ]

    catalogue, every = load_catalogue(), load_catalogue(preview=True)

    assert {rule.id for rule in catalogue.rules} == {path.stem for path in files}
    assert {rule.id for rule in every.rules} == {
        path.stem for path in [*files, *previews]
    }
    assert catalogue.broken == every.broken == ()


def below(text: str, *more: str) -> str:
    """The rule without what it says of its standing, and with further fields at its
    end.
    """
    plain = re.sub(
        r"(?m)^(?:tier|proof|ask|takes|confirmed):.*\n(?:[ -].*\n)*", "", text
    )
    return "\n".join((plain.rstrip("\n"), *more, ""))


def test_what_a_rule_does_not_say_of_its_standing_is_the_usual() -> None:
    rule = checked(load(below(GOOD), "x.yaml"))

    assert (rule.tier, rule.proof, rule.ask, rule.takes) == ("stable", "shown", "", "")


def test_a_rule_declares_tier_proof_question_and_what_confirmed_it() -> None:
    more = (
        "tier: preview",
        "proof: likely",
        "ask: Is it {input_bound_fraction}?",
        "confirmed: [fixtures/x]",
    )

    rule = checked(load(below(GOOD, *more, "takes: input_bound_fraction"), "x.yaml"))

    assert (rule.tier, rule.proof, rule.ask) == (
        "preview",
        "likely",
        "Is it {input_bound_fraction}?",
    )
    assert (rule.takes, rule.confirmed) == ("input_bound_fraction", ("fixtures/x",))
    assert rule.is_preview
    assert rule.is_likely


@pytest.mark.parametrize(
    ("more", "field", "cause"),
    [
        (["proof: likely"], "ask", "question"),
        (["ask: Why?"], "ask", "no other rule"),
        (["proof: measured"], "proof", "not one of shown, documented, likely"),
        (["tier: beta"], "tier", "not one of stable, preview"),
        (["takes: nonsense"], "takes", "no metric or fact"),
        (["proof: likely", "ask: Is it {nonsense}?"], "ask", "no metric or fact"),
        (["confirmed: once"], "confirmed", "list"),
    ],
)
def test_a_wrong_standing_names_its_field(
    more: list[str], field: str, cause: str
) -> None:
    with pytest.raises(RuleError) as raised:
        checked(load(below(GOOD, *more), "x.yaml"))

    assert raised.value.field == field
    assert cause in str(raised.value)


def test_a_likely_rule_may_not_be_severe() -> None:
    text = (RULES / "capture" / "few-steps.yaml").read_text()
    severe = re.sub(r"(?m)^severity:.*$", "severity: medium", text)

    with pytest.raises(RuleError, match="at most low"):
        checked(load(below(severe, "proof: likely", "ask: Why?"), "x.yaml"))


def test_a_documented_rule_is_at_most_medium_and_names_its_guide() -> None:
    text = below(
        (RULES / "capture" / "few-steps.yaml").read_text(), "proof: documented"
    )
    severe = re.sub(r"(?m)^severity:.*$", "severity: high", text)
    unsourced = re.sub(r"(?m)^source:\n(?: .*\n)*", "source: []\n", text)

    assert checked(load(text, "x.yaml")).is_documented
    with pytest.raises(RuleError, match="at most medium where `proof` is documented"):
        checked(load(severe, "x.yaml"))
    with pytest.raises(RuleError, match="the guide that stands behind"):
        checked(load(unsourced, "x.yaml"))


def test_only_rules_of_the_preview_folder_are_preview(tmp_path: Path) -> None:
    for folder, text in (
        ("input", below(GOOD, "tier: preview")),
        ("preview/input", below(GOOD)),
    ):
        file = tmp_path / folder / "input-not-prefetched.yaml"
        file.parent.mkdir(parents=True)
        file.write_text(text)

    failures = check_folder(tmp_path).failures

    assert (
        sum(
            "tier: must be preview in a folder called preview" in one
            for one in failures
        )
        == 2
    )


def test_preview_rules_are_off_unless_asked_for(tmp_path: Path) -> None:
    text = GOOD.replace("id: input-not-prefetched", "id: on-trial")
    (tmp_path / "on-trial.yaml").write_text(below(text, "tier: preview"))

    usual, every = load_catalogue([tmp_path]), load_catalogue([tmp_path], preview=True)

    assert {one.id for one in every.rules} - {one.id for one in usual.rules} >= {
        "on-trial"
    }
    assert load_catalogue([tmp_path], disabled=["on-trial"]).broken == ()


@pytest.mark.parametrize("rule", load_catalogue().rules, ids=lambda rule: rule.id)
def test_every_rule_names_its_source_and_an_edit(rule) -> None:
    assert rule.source
    assert all(one.url.startswith("https://") for one in rule.source)
    for fix in rule.fixes:
        assert fix.snippet.strip()
        assert fix.valid_for


@pytest.mark.parametrize(
    ("old", "new", "field", "cause"),
    [
        ("id: input-not-prefetched", "id: Input Not", "id", "not a rule id"),
        ("category: input", "category: speed", "category", "not one of"),
        ("at_least: 0.05", "at_least: lots", "when.all.0.at_least", "must be a number"),
        (
            "metric: input_bound_fraction, at",
            "metric: input_fraction, at",
            "when",
            "no metric or fact",
        ),
        ("  low: 0.5", "  low: 2", "saving.low", "between 0"),
        ("summary: >", "sumary: >", "sumary", "not a field"),
        (
            "evidence: [input_bound_fraction,",
            "evidence: [nonsense,",
            "evidence.0",
            "no metric or fact",
        ),
        ("  - kind: code", "  - kind: magic", "fixes.0.kind", "not one of"),
        (
            "{input_bound_fraction} of step",
            "{input_bond_fraction} of step",
            "summary",
            "no metric or fact",
        ),
        ("A prefetch hides", "A {nonsense} hides", "saving.basis", "no metric or fact"),
        (
            "Holds a few more",
            "Holds {nonsense} more",
            "fixes.0.side_effect",
            "no metric or fact",
        ),
        (
            "    valid_for:",
            '    env: {A: "{nonsense}"}\n    valid_for:',
            "fixes.0.env.A",
            "no metric or fact",
        ),
    ],
)
def test_an_error_points_at_line_and_field(
    old: str, new: str, field: str, cause: str
) -> None:
    text = GOOD.replace(old, new, 1)
    assert text != GOOD

    with pytest.raises(RuleError) as caught:
        checked(load(text, "some.yaml"))

    assert caught.value.field == field
    assert cause in caught.value.cause
    first = field.split(".", maxsplit=1)[0]
    expected = next(
        i for i, line in enumerate(text.splitlines(), 1) if line.startswith(first)
    )
    assert expected <= caught.value.line <= expected + 14
    assert str(caught.value).startswith(f"some.yaml:{caught.value.line}: ")


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [1]\nb: *x",
        "a: 1\na: 2",
        "!!python/object/apply:os.system ['true']",
        "a: !!python/name:os.system",
        "a: [1, 2",
        "\ta: 1",
        "x: " + "1" * (1 << 20),
        "[" * 100_000,
    ],
    ids=["alias", "twice", "object", "name", "open", "tab", "huge", "deep"],
)
def test_dangerous_and_broken_yaml_is_refused(text: str) -> None:
    with pytest.raises(RuleError):
        load(text, "x.yaml")


def test_nested_aliases_do_not_explode() -> None:
    """The billion laughs: refused at the first alias."""
    laughs = "a: &a [x, x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [*{chr(97 + i)}, *{chr(97 + i)}]\n"
        for i in range(20)
    )

    with pytest.raises(RuleError):
        load(laughs, "x.yaml")


def test_a_broken_file_does_not_stop_the_others(tmp_path: Path) -> None:
    (tmp_path / "broken.yaml").write_text("id: broken\ncategory: nonsense\n")
    (tmp_path / "mine.yaml").write_text(
        GOOD.replace("id: input-not-prefetched", "id: my-rule")
    )

    catalogue = load_catalogue([tmp_path])

    assert "my-rule" in {rule.id for rule in catalogue.rules}
    assert len(catalogue.rules) == len(load_catalogue().rules) + 1
    (error,) = catalogue.broken
    assert error.file.endswith("broken.yaml")


def test_an_id_is_taken_once(tmp_path: Path) -> None:
    (tmp_path / "again.yaml").write_text(GOOD)

    (error,) = load_catalogue([tmp_path]).broken

    assert "already taken" in error.cause


def test_rules_can_be_left_out() -> None:
    assert "few-steps" not in {
        rule.id for rule in load_catalogue(disabled=["few-steps"]).rules
    }
    with pytest.raises(UsageError, match="no rule has this id"):
        load_catalogue(disabled=["nonsense"])


def test_a_missing_rule_folder_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        load_catalogue([tmp_path / "nowhere"])


def test_cases_that_fail_are_told(tmp_path: Path) -> None:
    (tmp_path / "my-rule.yaml").write_text(
        GOOD.replace("id: input-not-prefetched", "id: my-rule")
    )
    (tmp_path / "my-rule.cases.yaml").write_text(
        "- name: should fire\n  metrics: {input_bound_fraction: 0.01, "
        "input_overlap_fraction: 0.01}\n"
        "  facts: {input_root: none}\n  expect: fired\n"
    )

    outcome = check_folder(tmp_path)

    assert any("expected fired, got quiet" in failure for failure in outcome.failures)
    assert any("stays quiet" in failure for failure in outcome.failures)


def test_the_rule_in_the_guide_passes_its_own_cases(tmp_path: Path) -> None:
    guide = (RULES / "README.md").read_text()
    cases, rule = re.findall(r"```yaml\n(.*?)```", guide, re.DOTALL)
    (tmp_path / "slow-steps-vary.cases.yaml").write_text(cases)
    (tmp_path / "slow-steps-vary.yaml").write_text(rule)

    outcome = check_folder(tmp_path)

    assert outcome.failures == ()
    assert (outcome.rules, outcome.cases) == (1, 4)


@pytest.mark.parametrize(
    "value",
    [
        "2026-99-99",
        "2026-02-30T25:61:61",
        "9" * 5000,
        "0b" + "1" * 20_000,
        "1:" * 2000 + "1",
    ],
)
def test_a_value_that_yaml_cannot_read_is_an_error_of_its_line(value: str) -> None:
    """Or one that the field refuses."""
    with pytest.raises(RuleError) as error:
        checked(load(GOOD.replace("title:", f"title: {value}\nother:", 1), "x.yaml"))

    assert str(error.value).count("\n") == 0
    assert error.value.line > 0


def test_no_rule_shows_a_number_that_it_recommends_as_evidence() -> None:
    """Numbers that a fix is worked out to be were never seen in the run."""
    recommended = {
        "steps_per_execution",
        "steps_between_waits",
        "combine_all_gather_bytes",
        "combine_all_reduce_bytes",
        "combine_reduce_scatter_bytes",
    }

    shown = {rule.id: recommended & {*rule.evidence} for rule in load_catalogue().rules}

    assert [one for one, found in shown.items() if found] == []
