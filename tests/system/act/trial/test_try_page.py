"""Every command of docs/try.md and docs/ablate.md, run; and the result that the first
shows.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import FIXTURES, ROOT
from support.tried_programs import Place

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "try.md").read_text(encoding="utf-8")
ABLATE = (ROOT / "docs" / "ablate.md").read_text(encoding="utf-8")
COMMANDS = [
    line.partition(" #")[0].strip()
    for fence in re.findall(r"```sh\n(.*?)```", PAGE + ABLATE, re.DOTALL)
    for line in fence.splitlines()
]
TRAIN = """
    import tensorflow as tf

    loss = 1.0
    dataset = tf.data.Dataset.from_tensor_slices([1, 2, 3])
    batches = iter(dataset)


    for step in range(5000):
        loss = tf.train(next(batches))
"""


@pytest.fixture
def project(place: Place) -> Place:
    """Where the page's commands run: a program, and a trace of one with its fault."""
    place.write("train.py", TRAIN)
    shutil.copytree(FIXTURES / "tf-no-prefetch", place.folder / "logdir")
    place.env["PATH"] = os.pathsep.join(
        [str(Path(sys.executable).parent), place.env["PATH"]]
    )
    return place


def shell(project: Place, command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        shell=True,
        cwd=project.folder,
        env=project.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def test_the_pages_have_commands() -> None:
    assert len(COMMANDS) == 7


def test_each_command_does_what_its_page_says(project: Place) -> None:
    for command in COMMANDS:
        done = shell(project, command)
        expected = 1 if "--env" in command or "--passes" in command else 0
        assert done.returncode == expected, (command, done.stdout, done.stderr)


def test_the_result_of_the_page_is_the_real_one(project: Place) -> None:
    shown = PAGE.split("```")[3].lstrip("\n")

    said = shell(project, COMMANDS[0]).stdout

    moving = re.compile(r"\d+ s in all|predicted \d+ to \d+")
    assert moving.sub("", said) == moving.sub("", shown)


def test_what_passes_are_worth(project: Place) -> None:
    """Without algsimp a step of 7.5 ms takes 10.5; cse is worth nothing, and
    copy-insertion is not tried.
    """
    said = shell(project, "tfadvisor try --passes -- python train.py").stdout

    assert "not better   without algsimp: 40% slower (" in said
    assert "not better   without cse: 0% of step time saved (" in said
    assert "copy-insertion" not in said


def test_the_report_tells_what_was_tried(project: Place) -> None:
    shell(project, COMMANDS[0])

    assert (
        "tried: 60% measured (59 to 61), predicted "
        in shell(project, "tfadvisor analyze logdir/").stdout
    )
