"""A new user's first hour, command by command: no traceback, no dead end, no word that
the style forbids.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from support.places import FIXTURES, ROOT

pytestmark = pytest.mark.slow

TASKS = (ROOT / "docs" / "tasks.md").read_text(encoding="utf-8")
NOTEBOOKS = (ROOT / "docs" / "notebooks.md").read_text(encoding="utf-8")
COMMAND = Path(sys.executable).parent / "tfadvisor"


class User:
    """Someone at a terminal in an empty folder, who has a clone and a program."""

    def __init__(
        self, folder: Path, command: Path = COMMAND, **environment: str
    ) -> None:
        self.folder, self.command = folder, command
        self.environment: Mapping[str, str] = {
            **os.environ,
            "COLUMNS": "110",
            **environment,
        }
        self.said: list[tuple[str, str]] = []

    def types(self, line: str, *codes: int) -> str:
        """What a command says, which ends with one of the codes, with 0 where none is
        named. `tfadvisor` is the installed one.
        """
        name, *words = line.split()
        call = [str(self.command) if name == "tfadvisor" else name, *words]
        done = subprocess.run(
            call,
            check=False,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=600,
        )
        said = done.stdout + done.stderr
        assert done.returncode in (codes or (0,)), (
            f"{line}: exit code {done.returncode}\n{said}"
        )
        assert "Traceback" not in said, f"{line}:\n{said}"
        self.said.append((line, said))
        return said


@pytest.fixture
def user(tmp_path: Path) -> User:
    shutil.copytree(FIXTURES / "jax-loader", tmp_path / "logdir")
    (tmp_path / "logdir" / "program.py").rename(tmp_path / "program.py")
    shutil.copytree(FIXTURES / "jax-healthy", tmp_path / "after")
    return User(tmp_path)


def forbidden(
    said: list[tuple[str, str]], monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """What the style calls an error in outputs; code, which the style leaves alone in
    pages too, is indented there.
    """
    monkeypatch.syspath_prepend(ROOT / "docs")
    words = import_module("lint_words")
    prose = [
        words.Text(line, 1, re.sub(r"(?m)^ {6,}\S.*$", "", text))
        for line, text in said
        if "--format json" not in line
    ]
    return [
        f"{one.place}: {one.message}"
        for one in words.lint(prose, words.read_style(words.STYLE))
        if one.level == "error"
    ]


def blocks(page: str, language: str) -> list[str]:
    """The blocks of code of a page."""
    return re.findall(rf"```{language}\n(.*?)```", page, re.DOTALL)


def test_what_needs_no_framework(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    told = user.types("tfadvisor analyze logdir")
    assert "INPUT-BOUND" in told
    assert "load_batch" in told
    user.types("tfadvisor analyze logdir --details")
    assert len(user.types("tfadvisor analyze logdir --format brief").encode()) <= 2048
    user.types("tfadvisor analyze logdir -o report.html")
    user.types("tfadvisor explain input_bound_fraction")
    user.types("tfadvisor explain input-loader-in-step")
    user.types("tfadvisor compare logdir after")
    user.types("tfadvisor flags check --xla_gpu_autotune_level=4")
    user.types("tfadvisor gate after --baseline baselines --add")
    user.types("tfadvisor baseline list --store baselines")
    user.types("tfadvisor baseline history --store baselines -o history.html")
    user.types("tfadvisor export logdir --to perfetto -o timeline.json.gz")
    user.types("tfadvisor analyse logdir", 2)
    user.types("tfadvisor analyze nothing-here", 3)

    assert (user.folder / "report.html").stat().st_size < 1_500_000
    assert forbidden(user.said, monkeypatch) == []


def test_a_finding_is_ignored_as_the_task_says(user: User) -> None:
    assert "[input-loader-in-step]" not in user.types("tfadvisor analyze logdir")
    assert "input-loader-in-step" in user.types("tfadvisor analyze logdir --details")
    (user.folder / ".git").mkdir()
    (user.folder / "tfadvisor.toml").write_text(blocks(TASKS, "toml")[0])

    told = user.types("tfadvisor analyze logdir --details")

    assert "The training loop loads its own batch" not in told
    assert "input-loader-in-step: ignored until 2026-12-31" in told


def test_a_rule_is_written_as_the_guide_says(user: User) -> None:
    folder = user.folder / "my-rules"
    folder.mkdir()
    guide = (ROOT / "rules" / "README.md").read_text(encoding="utf-8")
    cases, rule = blocks(guide, "yaml")
    (folder / "slow-steps-vary.cases.yaml").write_text(cases)
    (folder / "slow-steps-vary.yaml").write_text(rule)

    assert "1 rule, 4 cases, 0 failures" in user.types(
        "tfadvisor rules check my-rules/"
    )
    user.types("tfadvisor analyze logdir --rules my-rules/")


def test_cells_of_a_notebook_run_as_the_page_says(user: User) -> None:
    """Beside a fake of JAX, whose profiler hands out a recorded trace. A `%` is
    IPython's own.
    """
    trace = user.folder / "given.pb"
    trace.write_bytes(
        gzip.decompress((user.folder / "logdir" / "trace.xplane.pb.gz").read_bytes())
    )
    cells = blocks(NOTEBOOKS, "python")[:2]
    assert re.findall(r"(?m)^%.*", "".join(cells)) == ["%pip install -q ./tfadvisor"]
    program = "import jax\ndef train(steps): print(steps)\n" + re.sub(
        r"(?m)^%.*", "", "".join(cells)
    )
    (user.folder / "cells.py").write_text(program)
    fakes = ROOT / "tests" / "system" / "act" / "record" / "fake_frameworks"
    places = {
        "PYTHONPATH": str(fakes),
        "FAKE_TRACE": str(trace),
        "FAKE_LOG": str(user.folder / "log"),
    }
    user.environment = {**user.environment, **places}

    told = user.types(f"{sys.executable} cells.py")

    assert told.startswith("20\n")
    assert "INPUT-BOUND" in told
    assert "load_batch" in told


def test_every_command_of_the_tasks_is_there(user: User) -> None:
    named = set(re.findall(r"(?m)^(?:srun |\.venv/bin/)?tfadvisor (\w+)", TASKS))

    assert {"analyze", "run", "fix", "try", "gate"} <= named
    for name in sorted(named):
        user.types(f"tfadvisor {name} --help")


def told_by_tab(user: User, logdir: str) -> dict[str, Any]:
    """The newest run's report, as TensorBoard's tab gets it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    call = [
        sys.executable,
        "-m",
        "tensorboard.main",
        "--logdir",
        logdir,
        "--port",
        str(port),
    ]
    with subprocess.Popen(
        call, cwd=user.folder, env=user.environment, stderr=subprocess.DEVNULL
    ) as server:
        try:
            runs = asked(port, "runs")["runs"]
            return asked(port, f"report?run={quote(runs[0]['name'])}")
        finally:
            server.terminate()


def asked(port: int, what: str, seconds: float = 60) -> dict[str, Any]:
    """What the plugin answers, as soon as it does."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            with urlopen(
                f"http://127.0.0.1:{port}/data/plugin/tfadvisor/{what}", timeout=seconds
            ) as answer:
                found: dict[str, Any] = json.load(answer)
                return found
        except URLError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)


@pytest.mark.nightly
def test_the_whole_hour_from_a_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clone, install, analyze, run, fix, try, gate, tab; needs JAX in this environment,
    whose packages the new one sees.
    """
    pytest.importorskip("jax", reason="JAX is not installed")
    git = shutil.which("git")
    assert git is not None
    subprocess.run([git, "clone", "--quiet", ROOT, tmp_path / "clone"], check=True)
    place = tmp_path / "installed"
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--target",
        place,
        tmp_path / "clone",
    ]
    subprocess.run(install, check=True, capture_output=True)
    shutil.copy(FIXTURES / "jax-loader" / "program.py", tmp_path / "train.py")
    text = (tmp_path / "train.py").read_text()
    text = (
        text.split("params = train(params, 3)")[0] + "train(params, 400)\n"
    )  # it records itself no more
    (tmp_path / "train.py").write_text(text)
    path = os.pathsep.join([str(place), os.environ.get("PYTHONPATH", "")])
    user = User(
        tmp_path, place / "bin" / "tfadvisor", PYTHONPATH=path, JAX_PLATFORMS="cpu"
    )
    python = sys.executable

    assert "HOST-BOUND" in user.types("tfadvisor analyze clone/fixtures/jax-logging")
    assert "load_batch" in user.types(
        f"tfadvisor run --out logdir -- {python} train.py"
    )
    patch = user.types("tfadvisor fix logdir --source .")
    assert patch.count("+++ ") == 1
    user.types(
        f"tfadvisor try --from logdir --source . --budget 60s -- {python} train.py",
        0,
        1,
        4,
    )
    assert "git apply" in user.types(
        "tfadvisor fix logdir --source train.py --apply", 2
    )  # the folder is in no work tree
    patch = user.types("tfadvisor fix logdir --source train.py").partition(
        "tfadvisor: "
    )[0]
    subprocess.run([git, "apply"], check=True, cwd=tmp_path, input=patch, text=True)
    assert "loss.block_until_ready()" not in (tmp_path / "train.py").read_text()
    user.types("tfadvisor gate logdir --baseline baselines --add")
    user.types(f"tfadvisor run --out later -- {python} train.py")
    user.types("tfadvisor gate later --baseline baselines")
    verdict = told_by_tab(user, "logdir")["verdict"]
    assert verdict["bottleneck"] == "input"

    assert forbidden(user.said, monkeypatch) == []
