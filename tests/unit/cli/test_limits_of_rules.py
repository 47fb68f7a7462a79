"""Numbers of rules that the user sets: by --set, by tfadvisor.toml, and what reports say of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.places import FIXTURES

import tfadvisor
from tfadvisor.cli.main import guarded_main

MAP = FIXTURES / "tf-sequential-map"
"""Steps wait for their input 95% of their time; the rule asks for 5%."""
RULE = "input-sequential-map"
TABLE = f'[rules.{RULE}]\ninput_bound_fraction = "99.5%"\n'


@pytest.fixture
def say(capsys, tmp_path, monkeypatch):
    """Runs the command in an empty folder and returns (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)
    for name in ("GITHUB_ACTIONS", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object) -> tuple[int, str, str]:
        code = guarded_main([str(one) for one in arguments])
        return code, *capsys.readouterr()

    return run


def rules_of(text: str) -> list[str]:
    return [one["rule_id"] for one in json.loads(text)["findings"]]


def test_a_limit_of_the_command_line_silences_a_rule_and_the_report_says_so(say) -> None:
    _, as_shipped, _ = say("analyze", MAP, "-f", "json")
    code, changed, _ = say("analyze", MAP, "-f", "json", "--set", f"{RULE}.input_bound_fraction=99.5%")

    assert code == 0
    assert RULE in rules_of(as_shipped)
    assert "changed_limits" not in json.loads(as_shipped)
    assert RULE not in rules_of(changed)
    assert json.loads(changed)["changed_limits"] == [
        {
            "rule_id": RULE,
            "limit": "input_bound_fraction",
            "metric": "input_bound_fraction",
            "comparison": "at least",
            "value": 0.995,
            "shipped": 0.05,
            "unit": "fraction",
            "said": f"--set {RULE}.input_bound_fraction=99.5%",
        }
    ]


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_every_form_says_it_under_about_this_trace(say, tmp_path: Path, form: str) -> None:
    (tmp_path / "tfadvisor.toml").write_text(TABLE)

    _, out, _ = say("analyze", MAP, "-f", form)

    told = " ".join(out.replace("\\", "").split())
    assert f"{RULE} is judged by a limit that was set: input_bound_fraction at least 99.5%, shipped with 5%" in told
    assert "tfadvisor.toml:2" in told


def test_analyze_gate_and_python_take_the_same_table(say, tmp_path: Path) -> None:
    (tmp_path / "tfadvisor.toml").write_text(f'preset = "none"\n{TABLE}level = "error"\n')

    analyzed, gated = say("analyze", MAP, "-f", "json"), say("gate", MAP)
    report = tfadvisor.analyze(MAP, limits={RULE: {"input_bound_fraction": "99.5%"}})

    assert RULE not in rules_of(analyzed[1])
    assert gated[0] == 0
    assert RULE not in [one.rule_id for one in report.findings]
    assert "99.5%" in report._repr_html_()


def test_the_command_line_wins_over_the_file_and_another_file_over_the_nearest(say, tmp_path: Path) -> None:
    (tmp_path / "tfadvisor.toml").write_text(f'preset = "none"\n{TABLE}level = "error"\n')
    (tmp_path / "other.toml").write_text("keep = 3\n")

    back = say("gate", MAP, "--set", f"{RULE}.input_bound_fraction=5%")
    other = say("analyze", MAP, "--config", tmp_path / "other.toml", "-f", "json")

    assert back[0] == 1
    assert RULE in rules_of(other[1])


def test_all_mistakes_of_the_file_are_told_at_once_by_both_commands(say, tmp_path: Path) -> None:
    (tmp_path / "tfadvisor.toml").write_text(
        "[rules.input-sequential-mp]\ninput_bound_fraction = 0.1\n[rules.few-steps]\nsteps_countd = 3\nlevel = 'eror'\n"
        "[[override]]\nmodels = 'a'\n"
    )

    analyzed, checked = say("analyze", MAP), say("gate", "--check-config")

    assert (analyzed[0], analyzed[1]) == (2, "")
    assert "tfadvisor.toml:2: no rule has the id input-sequential-mp. Did you mean input-sequential-map?" in analyzed[2]
    assert "tfadvisor.toml:4: few-steps has no limit steps_countd. Did you mean steps_counted?" in analyzed[2]
    assert checked[0] == 2
    assert [line.split(":")[2] for line in checked[2].splitlines()] == ["2", "4", "5", "6"]
    assert "override: is not known here." in checked[2]


@pytest.mark.parametrize("text", ["foo", "few-steps=3", "few-steps.=3", "few-steps.steps_counted", ".a=3"])
def test_set_wants_a_rule_a_limit_and_a_value(say, text: str) -> None:
    code, _, err = say("analyze", MAP, "--set", text)

    assert code == 2
    assert f"--set {text}: give RULE.LIMIT=VALUE" in err


def test_nothing_is_started_where_a_limit_is_wrong(say, tmp_path: Path) -> None:
    code, _, err = say("run", "--set", "few-steps.steps_count=3", "--", "touch", tmp_path / "started")

    assert code == 2
    assert "few-steps has no limit steps_count. Did you mean steps_counted?" in err
    assert not (tmp_path / "started").exists()


def test_show_lists_a_rules_limits_with_default_unit_and_meaning(say) -> None:
    _, out, _ = say("rules", "show", "input-bound-steps")
    _, none, _ = say("rules", "show", "no-step-markers")

    assert "--set input-bound-steps.LIMIT=VALUE or below [rules.input-bound-steps] in tfadvisor.toml" in out
    assert "  input_bound_fraction-1  at least 5% (fraction)\n      Share of step time in which no device works" in out
    assert "  input_bound_fraction-2  at least 25% (fraction)\n" in out
    assert "  input_wait_ms_per_step  at least 500 µs (ms)\n" in out
    assert "so it has no limit to set" in none
