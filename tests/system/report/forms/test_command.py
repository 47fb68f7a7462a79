"""`tfadvisor analyze --format html`: a file, a pipe, never a terminal full of
markup.
"""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import FIXTURES
from support.trace_builder import trace

COMMAND = Path(sys.executable).parent / "tfadvisor"
PAGE = [str(COMMAND), "analyze", str(FIXTURES / "jax-logging"), "--format", "html"]


def test_the_page_is_written_to_the_file(tmp_path: Path) -> None:
    target = tmp_path / "report.html"

    done = subprocess.run(
        [*PAGE, "-o", target], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "",
        f"tfadvisor: wrote {target} (html).\n",
    )
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert '"bottleneck":"host"' in target.read_text(encoding="utf-8")


def test_a_pipe_gets_the_same_page(tmp_path: Path) -> None:
    subprocess.run([*PAGE, "-o", tmp_path / "report.html"], check=True)

    piped = subprocess.run(PAGE, capture_output=True, check=True)

    assert piped.stdout == (tmp_path / "report.html").read_bytes()


def test_a_terminal_is_told_to_name_a_file() -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(
        PAGE, stdout=theirs, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(theirs)
    os.close(ours)

    assert done.returncode == 2
    assert "-o report.html" in done.stderr


def test_findings_decide_the_exit_code_as_for_every_format(tmp_path: Path) -> None:
    done = subprocess.run(
        [*PAGE, "-o", tmp_path / "report.html", "--fail-on", "medium"], check=False
    )

    assert done.returncode == 1
    assert (tmp_path / "report.html").exists()


def test_the_text_report_loads_nothing_of_the_page(tmp_path: Path) -> None:
    code = (
        "import sys; from tfadvisor.cli.main import guarded_main; "
        f"guarded_main(['analyze', {str(FIXTURES / 'jax-logging')!r}, '--format', "
        "'json']); "
        "names = [name for name in sys.modules if name.startswith('tfadvisor.')]; "
        "sys.stderr.write(str([name for name in names if 'page' in name.replace('text_page', '') or "
        "'picture' in name and 'causes' not in name]))"
    )

    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stderr == "[]"


def test_a_pipe_named_as_the_file_stays_a_pipe(tmp_path: Path) -> None:
    """`-o /dev/null` as root would otherwise put a file in the device's place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen([*PAGE, "-o", pipe]) as command:
        text = pipe.read_text(encoding="utf-8")

    assert command.returncode == 0
    assert text.startswith("<!doctype html>")
    assert pipe.is_fifo()


def compare(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [COMMAND, "compare", *map(str, arguments), "--format", "html"],
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_runs_are_compared_on_a_page(tmp_path: Path) -> None:
    target = tmp_path / "change.html"

    done = compare(FIXTURES / "jax-loader", FIXTURES / "jax-healthy", "-o", target)

    assert (done.returncode, done.stdout, done.stderr) == (
        0,
        "",
        f"tfadvisor: wrote {target} (html).\n",
    )
    data = target.read_text(encoding="utf-8").partition(
        '<script id="data" type="application/json">'
    )[2]
    page = json.loads(data.partition("</script>")[0])
    assert [run["report"]["run"]["name"] for run in page["runs"]] == [
        "jax-healthy",
        "jax-loader",
    ]
    assert [(one["new"], one["base"]) for one in page["comparisons"]] == [
        (0, 1),
        (1, 0),
    ]
    for one in page["comparisons"]:
        assert sum(cause["change_ms"] for cause in one["causes"]) == pytest.approx(
            one["change_ms"], rel=1e-3
        )


def test_a_snapshot_cannot_be_drawn(tmp_path: Path) -> None:
    subprocess.run(
        [COMMAND, "baseline", "add", FIXTURES / "jax-loader", "--store", tmp_path],
        check=True,
    )
    (snapshot,) = tmp_path.rglob("*T*.json")

    done = compare(snapshot, FIXTURES / "jax-healthy")

    assert (done.returncode, done.stdout) == (2, "")
    assert "snapshot" in done.stderr


def test_a_page_of_runs_without_steps_is_not_made(tmp_path: Path) -> None:
    trace().call("nothing", 0, 0).write(tmp_path / "run")

    done = compare(
        FIXTURES / "jax-loader", tmp_path / "run", "-o", tmp_path / "change.html"
    )

    assert done.returncode == 4
    assert not (tmp_path / "change.html").exists()
