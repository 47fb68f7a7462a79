"""`tfadvisor gate --against` on repositories whose programs hand out recorded traces:
exit codes, streams, what stays.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest
from support.places import ROOT
from support.processes import MARK, marked
from support.repositories import COMMAND, Repository

from tfadvisor.act.record.choosing import RecordRequest
from tfadvisor.act.record.running import recorded_program
from tfadvisor.act.record.started_program import Launch
from tfadvisor.analysis import Options
from tfadvisor.errors import TraceError

pytestmark = pytest.mark.slow


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Two commits of one program; the second launches two kernels a step instead of
    one.
    """
    made = Repository(tmp_path / "checkout")
    made.commit("one kernel", kernels=1)
    made.commit("two kernels", kernels=2)
    return made


def wait_for(what: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_1_a_commit_that_makes_the_step_worse(repository: Repository) -> None:
    code, out, err = repository.gate("--against", "HEAD~1", "--format", "json")

    verdict = json.loads(out)
    (kernels,) = (
        check for check in verdict["checks"] if check["name"] == "kernels_per_step"
    )
    assert code == 1
    assert (kernels["outcome"], kernels["base"], kernels["value"]) == ("fail", 1, 2)
    assert (
        verdict["gated"]["against"]
        == f"HEAD~1 {repository.git('rev-parse', 'HEAD~1')[:9]}"
    )
    assert verdict["gated"]["name"] == f"HEAD {repository.git('rev-parse', 'HEAD')[:9]}"
    assert "turn 1: HEAD 20 ms, HEAD~1 " in err
    assert "training starts" not in out + err
    assert repository.is_left_alone()


def test_0_and_4_the_same_program_twice(repository: Repository) -> None:
    """One turn cannot show that the step is as long as it was; whoever wants to know
    that it cannot is told by 4.
    """
    code, out, err = repository.gate("--against", "main")
    strict, _, _ = repository.gate("--against", "main", "--on-cannot-tell", "fail")

    assert (code, strict) == (0, 4)
    assert "1 run of each in turns, against main " in " ".join(out.split())
    assert "baseline accept" not in out
    assert "main and HEAD hold the same files: any difference is chance" in err


def test_3_a_head_that_fails_and_what_it_said(repository: Repository) -> None:
    (repository.folder / "train.py").write_text(
        "import jax\nraise SystemExit('no such layer: conv9')\n"
    )
    repository.commit("broken")

    code, out, err = repository.gate("--against", "HEAD~1")

    assert (code, out) == (3, "")
    assert "tfadvisor: | no such layer: conv9\n" in err
    assert err.splitlines()[-1].startswith(
        f"tfadvisor: HEAD {repository.git('rev-parse', 'HEAD')[:9]}: "
    )
    assert "ended with exit code 1" in err.splitlines()[-1]
    assert repository.is_left_alone()


def test_a_program_that_never_trains_is_ended(
    repository: Repository, tmp_path: Path
) -> None:
    program = [sys.executable, "-c", "import time; time.sleep(300)"]
    with (tmp_path / "log").open("wb") as log:
        place = Launch(tmp_path, repository.env, log, seconds=1.0)
        with (
            pytest.raises(
                TraceError,
                match="had no steps that could be recorded within 1 s, and was ended",
            ),
            recorded_program(program, RecordRequest(None, 20), Options(), place),
        ):
            pass


def test_what_an_arm_leaves_in_the_background_ends_with_it(
    repository: Repository, tmp_path: Path
) -> None:
    """In its own group, and in another session."""
    background = (
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(300)'], "
        "start_new_session={})"
    )
    program = (
        f"import subprocess, sys; {background.format(False)}; {background.format(True)}"
    )
    with marked() as group, (tmp_path / "log").open("wb") as log:
        place = Launch(
            tmp_path, {**repository.env, MARK: group.mark}, log, seconds=60.0
        )
        with (
            pytest.raises(TraceError),
            recorded_program(
                [sys.executable, "-c", program],
                RecordRequest(None, 20),
                Options(),
                place,
            ),
        ):
            pass

        assert group.left() == []


def test_uncommitted_changes_are_judged_and_told(repository: Repository) -> None:
    program = repository.folder / "train.py"
    program.write_text(program.read_text() + "# longer\n")

    code, _, err = repository.gate("--against", "HEAD")

    assert code == 0
    assert "HEAD is judged with its uncommitted changes (train.py)." in err
    assert repository.git("stash", "list") == ""
    assert program.read_text().endswith("# longer\n")


def test_the_command_runs_in_the_same_folder_of_each_tree(
    repository: Repository,
) -> None:
    inner = repository.folder / "research"
    inner.mkdir()
    (inner / "start.py").write_text(
        "import runpy\nrunpy.run_path('../train.py', run_name='__main__')\n"
    )
    repository.commit("from a folder")
    repository.commit("still")
    call = [
        str(COMMAND),
        "gate",
        "--against",
        "HEAD~1",
        "--budget",
        "1s",
        "--",
        sys.executable,
        "./start.py",
    ]

    done = subprocess.run(
        call, cwd=inner, env=repository.env, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--against", "mian"],
            "--against mian: no commit is called so in {folder}. Did you mean main?",
        ),
        (
            ["--against", "main", "--budget", "soon"],
            "--budget soon: give a time, e.g. 90s, 10m or 1h.",
        ),
        (
            ["--against", "main", "--budget", "0"],
            "--budget 0: give a time, e.g. 90s, 10m or 1h.",
        ),
        (
            ["--against", "main", "logdir"],
            "PATH is about runs that are recorded already; --against main records "
            "its own.",
        ),
        (
            ["--against", "main", "--add"],
            "--add is about runs that are recorded already; --against main records "
            "its own.",
        ),
        (
            ["--against", "main", "--steps", "1:2"],
            "--steps is about runs that are recorded already; --against main",
        ),
        (
            ["--against", "HEAD~1", "--link", "/etc"],
            "--link /etc: give a file or folder below",
        ),
        (
            ["--against", "HEAD~1", "--link", "../x"],
            "--link ../x: give a file or folder below",
        ),
    ],
)
def test_2_wrong_use(repository: Repository, arguments: list[str], said: str) -> None:
    running = repository.start(*arguments)
    out, err = running.communicate(timeout=60)

    assert (running.returncode, out) == (2, "")
    assert err.startswith(f"tfadvisor: {said.format(folder=repository.folder)}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["--against", "main"],
            "COMMAND is missing: tfadvisor gate --against main -- python train.py",
        ),
        (
            ["--against", "main", "--"],
            "COMMAND is missing: tfadvisor gate --against main -- python train.py",
        ),
        (["logdir", "--budget", "1m"], "--budget belongs to --against REF -- COMMAND"),
        (["logdir", "--link", "data"], "--link belongs to --against REF -- COMMAND"),
    ],
)
def test_2_half_of_it(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = subprocess.run(
        [str(COMMAND), "gate", *arguments],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert done.stderr.startswith(f"tfadvisor: {said}")


def test_2_a_program_that_is_not_there(repository: Repository) -> None:
    call = [str(COMMAND), "gate", "--against", "HEAD~1", "--", "no-such-program"]

    done = subprocess.run(
        call,
        cwd=repository.folder,
        env=repository.env,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert (
        "no-such-program cannot be started: No such file or directory." in done.stderr
    )
    assert repository.is_left_alone()


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_a_signal_leaves_no_work_tree_and_no_program(
    repository: Repository, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    """The program starts another one that trains, as launchers do."""
    told = tmp_path / "pids"
    text = f"""
        import os, subprocess, sys
        if len(sys.argv) == 1:
            sys.exit(subprocess.run([sys.executable, __file__, "worker"]).returncode)
        import jax
        open({str(told)!r}, "a").write(f"{{os.getpid()}} {{os.getcwd()}}\\n")
    """
    program = repository.folder / "train.py"
    program.write_text(dedent(text) + program.read_text())
    repository.commit("launches")
    running = repository.start("--against", "HEAD~1", "--budget", "10m")
    wait_for(lambda: told.exists() and told.read_text().count("\n") > 0)
    pid, folder = told.read_text().split("\n")[0].split(" ")
    time.sleep(0.3)

    running.send_signal(number)
    _, err = running.communicate(timeout=60)

    assert running.returncode == code, err
    assert (
        err.splitlines()[-1]
        == f"tfadvisor: {'interrupted' if code == 130 else 'terminated'}"
    )
    wait_for(lambda: not Path(f"/proc/{pid}").exists())
    assert not Path(folder).parent.exists()
    assert repository.is_left_alone()


@pytest.mark.slow
def test_git_bisect_finds_the_commit(tmp_path: Path) -> None:
    """The recipe of the docs. The fourth of six commits launches one kernel more; the
    fifth does not start.
    """
    repository = Repository(tmp_path / "checkout")
    repository.commit("1", kernels=1)
    repository.git("tag", "v1.0")
    for number in (2, 3):
        (repository.folder / "notes.txt").write_text(str(number))
        repository.commit(str(number))
    wrong = repository.commit("4", kernels=2)
    whole = (repository.folder / "train.py").read_text()
    (repository.folder / "train.py").write_text("import nothing_of_this_name\n")
    repository.commit("5")
    (repository.folder / "train.py").write_text(whole)
    repository.commit("6")
    (repository.folder / ".git" / "info" / "exclude").write_text("tfadvisor.toml\n")
    (repository.folder / "tfadvisor.toml").write_text(
        '[relative]\nstep_time_ms = { level = "off" }\n'
    )  # one turn
    script = recipe("git bisect run").replace("--budget 5m", "--budget 1s")
    path = os.pathsep.join([str(COMMAND.parent), os.environ["PATH"]])

    done = subprocess.run(
        ["bash", "-e", "-c", script],
        cwd=repository.folder,
        env={**repository.env, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{wrong} is the first bad commit" in done.stdout
    assert repository.git("worktree", "list").count("\n") == 0


def recipe(holding: str) -> str:
    """The shell block of the page that holds these words."""
    page = (ROOT / "docs" / "gate-against.md").read_text(encoding="utf-8")
    (found,) = (
        part.split("```")[0]
        for part in page.split("```sh\n")[1:]
        if holding in part.split("```")[0]
    )
    return dedent(found)
