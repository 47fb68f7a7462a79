"""What tfadvisor.toml says of rules, and which numbers `explain` lists."""

from __future__ import annotations

import pytest

from tfadvisor.cli.main import guarded_main


@pytest.fixture
def say(capsys, tmp_path, monkeypatch):
    """Runs the command in an empty folder and returns (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> tuple[int, str, str]:
        code = guarded_main([str(one) for one in arguments])
        return code, *capsys.readouterr()

    return run


def test_all_mistakes_of_the_file_are_told_at_once(say, tmp_path) -> None:
    """A rule that is not there, a key that a rule's table does not take, a level that
    is none, a table that is unknown.
    """
    (tmp_path / "tfadvisor.toml").write_text(
        "[rules.input-sequential-mp]\nlevel = 'off'\n[rules.few-steps]\n"
        "steps_counted = 3\nlevel = 'eror'\n"
        "[[override]]\nmodels = 'a'\n"
    )

    code, _, err = say("gate", "--check-config")

    assert code == 2
    assert [line.split(":")[2] for line in err.splitlines()] == ["1", "4", "5", "6"]
    assert "no rule has this name; did you mean input-sequential-map?" in err
    assert "override: is not known here." in err


def test_explain_lists_a_rules_limits_with_unit_and_meaning(say) -> None:
    _, out, _ = say("explain", "input-bound-steps")
    _, none, _ = say("explain", "no-step-markers")

    assert (
        "  input_bound_fraction-1  at least 5% (fraction)\n      Share of step time "
        "in which no device works" in out
    )
    assert "  input_bound_fraction-2  at least 25% (fraction)\n" in out
    assert "  input_wait_ms_per_step  at least 500 µs (ms)\n" in out
    assert "so it has no limit" in none
