"""Rules and metrics of other people's packages: found by name, reported when broken, never in the others' way."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import FIXTURES, RULES

from tfadvisor.advice.loading.packages import (
    RulePackage,
    _groups,
    folder_of,
    import_metrics,
    installed_packages,
    package_named,
)
from tfadvisor.errors import RuleError

TRACE = FIXTURES / "jax-logging"
RULE = (RULES / "capture" / "few-steps.yaml").read_text()
METRICS = '''
from tfadvisor.metrics.registry import metric
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better

@metric(unit=Unit.COUNT, better=Better.NEITHER)
def acme_hosts(question):
    """Hosts of the run, as acme counts them."""
    return len(question.run.hosts)
'''
ENTRY_POINTS = """[console_scripts]
acme = acme:main

[tfadvisor.rules]
acme = acme_rules

[tfadvisor.metrics]
acme = acme_metrics
"""


def rule(name: str, condition: str = "{metric: acme_hosts, at_least: 1}") -> str:
    return re.sub(r"\{metric: steps_counted, below: 3.*?\}", condition, RULE.replace("id: few-steps", f"id: {name}"))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A place on PYTHONPATH with one distribution: a rule that needs a metric of its own."""
    distribution = tmp_path / "tfadvisor_acme-1.0.dist-info"
    distribution.mkdir()
    (distribution / "entry_points.txt").write_text(ENTRY_POINTS)
    (tmp_path / "acme_rules").mkdir()
    (tmp_path / "acme_rules" / "__init__.py").write_text("")
    (tmp_path / "acme_rules" / "acme-rule.yaml").write_text(rule("acme-rule"))
    (tmp_path / "acme_metrics.py").write_text(METRICS)
    return tmp_path


def command(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from tfadvisor.cli.main import guarded_main; sys.exit(guarded_main(sys.argv[1:]))"
    environment = {**os.environ, "PYTHONPATH": str(place)}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=place,
    )


def analysis(place: Path, *arguments: str) -> tuple[int, dict[str, object]]:
    done = command(place, "analyze", str(TRACE), "--format", "json", *arguments)
    return done.returncode, json.loads(done.stdout)


def findings(report: dict[str, object]) -> list[str]:
    return [one["rule_id"] for one in report["findings"]]


def test_the_groups_of_an_entry_points_file() -> None:
    found = _groups("# by hand\n[a.b]\nx = module.sub:attribute [extra]\n y=other\n\n[c]\n")

    assert found == {"a.b": [("x", "module.sub"), ("y", "other")], "c": []}


def test_a_distribution_of_our_name_is_found_by_itself(place: Path) -> None:
    assert installed_packages([str(place)]) == [RulePackage("acme", "acme_rules", ("acme_metrics",))]
    assert installed_packages([str(place / "nowhere")]) == []


def test_any_other_is_found_by_its_entry_points_name(place: Path) -> None:
    (place / "tfadvisor_acme-1.0.dist-info").rename(place / "acme_things-1.0.dist-info")

    assert installed_packages([str(place)]) == []
    assert package_named("acme", [str(place)]) == RulePackage("acme", "acme_rules", ("acme_metrics",))
    assert package_named("other", [str(place)]) is None


def test_its_rule_fires_on_its_metric_beside_the_built_in_ones(place: Path) -> None:
    code, report = analysis(place)

    assert code == 0
    assert {"acme-rule", "host-work-in-loop"} <= set(findings(report))
    assert report["metrics"]["acme_hosts"]["value"] == 1


def test_its_rule_is_listed_shown_paged_and_left_out_like_any_other(place: Path, tmp_path: Path) -> None:
    assert "acme-rule" in command(place, "rules", "list").stdout
    assert "too few whole steps" in command(place, "rules", "show", "acme-rule").stdout
    assert command(place, "rules", "docs", "--out", str(tmp_path / "pages")).returncode == 0
    assert (tmp_path / "pages" / "acme-rule.md").exists()
    assert "acme-rule" not in findings(analysis(place, "--disable", "acme-rule")[1])


def test_a_package_of_another_name_is_asked_for(place: Path) -> None:
    (place / "tfadvisor_acme-1.0.dist-info").rename(place / "acme_things-1.0.dist-info")

    assert "acme-rule" not in findings(analysis(place)[1])
    assert "acme-rule" in findings(analysis(place, "--rules", "acme")[1])


def test_no_such_folder_and_no_such_package_is_a_usage_error(place: Path) -> None:
    done = command(place, "analyze", str(TRACE), "--rules", "nothing")

    assert done.returncode == 2
    assert "no such folder, and no installed rule package" in done.stderr


def broken(report: dict[str, object]) -> str:
    return " ".join(one["error"] for one in report["broken"])


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("acme_metrics.py", "import no_such_module", "cannot register its metrics: ModuleNotFoundError"),
        ("acme_metrics.py", "raise SystemError('half installed')", "cannot register its metrics: SystemError"),
        ("acme_metrics.py", "", "no metric or fact is called 'acme_hosts'"),
        ("acme_rules/acme-rule.yaml", "id: [", "is not valid YAML"),
        ("acme_rules/acme-rule.yaml", rule("few-steps"), "already taken"),
        ("tfadvisor_acme-1.0.dist-info/entry_points.txt", "[tfadvisor.rules]\nacme = gone", "is not a folder"),
        ("tfadvisor_acme-1.0.dist-info/entry_points.txt", "[tfadvisor.rules]\nacme = acme_metrics", "is not a folder"),
        ("tfadvisor_acme-1.0.dist-info/entry_points.txt", "[tfadvisor.rules]\nacme = gone.rules", "cannot be found"),
    ],
)
def test_a_broken_package_is_reported_and_the_rest_still_runs(place: Path, file: str, text: str, told: str) -> None:
    (place / file).write_text(text)

    code, report = analysis(place)

    assert code == 5
    assert told in broken(report)
    assert "host-work-in-loop" in findings(report)


def test_a_metric_of_a_package_that_breaks_is_reported(place: Path) -> None:
    (place / "acme_metrics.py").write_text(METRICS.replace("len(question.run.hosts)", "1 / 0"))

    code, report = analysis(place)

    assert code == 5
    assert "ZeroDivisionError" in broken(report)
    assert "host-work-in-loop" in findings(report)


def test_metrics_alone_serve_a_folder_of_rules(place: Path, tmp_path: Path) -> None:
    (place / "tfadvisor_acme-1.0.dist-info" / "entry_points.txt").write_text(
        "[tfadvisor.metrics]\nacme = acme_metrics\n"
    )
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "mine.yaml").write_text(rule("mine"))

    assert "mine" in findings(analysis(place, "--rules", str(folder))[1])


def test_a_namespace_package_needs_no_init(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (place / "acme_rules" / "__init__.py").unlink()
    monkeypatch.syspath_prepend(str(place))

    assert folder_of(RulePackage("acme", "acme_rules", ())) == place / "acme_rules"


def test_errors_name_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuleError, match="rule package acme"):
        import_metrics(RulePackage("acme", "", ("no_such_module_at_all",)))
