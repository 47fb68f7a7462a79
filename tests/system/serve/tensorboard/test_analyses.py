"""Each run is analysed once, in a process of its own that ends with its parent, and
failures are told, not repeated.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.logdirs import add_broken_run, add_run
from support.places import FIXTURES
from support.trace_builder import trace
from support.web_server import web_server

import tfadvisor
from tfadvisor import processes
from tfadvisor.serve.tensorboard.analyses import VISITOR, Analyses, PendingAnalysis
from tfadvisor.serve.tensorboard.cache import Cache
from tfadvisor.serve.tensorboard.listing import ListedRun, Listing
from tfadvisor.trace.remote_path import place_of
from tfadvisor.trace.runs import Run


def listed(logdir: Path) -> ListedRun:
    return next(iter(Listing([("", logdir)]).current().values()))


@pytest.fixture
def analyses(tmp_path: Path) -> Analyses:
    return Analyses(Cache(tmp_path / "cache"))


def ended(analysis: bytes | PendingAnalysis) -> PendingAnalysis:
    assert isinstance(analysis, PendingAnalysis)
    assert analysis.ended.wait(60)
    return analysis


def test_the_report_is_that_of_the_command_and_the_page_holds_it(
    tmp_path: Path, analyses: Analyses
) -> None:
    folder = add_run(tmp_path / "logdir", "train/run")
    run = listed(tmp_path / "logdir")
    assert ended(analyses.report(run)).error is None

    report, page = analyses.report(run), analyses.page(run)

    assert isinstance(report, bytes)
    assert isinstance(page, bytes)
    expected = tfadvisor.analyze(folder).to_dict()
    expected["run"]["name"] = "train/run"
    assert json.loads(report) == json.loads(json.dumps(expected))
    assert (
        json.loads(gzip.decompress(page))["runs"][0]["report"]["verdict"]["bottleneck"]
        == "host"
    )


def test_hosts_that_are_read_together_are_told_as_the_command_tells_them(
    tmp_path: Path, analyses: Analyses
) -> None:
    """JAX put alpha's trace into one folder and beta's, two seconds later, into
    another.
    """
    names = ("2026_01_01_00_00_06", "2026_01_01_00_00_08")
    for host, name in zip(("alpha", "beta"), names, strict=True):
        folder = tmp_path / "logdir" / "plugins" / "profile" / name
        folder.mkdir(parents=True)
        shutil.copy(FIXTURES / "jax-hosts-late" / f"{host}.xplane.pb.gz", folder)
    run = listed(tmp_path / "logdir")
    assert ended(analyses.report(run)).error is None

    report = json.loads(analyses.report(run))  # type: ignore[arg-type]

    assert report["run"]["hosts"] == ["alpha", "beta"]
    assert [
        one["note"] for one in report["capture"] if one["rule_id"] == "joined-runs"
    ] == [
        f"Hosts are read together from {', '.join(names)}: JAX names each host's "
        "folder by the second it starts."
    ]


@pytest.mark.parametrize("left", [0.5, 0.0, -4])
def test_a_page_that_is_cut_on_disk_is_made_again_for_who_asks(
    tmp_path: Path, analyses: Analyses, left: float
) -> None:
    """Half of it is left, nothing, or all but the last four bytes."""
    add_run(tmp_path / "logdir", "run")
    run = listed(tmp_path / "logdir")
    ended(analyses.page(run))
    whole = analyses.page(run)
    (file,) = tmp_path.rglob("page.json.gz")
    assert isinstance(whole, bytes)
    file.write_bytes(whole[: int(left * len(whole)) if left >= 0 else int(left)])

    assert analyses.page(run) == whole


def test_nothing_is_written_into_the_logdir(tmp_path: Path, analyses: Analyses) -> None:
    add_run(tmp_path / "logdir", "run")
    before = sorted((tmp_path / "logdir").rglob("*"))

    ended(analyses.page(listed(tmp_path / "logdir")))

    assert sorted((tmp_path / "logdir").rglob("*")) == before


def test_who_asks_twice_waits_for_the_same(tmp_path: Path, analyses: Analyses) -> None:
    add_run(tmp_path / "logdir", "run")
    run = listed(tmp_path / "logdir")

    assert analyses.page(run) is analyses.page(run)


def test_what_the_configuration_ignores_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `analyze` and the gate leave it out; TensorBoard was started in the folder of
    the configuration.
    """
    add_run(tmp_path / "logdir", "run")
    run = listed(tmp_path / "logdir")
    (first, *_) = tfadvisor.analyze(tmp_path / "logdir").findings
    entry = (
        f'[[ignore]]\ncheck = "{first.rule_id}"\nreason = "known"\nexpires = '
        "2999-12-31\n"
    )
    (tmp_path / "tfadvisor.toml").write_text(entry)
    monkeypatch.chdir(tmp_path)
    analyses = Analyses(Cache(tmp_path / "cache"))

    assert ended(analyses.report(run)).error is None
    report = json.loads(analyses.report(run))  # type: ignore[arg-type]

    assert first.rule_id not in {one["rule_id"] for one in report["findings"]}
    assert any(
        f"{first.rule_id}: ignored until 2999-12-31" in one["note"]
        for one in report["capture"]
    )


def test_one_visitor_cannot_drive_out_what_others_wait_for(
    tmp_path: Path, analyses: Analyses, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody works. One asks for a step, another for twelve: of those the first four
    are given up.
    """
    add_run(tmp_path / "logdir", "run")
    run = listed(tmp_path / "logdir")
    monkeypatch.setattr(analyses, "_workers", 2)
    mine = analyses.step(run, "host", 0)
    other = VISITOR.set("10.0.0.7")

    asked = [analyses.step(run, "host", index) for index in range(1, 13)]
    VISITOR.reset(other)

    assert isinstance(mine, PendingAnalysis)
    assert mine.state == "waiting"
    assert [one.state for one in asked if isinstance(one, PendingAnalysis)] == [
        "failed"
    ] * 4 + ["waiting"] * 8


def test_a_broken_file_is_told_and_not_read_again_unless_asked(
    tmp_path: Path, analyses: Analyses
) -> None:
    add_broken_run(tmp_path / "logdir", "run")
    run = listed(tmp_path / "logdir")

    failed = ended(analyses.page(run))

    assert failed.state == "failed"
    assert failed.error is not None
    assert "xplane.pb" in failed.error["place"]
    assert failed.error["remedy"] != ""
    assert analyses.page(run) is failed
    assert analyses.page(run, again=True) is not failed


def test_a_step_of_a_run_on_a_server_is_drawn_from_the_file_of_its_host(
    analyses: Analyses,
) -> None:
    pytest.importorskip("aiohttp", reason="http:// needs it")
    with web_server() as server:
        server.content["/other.xplane.pb"] = b"no trace"
        server.content["/host.xplane.pb"] = (
            trace().steps(3, period=100).busy("GPU:0", (0, 250)).bytes()
        )
        files = tuple(
            place_of(f"{server.address}/{name}.xplane.pb") for name in ("other", "host")
        )
        run = ListedRun(Run("r", place_of(server.address), files), 0, 0.0, "stamp")

        error = ended(analyses.step(run, "host", 1)).error
        step = analyses.step(run, "host", 1)

    assert error is None
    assert isinstance(step, bytes)
    assert [path for method, path, _ in server.asked if method == "GET"] == [
        "/host.xplane.pb"
    ]


def test_the_process_ends_when_nobody_listens_any_more(tmp_path: Path) -> None:
    """Whatever ended TensorBoard, its standard input is closed."""
    worker = "from tfadvisor.serve.tensorboard.worker import main; main()"
    never_written = tmp_path / "host.xplane.pb"
    os.mkfifo(never_written)
    task = {
        "kind": "analyse",
        "name": "x",
        "path": "x",
        "files": [str(never_written)],
        "folder": "x",
        "processes": 1,
    }
    with subprocess.Popen(
        [sys.executable, "-c", worker], stdin=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps(task).encode() + b"\n")
        process.stdin.close()

        assert process.wait(60) == 1


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (
            "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            "the system killed the process",
        ),
        ("raise ValueError('of some kind')", "of some kind"),
        ("import os; os._exit(0)", "ended without a message"),
    ],
)
def test_a_process_that_dies_is_told(
    tmp_path: Path,
    analyses: Analyses,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
    told: str,
) -> None:
    add_run(tmp_path / "logdir", "run")
    monkeypatch.setattr(processes, "_START", f"paths = {{paths!r}}; {end}")

    failed = ended(analyses.page(listed(tmp_path / "logdir")))

    assert failed.error is not None
    assert told in failed.error["cause"]


def test_a_process_that_died_before_it_got_its_task_is_told(
    tmp_path: Path, analyses: Analyses, monkeypatch: pytest.MonkeyPatch
) -> None:
    def started(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        process = processes.start(*arguments, **options)
        process.wait()
        return process

    add_run(tmp_path / "logdir", "run")
    monkeypatch.setattr(
        processes, "_START", "paths = {paths!r}; raise ValueError('of some kind')"
    )
    monkeypatch.setattr("tfadvisor.serve.tensorboard.analyses.start", started)

    failed = ended(analyses.page(listed(tmp_path / "logdir")))

    assert failed.error is not None
    assert "of some kind" in failed.error["cause"]


def test_the_working_directory_brings_no_modules(
    tmp_path: Path, analyses: Analyses, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_run(tmp_path / "logdir", "run")
    (tmp_path / "tfadvisor.py").write_text("raise SystemExit('not this one')")
    monkeypatch.chdir(tmp_path)

    assert ended(analyses.page(listed(tmp_path / "logdir"))).error is None


def test_several_hosts_say_how_far_they_are(tmp_path: Path, analyses: Analyses) -> None:
    add_run(tmp_path / "logdir", "run", "jax-hosts-late")

    analysis = ended(analyses.page(listed(tmp_path / "logdir")))

    assert analysis.error is None
    assert 0 < analysis.fraction <= 1


def test_what_is_ignored_where_tensorboard_was_started_is_left_out_and_a_wrong_file_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another configuration makes another entry of the cache."""
    add_run(tmp_path / "logdir", "run")
    run, cache = listed(tmp_path / "logdir"), Cache(tmp_path / "cache")
    monkeypatch.chdir(tmp_path)
    before = Analyses(cache)
    ended(before.report(run))
    first = json.loads(before.report(run))["findings"][0]["rule_id"]

    (tmp_path / "tfadvisor.toml").write_text(
        f"[[ignore]]\ncheck = '{first}'\nreason = 'known'\nexpires = 9999-01-01\n"
    )
    changed = Analyses(cache)
    ended(changed.report(run))
    (tmp_path / "tfadvisor.toml").write_text("[[ignore]\n")
    no_toml = ended(Analyses(cache).report(run)).error

    report = changed.report(run)
    assert isinstance(report, bytes)
    assert first not in [one["rule_id"] for one in json.loads(report)["findings"]]
    assert no_toml is not None
    assert "tfadvisor.toml:1: is no TOML" in no_toml["cause"]
