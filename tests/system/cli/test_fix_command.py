"""`tfadvisor fix` as it is installed: what it prints, what it writes, what it
refuses.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from support.places import FIXTURES

pytestmark = pytest.mark.slow

COMMAND = Path(sys.executable).parent / "tfadvisor"
SLOW = FIXTURES / "tf-no-prefetch"
LINE = "batches = iter(dataset.with_options(options).prefetch(tf.data.AUTOTUNE))"


def fix(
    *arguments: object, cwd: Path, env: dict[str, str] | None = None, trace: Path = SLOW
) -> subprocess.CompletedProcess[str]:
    command = [str(COMMAND), "fix", str(trace), *map(str, arguments)]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env={**os.environ, **(env or {})},
    )


def git(folder: Path, *arguments: str, given: str | None = None) -> str:
    name = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(
        ["git", *name, *arguments],
        cwd=folder,
        input=given,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A work tree of git with the program that the trace was recorded from."""
    folder = tmp_path / "project"
    folder.mkdir()
    shutil.copy(SLOW / "program.py", folder / "program.py")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "a program")
    return folder


def test_a_diff_on_stdout_a_line_on_stderr_and_nothing_written(project: Path) -> None:
    done = fix(cwd=project)

    assert done.returncode == 0
    assert f"+{LINE}\n" in done.stdout
    assert (
        "input-not-prefetched: program.py:34: prefetch at the end of the pipeline "
        "(mechanical; results stay" in done.stderr
    )
    assert git(project, "status", "--porcelain") == ""


def test_a_copy_of_the_program_that_did_not_run_is_no_place(
    project: Path, tmp_path: Path
) -> None:
    """Both hold the fault, so that without what the recording notes either may be
    meant.
    """
    text = (project / "program.py").read_text()
    (project / "copy.py").write_text(f"{text}# a copy\n")
    logdir = tmp_path / "logdir"
    shutil.copytree(SLOW, logdir)
    noted = ["/gone/program.py", sha256(text.encode()).hexdigest(), False]
    note = logdir / "trace.sources.json"

    note.write_text(json.dumps({"version": 1, "files": []}))
    either = fix(cwd=project, trace=logdir)
    note.write_text(json.dumps({"version": 1, "files": [noted]}))
    done = fix(cwd=project, trace=logdir)

    assert (either.returncode, done.returncode) == (4, 0)
    assert "+++ b/program.py\n" in done.stdout
    assert "not noted by the recording, and left alone: copy.py." in done.stderr


def test_git_takes_the_diff(project: Path) -> None:
    git(project, "apply", given=fix("--source", "program.py", cwd=project).stdout)

    assert LINE in (project / "program.py").read_text()


def test_git_takes_the_diff_of_a_folder_below(project: Path) -> None:
    (project / "below").mkdir()
    git(project, "mv", "program.py", "below/program.py")

    git(project, "apply", given=fix("--source", "below", cwd=project).stdout)

    assert LINE in (project / "below" / "program.py").read_text()


def test_apply_writes_it_and_git_takes_it_back(project: Path) -> None:
    (project / "program.py").chmod(0o755)
    git(project, "commit", "-aqm", "to be run")

    done = fix("--apply", cwd=project)

    assert (done.returncode, done.stdout) == (0, "")
    assert LINE in (project / "program.py").read_text()
    assert (project / "program.py").stat().st_mode & 0o777 == 0o755
    git(project, "checkout", ".")
    assert git(project, "status", "--porcelain") == ""


def test_apply_wants_a_clean_work_tree(project: Path) -> None:
    text = (project / "program.py").read_text() + "# mine\n"
    (project / "program.py").write_text(text)

    done = fix("--apply", cwd=project)

    assert done.returncode == 2
    assert "clean git work tree" in done.stderr
    assert (project / "program.py").read_text() == text


def test_apply_wants_git_at_all(tmp_path: Path) -> None:
    shutil.copy(SLOW / "program.py", tmp_path / "program.py")

    done = fix(
        "--apply", cwd=tmp_path, env={"GIT_CEILING_DIRECTORIES": str(tmp_path.parent)}
    )

    assert done.returncode == 2
    assert "is in none" in done.stderr


def test_apply_wants_a_file_that_git_knows(project: Path) -> None:
    git(project, "rm", "-q", "--cached", "program.py")
    git(project, "commit", "-qm", "forgotten")

    assert "is not added" in fix("--apply", cwd=project).stderr


@pytest.mark.skipif(
    os.name == "nt" or not hasattr(os, "geteuid") or os.geteuid() == 0,
    reason="root may write anything",
)
def test_apply_leaves_a_read_only_file(project: Path) -> None:
    (project / "program.py").chmod(0o444)

    assert "read-only" in fix("--apply", cwd=project).stderr


def test_a_place_where_nothing_can_be_patched_exits_with_4(tmp_path: Path) -> None:
    done = fix(cwd=tmp_path)

    assert (done.returncode, done.stdout) == (4, "")
    assert "no patch" in done.stderr


def test_several_places_are_asked_about_and_at_chooses(project: Path) -> None:
    shutil.copy(project / "program.py", project / "second.py")

    asked = fix("--rule", "input-not-prefetched", cwd=project)
    chosen = fix("--rule", "input-not-prefetched", "--at", "second.py:34", cwd=project)

    assert (asked.returncode, asked.stdout) == (4, "")
    assert "program.py:34" in asked.stderr and "second.py:34" in asked.stderr
    assert chosen.returncode == 0
    assert chosen.stdout.startswith("--- a/second.py")


def test_the_report_with_the_patch_in_its_fix(project: Path) -> None:
    report = json.loads(fix("--format", "json", cwd=project).stdout)

    finding = next(
        one for one in report["findings"] if one["rule_id"] == "input-not-prefetched"
    )
    patch = finding["fixes"][0]["patch"]
    assert {name: patch[name] for name in ("file", "sure", "check")} == {
        "file": "program.py",
        "sure": "mechanical",
        "check": "batches",
    }
    assert LINE in patch["diff"]
    assert all(
        "patch" not in fix
        for one in report["findings"]
        if one is not finding
        for fix in one["fixes"]
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--rule", "input-not-prefetch"), "Did you mean input-not-prefetched?"),
        (("--at", "program.py"), "a file and a line"),
        (("--diff", "--apply"), "Give one of them"),
        (("--source", "missing"), "no such file or folder"),
    ],
)
def test_mistakes_exit_with_2_and_say_what_to_do(
    project: Path, arguments: tuple[str, ...], says: str
) -> None:
    done = fix(*arguments, cwd=project)

    assert done.returncode == 2
    assert says in done.stderr


def test_a_file_that_is_nested_without_end_costs_one_line(project: Path) -> None:
    (project / "odd.py").write_text(
        "import jax\nif a == 0:\n    f()\n" + "elif a == 1:\n    f()\n" * 1500
    )

    done = fix(cwd=project)

    assert done.returncode == 0
    assert f"+{LINE}\n" in done.stdout
    assert (
        "odd.py is left alone: its statements or expressions are nested too deeply\n"
        in done.stderr
    )


STEPS = """
import tensorflow as tf
dataset = tf.data.Dataset.range(9).map(abs)
for number in range(100):
    {line}
"""
FAKE = """
class Data:
    def range(self, count):
        return self
    def map(self, function, num_parallel_calls=None):
        if {refuses} and num_parallel_calls is not None:
            raise TypeError("no such argument")
        return self
    Dataset = property(lambda self: self)
    AUTOTUNE = -1
data = Data()
"""


@pytest.mark.parametrize(
    ("refuses", "line", "code", "said"),
    [
        (
            False,
            "time.sleep(0.01)",
            0,
            "checked: the patched program comes through its first steps.",
        ),
        (
            True,
            "time.sleep(0.01)",
            3,
            "the patched program fails: it ended with exit code 1: TypeError: no "
            "such argument.",
        ),
        (
            False,
            "raise OSError('full')",
            3,
            "the program fails without any patch: it ended with exit code 1: "
            "OSError: full.",
        ),
    ],
)
def test_a_patch_that_breaks_the_first_step_is_caught(
    tmp_path: Path, refuses: bool, line: str, code: int, said: str
) -> None:
    """The program has a map that is not parallel; its framework is made up."""
    (tmp_path / "program.py").write_text("import time\n" + STEPS.format(line=line))
    (tmp_path / "tensorflow.py").write_text(FAKE.format(refuses=refuses))
    before = (tmp_path / "program.py").read_text()
    given = [
        "--rule",
        "input-not-prefetched",
        "--rule",
        "input-sequential-map",
        "--source",
        "program.py",
        "--check",
    ]
    command = [
        str(COMMAND),
        "fix",
        str(FIXTURES / "tf-sequential-map"),
        *given,
        "--",
        sys.executable,
        "program.py",
    ]

    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120
    )

    assert (done.returncode, said in done.stderr) == (code, True), done.stderr
    assert (tmp_path / "program.py").read_text() == before


def test_check_and_its_command_go_together(project: Path) -> None:
    for given in (("--check",), ("--", "python", "program.py")):
        done = fix(*given, cwd=project)

        assert (
            done.returncode,
            "--check and the command go together" in done.stderr,
        ) == (2, True)
