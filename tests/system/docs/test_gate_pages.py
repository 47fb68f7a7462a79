"""Every command of the pages about the gate works as it stands there, in a fresh clone
of a repository whose framework is a fake.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.action import Runner
from support.places import FIXTURES, ROOT
from support.repositories import COMMAND, FAKES, Repository

PAGES = ("gate", "baselines", "gate-against", "gate-in-ci", "compare")
PAGE = "\n".join(
    (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in PAGES
)
NAMES = ("20260131T1200", "4f1c2aa", "9be0d31")
"""Of runs, on these pages."""
BISECT = "git bisect run"
"""Run by tests/system/act/against/test_gate_against.py, on a repository with something
to find.
"""
WRITES_A_LOGDIR = f"""
import argparse, os, pathlib, shutil
parser = argparse.ArgumentParser()
parser.add_argument("--logdir")
parser.add_argument("--epochs")
logdir = parser.parse_args().logdir
if logdir:
    shutil.copytree({str(FIXTURES / "jax-loader")!r}, pathlib.Path(logdir) / "plugins" / "profile" / "run")
    raise SystemExit
"""
"""What `python train.py --logdir logdir` does in place of training; without a logdir it
trains for ever.
"""

pytestmark = pytest.mark.slow


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


def in_code_spans() -> list[str]:
    """Commands inside sentences, but for bare names and names of arguments."""
    text = re.sub(r"^```.*?^```", "", PAGE, flags=re.DOTALL | re.MULTILINE)
    spans = re.findall(r"`(tfadvisor [^`]+)`", text)
    return [
        one
        for one in dict.fromkeys(spans)
        if "BASE NEW" not in one and one.count(" ") > 1
    ]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A fresh clone, with recorded runs in it that git does not track."""
    origin = Repository(tmp_path / "origin")
    program = origin.folder / "train.py"
    program.write_text(WRITES_A_LOGDIR + program.read_text())
    origin.commit("first", kernels=1)
    origin.git("tag", "v1.0")
    origin.git("clone", "--quiet", str(origin.folder), str(tmp_path / "clone"))
    return tmp_path / "clone"


def with_runs(clone: Path) -> Path:
    for name, fixture in (
        ("logdir", "jax-logging"),
        ("before", "jax-healthy"),
        ("after", "jax-loader"),
    ):
        shutil.copytree(FIXTURES / fixture, clone / name)
    return clone


def environment() -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("GITHUB_", "CI_"))
    }
    path = os.pathsep.join(
        [str(Path(sys.executable).parent), str(COMMAND.parent), os.environ["PATH"]]
    )
    return {**kept, "PATH": path, "PYTHONPATH": str(FAKES), "FAKE_LOG": os.devnull}


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """By bash, which stops at the first command that fails. Ten minutes of recording
    are a second here.
    """
    return subprocess.run(
        ["bash", "-e", "-c", script.replace("--budget 10m", "--budget 1s")],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("script", [one for one in blocks("sh") if BISECT not in one])
def test_shell_blocks(script: str, clone: Path) -> None:
    """Line by line; each judges a run that is newer than the last one's. The second is
    another program, so the gate may fail.
    """
    if "--against" not in script:
        with_runs(clone)
    if "history" in script or NAMES[0] in script:
        run("tfadvisor baseline add logdir before --store baselines", clone)
    for number, line in enumerate(script.splitlines()):
        if number == 1:
            shutil.copytree(
                FIXTURES / "jax-loader", clone / "logdir", dirs_exist_ok=True
            )

        done = run(with_real_names(line, clone / "baselines"), clone)

        verdicts = (0, 1) if line.startswith("tfadvisor gate logdir") else (0,)
        assert done.returncode in verdicts, done.stdout + done.stderr


def with_real_names(line: str, store: Path) -> str:
    """The names of runs on the page are replaced by those of the store's first and
    last.
    """
    kept = sorted(one.stem.rpartition("-")[0] for one in store.glob("*/*.json"))
    files = sorted(str(one.relative_to(store.parent)) for one in store.glob("*/*.json"))
    for name, index in (
        ("baselines/default/A.json", 0),
        ("baselines/default/B.json", -1),
    ):
        line = line.replace(name, files[index] if files else name)
    for name, index in zip(NAMES, (0, 0, -1), strict=True):
        line = line.replace(name, kept[index] if kept else name)
    return line


@pytest.mark.parametrize("command", in_code_spans())
def test_commands_in_sentences(command: str, clone: Path) -> None:
    """`baseline accept` takes what the gate judged last."""
    first = (
        "tfadvisor gate before --baseline .tfadvisor/baselines --add && tfadvisor "
        "gate after || true"
    )
    assert run(first, with_runs(clone)).returncode == 0

    done = run(command, clone)

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "job", [yaml.safe_load(one) for one in blocks("yaml") if "steps:" in one]
)
def test_github(job: Mapping[str, Any], clone: Path, tmp_path: Path) -> None:
    """The steps that run something; the page's expression is what a push to main makes
    of it.
    """
    runner = Runner(tmp_path / "runner", "bash")
    runner.checkout = clone
    runner.program("pip", "#!/bin/sh\n")
    runner.env |= environment() | {
        "PATH": os.pathsep.join([str(runner.bin), environment()["PATH"]])
    }
    for step in job["steps"]:
        if "run" in step:
            assert run(step["run"], clone).returncode == 0
        elif "tfadvisor" in step["uses"]:
            inputs = {
                name: re.sub(r"\$\{\{.*?\}\}", "--add", str(value))
                for name, value in step["with"].items()
            }
            done = runner.job(**{**inputs, "install": "false", "budget": "1s"})
            assert done.code == 0, done.log


def test_gitlab(clone: Path) -> None:
    ((name, job),) = next(
        yaml.safe_load(one) for one in blocks("yaml") if "script:" in one
    ).items()

    done = run("\n".join(job["script"]), clone)

    assert done.returncode == 0, done.stdout + done.stderr
    for file in job["artifacts"]["reports"].values():
        assert (clone / file).exists(), (name, file)


def test_jenkins(clone: Path) -> None:
    (pipeline,) = blocks("groovy")

    scripts = re.findall(r"(?:sh|script:) '([^']+)'", pipeline)
    done = run("\n".join(scripts), clone)

    assert len(scripts) == 2
    assert done.returncode == 0, done.stdout + done.stderr
    assert all(
        (clone / one).exists() for one in re.findall(r"junit '([^']+)'", pipeline)
    )


def test_pre_commit(clone: Path) -> None:
    hooks = {
        hook["id"]: hook
        for hook in yaml.safe_load(
            (ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
        )
    }
    (asked,) = next(yaml.safe_load(one) for one in blocks("yaml") if "hooks:" in one)

    for hook in asked["hooks"]:
        done = run(
            " ".join(
                [hooks[hook["id"]]["entry"], *map(shlex.quote, hook.get("args", []))]
            ),
            with_runs_once(clone),
        )
        assert done.returncode == 0, done.stdout + done.stderr


def with_runs_once(clone: Path) -> Path:
    return clone if (clone / "logdir").exists() else with_runs(clone)


def test_nothing_on_the_pages_is_forgotten() -> None:
    """Each block is of a kind that a test here runs, or output."""
    kinds = re.findall(r"^```(\w*)\n", PAGE, re.MULTILINE)

    assert {*kinds} - {""} == {"sh", "yaml", "groovy"}
    assert len(blocks("yaml")) == 4
    assert any(BISECT in one for one in blocks("sh"))
