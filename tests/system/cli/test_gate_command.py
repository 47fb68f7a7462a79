"""The installed commands `gate`, `baseline` and `compare`: exit codes, streams,
files.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from support.places import FIXTURES, ROOT
from support.trace_builder import TraceBuilder, trace

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).parent / "tfadvisor"
LOADER = FIXTURES / "jax-loader"
HEALTHY = FIXTURES / "jax-healthy"
CI = (
    "GITHUB_ACTIONS",
    "GITHUB_STEP_SUMMARY",
    "GITHUB_SHA",
    "GITHUB_REF_NAME",
    "GITHUB_HEAD_REF",
    "NO_COLOR",
)


def tfadvisor(
    *arguments: object, cwd: Path, env: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """The command in an empty environment of CI variables."""
    return subprocess.run(
        [str(COMMAND), *map(str, arguments)],
        capture_output=True,
        text=True,
        env={
            **{name: value for name, value in os.environ.items() if name not in CI},
            **(env or {}),
        },
        cwd=cwd,
        check=False,
    )


def built(
    busy: float = 60.0, period: float = 100.0, kernels: int = 1, step: float = 0.0
) -> TraceBuilder:
    """Six steps of some kernels on one GPU; step: how much longer the last one takes,
    to tell runs apart.
    """
    builder = trace()
    start = 0.0
    for number in range(6):
        length = period + (step if number == 5 else 0.0)
        builder.step(start, start + length)
        for kernel in range(kernels):
            begin = start + kernel * busy / kernels
            builder.busy(
                "GPU:0", (begin, begin + busy / kernels), name=f"kernel_{kernel}"
            )
        start += length
    return builder


def flat(text: str) -> str:
    """Without the line breaks of a terminal."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def six_runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline of six runs, all of 100 µs a step."""
    place = tmp_path_factory.mktemp("baseline")
    runs = [
        built(step=number / 10).write(place / f"base{number}") for number in range(6)
    ]
    added = tfadvisor("baseline", "add", *runs, "--store", "store", cwd=place)
    assert added.returncode == 0, added.stderr
    assert added.stdout.count("added default") == 6
    return place / "store"


@pytest.fixture
def store(six_runs: Path, tmp_path: Path) -> Path:
    """That baseline, for one test alone."""
    return Path(shutil.copytree(six_runs, tmp_path / "store"))


def test_0_a_first_run_passes_with_a_notice(tmp_path: Path) -> None:
    done = tfadvisor("gate", HEALTHY, "--baseline", "nowhere", cwd=tmp_path)

    assert done.returncode == 0
    assert "PASS" in done.stdout
    assert "no run of model default to compare" in " ".join(done.stdout.split())
    assert done.stderr == ""
    assert list(tmp_path.iterdir()) == []


def test_0_an_unchanged_run_passes(store: Path) -> None:
    run = built(step=0.35).write(store.parent / "new")

    done = tfadvisor("gate", run, "--baseline", store, cwd=store.parent)

    assert done.returncode == 0, done.stdout
    assert "\n  detects          step_time_ms +" in done.stdout


def test_1_a_slower_run_fails_and_says_why(store: Path) -> None:
    run = built(busy=90, period=130).write(store.parent / "new")

    done = tfadvisor("gate", run, "--baseline", store, cwd=store.parent)

    assert done.returncode == 1
    assert "step_time_ms rose by 30%" in done.stdout
    assert "kernel_0: 60 µs → 90 µs per step" in done.stdout
    assert "baseline accept" in done.stdout


def test_1_one_kernel_more_fails(store: Path) -> None:
    run = built(kernels=2).write(store.parent / "new")

    done = tfadvisor("gate", run, "--baseline", store, cwd=store.parent)

    assert done.returncode == 1
    assert "kernels_per_step rose by 100% (1 → 2)" in done.stdout


def test_1_over_budget_fails_without_any_baseline(tmp_path: Path) -> None:
    (tmp_path / "tfadvisor.toml").write_text('[budgets]\ninput_bound_fraction = "5%"\n')

    done = tfadvisor("gate", LOADER, cwd=tmp_path)

    assert done.returncode == 1
    assert "over the budget of 5.0%" in done.stdout


def test_1_a_rule_at_error_fails(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.tfadvisor.rules]\n"input-*" = "error"\n'
    )

    done = tfadvisor("gate", LOADER, cwd=tmp_path)

    assert done.returncode == 1
    assert "The training loop loads its own batch" in done.stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ["gate"],
        ["gate", HEALTHY, "--format", "prose"],
        ["gate", HEALTHY, "--preset", "fast"],
        ["gate", HEALTHY, "--on-inconclusive", "maybe"],
        ["gate", HEALTHY, "--config", "absent.toml"],
        ["gate", HEALTHY, "--label", "batch"],
        ["gate", HEALTHY, "--junit", HEALTHY / "gate.xml"],
        ["gate", HEALTHY, "--junit", "no/such/folder/gate.xml"],
        ["gate", HEALTHY, "--run", "nowhere"],
        ["gate", HEALTHY, "--baseline", HEALTHY / "program.py"],
        ["gate", HEALTHY, "--candidates"],
        ["baseline"],
        ["baseline", "add"],
        ["baseline", "add", HEALTHY, "--keep", "0"],
        ["baseline", "accept"],
        ["compare"],
        ["compare", HEALTHY],
        ["compare", HEALTHY, LOADER, "--format", "pdf"],
        ["compare", HEALTHY, LOADER, "-o", HEALTHY / "x.md"],
    ],
    ids=lambda arguments: " ".join(Path(str(one)).name for one in arguments),
)
def test_2_wrong_use(arguments: list[object], tmp_path: Path) -> None:
    done = tfadvisor(*arguments, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("tfadvisor: ")
    assert "Traceback" not in done.stderr


def test_2_a_wrong_configuration_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "tfadvisor.toml").write_text("[relative]\n\nstep_time = 0.05\n")

    done = tfadvisor("gate", HEALTHY, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(
        r"tfadvisor\.toml:3: relative\.step_time: no metric has this name; did you "
        r"mean step_time_ms\?",
        done.stderr,
    )


@pytest.mark.parametrize("what", ["absent", "empty", "text", "cut"])
def test_3_a_broken_trace_is_never_a_regression(store: Path, what: str) -> None:
    path = store.parent / "new.xplane.pb"
    data = gzip.decompress((HEALTHY / "trace.xplane.pb.gz").read_bytes())
    contents = {
        "empty": b"",
        "text": b"step,loss\n1,0.5\n" * 50,
        "cut": data[: len(data) // 2],
    }
    if what in contents:
        path.write_bytes(contents[what])

    done = tfadvisor("gate", path, "--baseline", store, cwd=store.parent)

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("tfadvisor: ")


def test_3_a_broken_candidate(store: Path) -> None:
    run = built(step=0.35).write(store.parent / "new")
    (store.parent / "bad.xplane.pb").write_bytes(b"\xff" * 100)

    assert (
        tfadvisor(
            "gate",
            run,
            "--candidates",
            "bad.xplane.pb",
            "--baseline",
            store,
            cwd=store.parent,
        ).returncode
        == 3
    )


def test_3_a_store_of_which_nothing_can_be_used(store: Path) -> None:
    for file in store.rglob("*.json"):
        file.write_text(file.read_text()[:-30])

    done = tfadvisor("gate", HEALTHY, "--baseline", store, cwd=store.parent)

    assert done.returncode == 3
    assert "none of its snapshots can be used" in done.stderr
    assert done.stderr.count("left out of the baseline") == 6


def test_4_another_machine_is_not_comparable(store: Path) -> None:
    done = tfadvisor("gate", HEALTHY, "--baseline", store, cwd=store.parent)

    assert done.returncode == 4
    assert "CANNOT TELL" in done.stdout
    assert "devices: 1 gpu in the baseline, 1 cpu now" in flat(done.stdout)


def test_4_a_trace_is_not_its_own_baseline(tmp_path: Path) -> None:
    run = built().write(tmp_path / "run")
    assert (
        tfadvisor("baseline", "add", run, "--store", "store", cwd=tmp_path).returncode
        == 0
    )

    done = tfadvisor("gate", run, "--baseline", "store", cwd=tmp_path)

    assert done.returncode == 4
    assert (
        flat(done.stdout).count("the baseline holds only this trace") == 2
    )  # the headline and one line for all metrics
    assert "step_time_ms and 12 more: not comparable" in flat(done.stdout)


def test_4_too_little_is_known_to_judge_a_small_change(tmp_path: Path) -> None:
    tfadvisor(
        "baseline",
        "add",
        built().write(tmp_path / "base"),
        "--store",
        "store",
        cwd=tmp_path,
    )
    run = built(busy=70, period=110).write(tmp_path / "new")

    done = tfadvisor(
        "gate", run, "--baseline", "store", "--on-cannot-tell", "fail", cwd=tmp_path
    )
    assert done.returncode == 4
    assert (
        "1 baseline run cannot show yet how much runs differ. Add 4 more runs."
        in flat(done.stdout)
    )

    (tmp_path / "tfadvisor.toml").write_text('on_cannot_tell = "fail"\n')
    assert tfadvisor("gate", run, "--baseline", "store", cwd=tmp_path).returncode == 4


def test_0_ten_unchanged_runs_through_the_recipe_are_ten_in_the_store(
    tmp_path: Path,
) -> None:
    """Each run is gated against those before it and added: steps of 100 µs, the last
    one longer by 0.0 to 0.9 µs.
    """
    for number in range(10):
        run = built(step=number / 10).write(tmp_path / f"run{number}")
        done = tfadvisor("gate", run, "--baseline", "store", "--add", cwd=tmp_path)
        assert done.returncode == 0, done.stdout

    assert len(list((tmp_path / "store").glob("default/*.json"))) == 10


def test_0_one_more_kernel_a_step_is_seen_at_the_second_run(tmp_path: Path) -> None:
    tfadvisor(
        "gate",
        built().write(tmp_path / "first"),
        "--baseline",
        "store",
        "--add",
        cwd=tmp_path,
    )

    done = tfadvisor(
        "gate",
        built(kernels=2).write(tmp_path / "more"),
        "--baseline",
        "store",
        "--add",
        cwd=tmp_path,
    )

    assert done.returncode == 1
    assert "kernels_per_step rose by" in flat(done.stdout)
    assert len(list((tmp_path / "store").glob("default/*.json"))) == 1


def test_0_a_faster_run_passes_and_is_offered_as_the_new_baseline(store: Path) -> None:
    """A third off the step, where six runs agree to a tenth of a percent."""
    run = built(busy=40, period=67).write(store.parent / "faster")

    done = tfadvisor("gate", run, "--baseline", "store", cwd=store.parent)

    assert done.returncode == 0
    assert "`tfadvisor baseline accept` makes it what later runs are held to" in flat(
        done.stdout + done.stderr
    )


def test_4_comparing_with_a_trace_that_holds_no_step(tmp_path: Path) -> None:
    nothing = trace().call("something", 0, 0).write(tmp_path / "nothing")

    done = tfadvisor("compare", HEALTHY, nothing, cwd=tmp_path)

    assert (done.returncode, done.stdout) in ((4, ""), (3, ""))
    assert done.stderr.startswith("tfadvisor: ")


def test_5_a_broken_rule_is_told_and_the_rest_is_judged(store: Path) -> None:
    rules = store.parent / "rules"
    rules.mkdir()
    (rules / "broken.yaml").write_text("id: broken\ncategory: nonsense\n")
    same = built(step=0.35).write(store.parent / "new")
    slower = built(busy=90, period=130).write(store.parent / "slower")

    done = tfadvisor(
        "gate", same, "--baseline", store, "--rules", rules, cwd=store.parent
    )
    assert done.returncode == 5
    assert "BROKEN" in done.stdout
    assert "broken.yaml:1: title: is missing" in flat(done.stdout)

    assert (
        tfadvisor(
            "gate", slower, "--baseline", store, "--rules", rules, cwd=store.parent
        ).returncode
        == 1
    )


def test_several_runs_are_judged_together(store: Path) -> None:
    runs = [
        built(busy=90, period=130, step=number / 10).write(
            store.parent / f"new{number}"
        )
        for number in range(4)
    ]

    done = tfadvisor(
        "gate",
        runs[0],
        "--candidates",
        *runs[1:],
        runs[1],
        "--baseline",
        store,
        "-f",
        "json",
        cwd=store.parent,
    )

    assert done.returncode == 1
    assert json.loads(done.stdout)["gated"]["candidates"] == 4
    assert "is a copy of another candidate" in done.stderr


def test_a_logdir_can_be_the_baseline(tmp_path: Path) -> None:
    for number in range(6):
        built(step=number / 10).write(
            tmp_path
            / "logs"
            / "plugins"
            / "profile"
            / f"2026_01_0{number + 1}_00_00_00"
        )
    run = built(busy=90, period=130).write(tmp_path / "new")

    done = tfadvisor(
        "gate", run, "--baseline", "logs", "--format", "json", cwd=tmp_path
    )

    assert done.returncode == 1
    assert json.loads(done.stdout)["runs"] == 6


def test_accepting_what_failed(store: Path) -> None:
    run = built(busy=90, period=130).write(store.parent / "new")
    again = built(busy=90, period=130, step=0.2).write(store.parent / "again")
    assert tfadvisor("gate", run, "--baseline", store, cwd=store.parent).returncode == 1

    accepted = tfadvisor(
        "baseline",
        "accept",
        "--store",
        store,
        "--reason",
        "larger batch",
        cwd=store.parent,
    )
    assert (accepted.returncode, accepted.stdout.count("accepted default")) == (0, 1)

    listed = json.loads(
        tfadvisor(
            "baseline", "list", "--store", store, "-f", "json", cwd=store.parent
        ).stdout
    )
    assert [(one["level"], one["note"]) for one in listed][-1] == (1, "larger batch")
    assert tfadvisor(
        "gate", again, "--baseline", store, cwd=store.parent
    ).returncode in (0, 4)
    assert (
        tfadvisor("baseline", "accept", "--store", store, cwd=store.parent).returncode
        == 2
    )


def test_a_passing_run_can_be_added(store: Path) -> None:
    run = built(step=0.35).write(store.parent / "new")
    slower = built(busy=90, period=130).write(store.parent / "slower")

    done = tfadvisor("gate", run, "--baseline", store, "--add", cwd=store.parent)
    assert "1 run added" in done.stderr
    tfadvisor("gate", slower, "--baseline", store, "--add", cwd=store.parent)

    assert len(list((store / "default").glob("*.json"))) == 7


def test_baseline_list_is_a_table_with_a_head(store: Path) -> None:
    head, *lines = tfadvisor(
        "baseline", "list", "--store", store, cwd=store.parent
    ).stdout.splitlines()

    assert head.split() == [
        "RUN",
        "MODEL",
        "MACHINE",
        "DEVICES",
        "FRAMEWORK",
        "STEP",
        "STEPS",
        "LEVEL",
    ]
    assert len(lines) == 6
    assert all(line[head.index("MODEL") :].startswith("default ") for line in lines)
    shortest = [line.split()[0] for line in lines]
    assert len(set(shortest)) == 6
    assert all(
        name.startswith(one)
        for name, one in zip(names_in(store), sorted(shortest), strict=True)
    )
    assert (
        tfadvisor("baseline", "list", "--store", "none", cwd=store.parent).returncode
        == 0
    )


def test_all_forms_and_files_at_once(store: Path) -> None:
    run = built(busy=90, period=130).write(store.parent / "new")
    files = ["--junit", "j.xml", "--comment", "c.md"]

    done = tfadvisor(
        "gate",
        run,
        "--baseline",
        store,
        "-f",
        "markdown",
        "-o",
        "o.md",
        *files,
        cwd=store.parent,
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert "wrote j.xml (junit), c.md (comment).\n" in done.stderr
    assert "wrote o.md (markdown).\n" in done.stderr
    assert (store.parent / "o.md").read_text().startswith("## ❌ FAIL")
    assert ElementTree.parse(store.parent / "j.xml").find(".//failure") is not None
    assert (store.parent / "c.md").read_text().startswith("<!-- tfadvisor gate ")


def test_on_github_there_are_annotations_and_a_summary(store: Path) -> None:
    run = built(busy=90, period=130).write(store.parent / "new")
    summary = store.parent / "summary.md"
    summary.write_text("before\n")

    done = tfadvisor(
        "gate", run, "--baseline", store, "-f", "json", cwd=store.parent,
        env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)},
    )  # fmt: skip

    assert json.loads(done.stdout)["exit_code"] == done.returncode == 1
    assert (
        "::error title=tfadvisor%3A step_time_ms::step_time_ms rose by 30%25"
        in done.stderr
    )
    assert summary.read_text().startswith("before\n## ❌ FAIL")


def test_a_comment(store: Path) -> None:
    run = built(busy=90, period=130).write(store.parent / "new")

    done = tfadvisor(
        "gate", run, "--baseline", store, "--comment", "comment.md", cwd=store.parent
    )

    comment = (store.parent / "comment.md").read_text(encoding="utf-8").splitlines()
    assert done.returncode == 1
    assert comment[0] == "<!-- tfadvisor gate default -->"
    assert comment[1].startswith("## ❌ FAILED: step\\_time\\_ms rose by 30%")


def test_an_annotation_points_to_the_line_that_asks(tmp_path: Path) -> None:
    (tmp_path / "tfadvisor.toml").write_text("[budgets]\ninput_bound_fraction = 0.05\n")

    done = tfadvisor("gate", LOADER, cwd=tmp_path, env={"GITHUB_ACTIONS": "true"})

    assert (
        "::error file=tfadvisor.toml,line=2,title=tfadvisor%3A input_bound_fraction::"
        in done.stderr
    )


def test_the_gate_writes_nothing_into_what_it_judges(store: Path) -> None:
    run = built(busy=90, period=130).write(store.parent / "new")
    before = sorted((path, path.stat().st_mtime_ns) for path in run.rglob("*"))

    tfadvisor("gate", run, "--baseline", store, cwd=run)

    assert sorted((path, path.stat().st_mtime_ns) for path in run.rglob("*")) == before


def test_the_same_call_says_the_same(store: Path) -> None:
    run = built(busy=90, period=130).write(store.parent / "new")

    one, other = (
        tfadvisor(
            "gate", run, "--baseline", store, "-f", "json", cwd=store.parent
        ).stdout
        for _ in range(2)
    )

    assert one == other


def test_check_config_reads_no_trace(tmp_path: Path) -> None:
    (tmp_path / "tfadvisor.toml").write_text('preset = "none"\n')
    assert tfadvisor("gate", "--check-config", cwd=tmp_path).returncode == 0

    (tmp_path / "tfadvisor.toml").write_text('preset = "nome"\n')
    assert tfadvisor("gate", "--check-config", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize("form", ["text", "html"])
def test_runs_that_are_not_comparable_end_with_4(tmp_path: Path, form: str) -> None:
    done = tfadvisor(
        "compare",
        HEALTHY,
        FIXTURES / "tf-python-map",
        "--format",
        form,
        "-o",
        "change",
        cwd=tmp_path,
    )

    assert done.returncode == 4
    words = "framework: jax in the baseline, tensorflow now"
    assert words in (tmp_path / "change").read_text(encoding="utf-8")


def test_compare_in_its_forms(tmp_path: Path) -> None:
    text = tfadvisor("compare", HEALTHY, LOADER, cwd=tmp_path)
    assert text.returncode == 0
    assert "The step takes 36.0 ms (93%) less" in text.stdout

    plain = json.loads(
        tfadvisor("compare", HEALTHY, LOADER, "--format", "json", cwd=tmp_path).stdout
    )
    assert sum(cause["change_ms"] for cause in plain["causes"]) == pytest.approx(
        plain["change_ms"]
    )

    done = tfadvisor(
        "compare",
        HEALTHY,
        LOADER,
        "--format",
        "markdown",
        "-o",
        "change.md",
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert (tmp_path / "change.md").read_text().startswith("## The step takes")


def test_compare_runs_of_one_logdir(tmp_path: Path) -> None:
    for name, busy in (("2026_01_01_00_00_00", 60), ("2026_01_02_00_00_00", 90)):
        built(busy=busy, period=busy + 40).write(
            tmp_path / "logs" / "plugins" / "profile" / name
        )

    done = tfadvisor(
        "compare",
        "logs",
        "logs",
        "--base-run",
        "2026_01_01_00_00_00",
        "-f",
        "json",
        cwd=tmp_path,
    )

    assert json.loads(done.stdout)["change_ms"] == pytest.approx(0.03)
    assert "this is the newest" in done.stderr


@pytest.mark.parametrize(
    "command",
    [["gate"], ["compare"], ["baseline"], ["baseline", "add"], ["baseline", "accept"]],
)
def test_help_teaches(command: list[str], tmp_path: Path) -> None:
    done = tfadvisor(*command, "--help", cwd=tmp_path)

    assert done.returncode == 0
    if len(command) == 1:
        assert "Examples:" in done.stdout
        assert "Exit codes:" in done.stdout


def test_starting_analyze_loads_none_of_it(tmp_path: Path) -> None:
    """In a folder without a configuration."""
    code = (
        "import sys; from tfadvisor.cli.main import guarded_main; "
        f"guarded_main(['analyze', {str(LOADER)!r}, '--format', 'json']); "
        "print([name for name in sys.modules if "
        "name.startswith(('tfadvisor.comparison.gate', 'tfadvisor.comparison'))], "
        "file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stderr.strip() == "[]"


def test_the_pre_commit_hooks_call_what_exists() -> None:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())

    assert {hook["id"] for hook in hooks} == {"tfadvisor-config", "tfadvisor-gate"}
    for hook in hooks:
        assert hook["entry"].startswith("tfadvisor gate")
        assert hook["language"] == "python"


def names_in(store: Path) -> list[str]:
    return sorted(file.stem for file in store.glob("default/*.json"))


def test_a_run_is_shown_removed_and_the_oldest_are_pruned(store: Path) -> None:
    first, *rest = names_in(store)
    shown = tfadvisor("baseline", "show", first, "--store", store, cwd=store.parent)
    assert shown.returncode == 0
    assert "step_time_ms" in shown.stdout
    metrics = json.loads(
        tfadvisor(
            "baseline", "show", first, "--store", store, "-f", "json", cwd=store.parent
        ).stdout
    )
    assert metrics["metrics"]["kernels_per_step"] == 1

    removed = tfadvisor("baseline", "remove", first, "--store", store, cwd=store.parent)
    assert (removed.returncode, names_in(store)) == (0, rest)

    pruned = tfadvisor(
        "baseline", "prune", "--keep", "2", "--store", store, cwd=store.parent
    )
    assert pruned.stdout.count("removed default") == 3
    assert len(names_in(store)) == 2


def test_a_run_is_known_by_its_commit_and_branch(tmp_path: Path) -> None:
    """Two of main, one of another branch."""
    commits = [letter * 40 for letter in "abc"]
    for number, (commit, branch) in enumerate(
        zip(commits, ("main", "main", "faster"), strict=True)
    ):
        run = built(busy=60 + number, step=number / 10).write(tmp_path / f"run{number}")
        env = {"GITHUB_SHA": commit, "GITHUB_REF_NAME": branch}
        done = tfadvisor(
            "gate", run, "--baseline", "store", "--add", cwd=tmp_path, env=env
        )
        assert done.returncode == 0, done.stdout

    head, *lines = tfadvisor(
        "baseline", "list", "--store", "store", cwd=tmp_path
    ).stdout.splitlines()
    assert [line[head.index("COMMIT") :].split()[:2] for line in lines] == [
        ["aaaaaaaaaa", "main"],
        ["bbbbbbbbbb", "main"],
        ["cccccccccc", "faster"],
    ]

    tfadvisor("baseline", "prune", "--keep", "1", "--store", "store", cwd=tmp_path)
    left = json.loads(
        tfadvisor(
            "baseline", "list", "--store", "store", "-f", "json", cwd=tmp_path
        ).stdout
    )
    assert [one["commit"] for one in left] == commits[2:]


@pytest.mark.parametrize(
    ("name", "why"), [("undated", "fits 6 runs"), ("nothing-such", "is no run of it")]
)
def test_2_a_name_that_fits_no_run_or_several_takes_none(
    store: Path, name: str, why: str
) -> None:
    done = tfadvisor("baseline", "remove", name, "--store", store, cwd=store.parent)

    assert done.returncode == 2
    assert why in flat(done.stderr)
    assert len(names_in(store)) == 6
