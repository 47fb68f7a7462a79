"""The GitHub action, run as the runner runs it, by bash and by dash, which has nothing
that macOS' bash 3.2 has not.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.action import ACTION, Runner
from support.places import FIXTURES, ROOT
from support.repositories import FAKES, Repository

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).parent / "tfadvisor"
LOADER, HEALTHY = FIXTURES / "jax-loader", FIXTURES / "jax-healthy"
SHELLS = [one for one in ("bash", "dash") if shutil.which(one)]
TELLS = f"""#!{sys.executable}
import json, sys
with open({{log!r}}, "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
"""
PIP = """#!/bin/sh
if [ "$1" = -m ]; then shift; printf '%s\\n' "$*" >>"{log}"; else exec "{python}" "$@"; fi
"""


@pytest.fixture(params=SHELLS)
def runner(request: pytest.FixtureRequest, tmp_path: Path) -> Runner:
    """A job on a push, in which pip is asked and does nothing."""
    made = Runner(tmp_path, request.param)
    made.program("python3", PIP.format(log=tmp_path / "pip.log", python=sys.executable))
    (made.bin / "tfadvisor").symlink_to(COMMAND)
    return made


def asked_of_pip(runner: Runner) -> str:
    return (runner.temp.parent / "pip.log").read_text(encoding="utf-8")


def called(runner: Runner, **inputs: str) -> list[str]:
    """What the command is given."""
    log = runner.temp.parent / "calls"
    (runner.bin / "tfadvisor").unlink(missing_ok=True)
    runner.program("tfadvisor", TELLS.replace("{log!r}", repr(str(log))))
    done = runner.job(**inputs)
    assert done.code == 0, done.log
    (line,) = log.read_text(encoding="utf-8").splitlines()
    found: list[str] = json.loads(line)
    return found


def test_a_first_run_passes_and_leaves_a_summary(runner: Runner) -> None:
    done = runner.job(path=str(LOADER), arguments="--add")

    assert (done.code, done.outputs) == (0, {"exit-code": "0"})
    assert "1 run added to .tfadvisor/baselines" in done.log
    summary = Path(runner.env["GITHUB_STEP_SUMMARY"]).read_text(encoding="utf-8")
    assert summary.startswith("## ⚠️ PASSED, with warnings: ")


def test_a_failure_is_the_jobs_and_every_output_is_written(runner: Runner) -> None:
    (runner.checkout / "tfadvisor.toml").write_text(
        '[budgets]\ninput_bound_fraction = "5%"\n'
    )

    done = runner.job(path=str(LOADER), junit="gate.xml")

    assert (done.code, done.outputs) == (1, {"exit-code": "1"})
    assert (
        "::error file=tfadvisor.toml,line=2,title=tfadvisor%3A input_bound_fraction::"
        in done.log
    )
    assert (runner.checkout / "gate.xml").exists()


def test_the_checkout_is_installed_by_default(runner: Runner) -> None:
    runner.job(path=str(HEALTHY))

    assert asked_of_pip(runner) == f"pip install --quiet {ROOT}\n"


def test_a_pinned_version_comes_from_the_index(runner: Runner) -> None:
    runner.job(path=str(HEALTHY), install="index", version="0.2.0rc1")

    assert asked_of_pip(runner) == "pip install --quiet tfadvisor==0.2.0rc1\n"


@pytest.mark.parametrize(
    ("inputs", "said"),
    [
        ({"install": "index"}, "version must be an exact one, such as 0.1.0, not ''."),
        (
            {"install": "index", "version": ">=0.1"},
            "version must be an exact one, such as 0.1.0, not '>=0.1'.",
        ),
        (
            {"install": "index", "version": "0.1 evil"},
            "version must be an exact one, such as 0.1.0, not '0.1 evil'.",
        ),
        (
            {"install": "chekout"},
            "install is 'chekout', and must be checkout, index or false.",
        ),
    ],
)
def test_nothing_unpinned_is_installed(
    runner: Runner, inputs: dict[str, str], said: str
) -> None:
    done = runner.job(path=str(HEALTHY), **inputs)

    assert done.code == 2
    assert f"::error::tfadvisor: {said}" in done.log or said in done.log
    assert not (runner.temp.parent / "pip.log").exists()
    assert done.outputs == {}


def test_nothing_is_installed_where_it_is_there(runner: Runner) -> None:
    assert runner.job(path=str(HEALTHY), install="false").code == 0
    assert not (runner.temp.parent / "pip.log").exists()


def test_every_input_reaches_the_command(runner: Runner) -> None:
    temp = runner.temp

    assert called(
        runner,
        path="log dir",
        candidates="run 1\n\nrun2",
        baseline="base line",
        config="my config.toml",
        model="résnet 50",
        junit="c.xml",
        arguments="--add",
    ) == [
        "gate",
        f"--comment={temp}/tfadvisor-comment.md",
        "--config=my config.toml",
        "--model=résnet 50",
        "--junit=c.xml",
        "--candidates=run 1",
        "--candidates=run2",
        "--baseline=base line",
        "--add",
        "log dir",
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--label \"data=set 2\" --label 'a=b c'", ["--label", "data=set 2", "--label", "a=b c"]),
        ("--label a\\ b --add", ["--label", "a b", "--add"]),
        ("--add\n  --label x=1\n", ["--add", "--label", "x=1"]),
        ('"$(touch evil)" `touch evil` $HOME ; | * ~', ["$(touch evil)", "`touch", "evil`", *"$HOME ; | * ~".split()]),
        ("'it'\"'\"'s'", ["it's"]),
        ("''", [""]),
    ],
)  # fmt: skip
def test_arguments_have_quotes_and_never_become_commands(
    runner: Runner, arguments: str, words: list[str]
) -> None:
    given = called(runner, path="p", arguments=arguments)

    assert given[3:-1] == words
    assert not (runner.checkout / "evil").exists()


def test_other_inputs_never_become_commands_either(runner: Runner) -> None:
    nasty = "\"; touch evil; $(touch evil) `touch evil` '\\"

    given = called(
        runner, path=nasty, model=nasty, config=nasty, baseline=nasty, candidates=nasty
    )

    assert given[-1] == nasty
    assert f"--model={nasty}" in given
    assert f"--candidates={nasty}" in given
    assert not (runner.checkout / "evil").exists()


def test_a_quote_that_is_not_closed_is_told(runner: Runner) -> None:
    done = runner.job(path="p", arguments="--label 'a")

    assert done.code == 2
    assert (
        '::error::tfadvisor: arguments: No closing quotation in: "--label \'a"'
        in done.log
    )


def test_against_takes_a_command_with_quotes(runner: Runner) -> None:
    given = called(
        runner,
        against="origin/main",
        command="python train.py --name 'a b' --add",
        budget="5m",
    )

    assert given[2:] == [
        "--against=origin/main",
        "--budget=5m",
        "--",
        "python",
        "train.py",
        "--name",
        "a b",
        "--add",
    ]


def test_against_records_and_judges(runner: Runner) -> None:
    """For real, but for the framework: the second commit launches a kernel more."""
    shutil.rmtree(runner.checkout)
    repository = Repository(runner.checkout)
    repository.commit("one kernel", kernels=1)
    repository.commit("two kernels", kernels=2)
    runner.env |= {"PYTHONPATH": str(FAKES), "FAKE_LOG": os.devnull}

    done = runner.job(
        against="HEAD~1", command=f"'{sys.executable}' train.py", budget="1s"
    )

    assert (done.code, done.outputs) == (1, {"exit-code": "1"})
    assert repository.is_left_alone()


GH = """#!/usr/bin/env python3
import json, os, sys
arguments = sys.argv[1:]
with open({log!r}, "a") as log:
    log.write(json.dumps([*arguments, os.environ.get("GH_TOKEN"), os.environ.get("MARK")]) + "\\n")
if {fails}:
    sys.exit("HTTP 403: Resource not accessible by integration")
if "--paginate" in arguments:
    print({own!r})
"""


def commenting(
    runner: Runner, own: str = "", *, fails: bool = False
) -> tuple[int, list[list[str]], str]:
    """A job of pull request 12, in which gh knows these comments. (exit code, calls of
    gh, log).
    """
    log = runner.temp.parent / "gh.log"
    log.unlink(missing_ok=True)
    runner.github |= {
        "event_name": "pull_request",
        "event": {"pull_request": {"number": 12}},
    }
    runner.program("gh", GH.format(log=str(log), own=own, fails=fails))
    done = runner.job(path=str(LOADER), model="small net")
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    return done.code, [json.loads(line) for line in lines], done.log


def test_a_first_verdict_becomes_a_comment(runner: Runner) -> None:
    code, (search, write), _ = commenting(runner)

    file = runner.temp / "tfadvisor-comment.md"
    mark = "<!-- tfadvisor gate small.net -->"
    assert code == 0
    assert search[:3] == [
        "api",
        "--paginate",
        "repos/somebody/model/issues/12/comments",
    ]
    assert search[-2:] == ["a-token", mark]
    assert write[:-2] == [
        *("api", "--method", "POST", "repos/somebody/model/issues/12/comments"),
        *("--field", f"body=@{file}", "--silent"),
    ]
    assert file.read_text(encoding="utf-8").splitlines()[:2] == [
        mark,
        file.read_text(encoding="utf-8").splitlines()[1],
    ]
    assert (
        file.read_text(encoding="utf-8")
        .splitlines()[1]
        .startswith("## ⚠️ PASSED, with warnings: ")
    )


def test_later_verdicts_replace_it(runner: Runner) -> None:
    _, (_, write), _ = commenting(runner, own="555\n556")

    assert write[:4] == [
        "api",
        "--method",
        "PATCH",
        "repos/somebody/model/issues/comments/555",
    ]


def test_a_fork_may_not_comment_and_is_judged_all_the_same(runner: Runner) -> None:
    code, calls, log = commenting(runner, fails=True)

    assert (code, len(calls)) == (0, 1)
    assert (
        "::notice::tfadvisor: the pull request got no comment; that takes "
        "permissions: pull-requests: write" in log
    )


def test_only_a_pull_request_gets_a_comment(runner: Runner) -> None:
    runner.program("gh", "#!/bin/sh\nexit 9\n")

    assert "no comment" not in runner.job(path=str(LOADER)).log


def test_without_a_verdict_there_is_no_comment(runner: Runner) -> None:
    runner.github |= {
        "event_name": "pull_request",
        "event": {"pull_request": {"number": 12}},
    }
    runner.program("gh", "#!/bin/sh\nexit 9\n")

    done = runner.job(path="no such folder")

    assert done.code == 3
    assert "no comment" not in done.log


def test_the_filter_finds_the_bots_own_comment() -> None:
    """The jq program, by jq itself, on what GitHub answers."""
    if shutil.which("jq") is None:
        pytest.skip("jq is not installed")
    (script,) = (
        step["run"]
        for step in ACTION["runs"]["steps"]
        if step["name"] == "Comment on the pull request"
    )
    program = script.split("--jq '")[1].split("'")[0]
    mark = "<!-- tfadvisor gate x -->"
    comments = [
        {"id": 1, "user": {"type": "User"}, "body": f"{mark}\nnot ours"},
        {"id": 2, "user": {"type": "Bot"}, "body": "another bot's"},
        {"id": 3, "user": {"type": "Bot"}, "body": f"{mark}\n## verdict"},
        {
            "id": 4,
            "user": {"type": "Bot"},
            "body": "<!-- tfadvisor gate y -->\n## of another model",
        },
    ]

    found = subprocess.run(
        ["jq", program],
        input=json.dumps(comments),
        env={**os.environ, "MARK": mark},
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout == "3\n"


def test_actions_are_named_by_commit_as_in_the_workflows() -> None:
    workflows = "".join(
        file.read_text(encoding="utf-8")
        for file in (ROOT / ".github" / "workflows").glob("*.yml")
    )

    for step in ACTION["runs"]["steps"]:
        assert "uses" not in step or step["uses"] in workflows


def test_no_input_is_put_into_a_script() -> None:
    assert all("${{" not in step.get("run", "") for step in ACTION["runs"]["steps"])
