"""One host's file of many is cut, missing, foreign or a copy: the others are analysed,
and the report says which is not.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.trace_builder import trace

import tfadvisor
from tfadvisor.cli.main import guarded_main
from tfadvisor.errors import TraceError
from tfadvisor.report.forms.html import as_json
from tfadvisor.report.model import Report

HOSTS = ("alpha", "beta", "gamma")


def three_hosts(folder: Path) -> Path:
    """Four steps of 100 µs on each."""
    builder = trace()
    for number, host in enumerate(HOSTS):
        builder.host(host).steps(4, period=100)
        for step in range(4):
            builder.busy("GPU:0", (step * 100 + number, step * 100 + 90))
    return builder.write(folder)


def notes(report: Report) -> dict[str, str]:
    return {note.rule_id: note.note for note in report.capture}


def test_a_whole_run_has_no_such_note(tmp_path: Path) -> None:
    report = tfadvisor.analyze(three_hosts(tmp_path)).report

    assert report.run.hosts == HOSTS
    assert "hosts-left-out" not in notes(report)
    assert report.metrics["unread_host_files"].value == 0


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[: len(data) // 2],
        lambda data: b"",
        lambda data: b"<html>not found</html>",
    ],
)
@pytest.mark.parametrize("host", HOSTS)
def test_one_broken_file_leaves_the_others(tmp_path: Path, host: str, damage) -> None:  # type: ignore[no-untyped-def]
    folder = three_hosts(tmp_path)
    file = folder / f"{host}.xplane.pb"
    file.write_bytes(damage(file.read_bytes()))
    report = tfadvisor.analyze(folder).report

    assert report.run.hosts == tuple(one for one in HOSTS if one != host)
    assert host in notes(report)["hosts-left-out"]
    assert json.loads(as_json(report))["run"]["hosts"] == list(report.run.hosts)


def test_a_file_that_is_not_there_leaves_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = three_hosts(tmp_path)
    (folder / "beta.xplane.pb").unlink()
    files = [str(folder / f"{host}.xplane.pb") for host in HOSTS]

    assert guarded_main(["analyze", *files, "--format", "json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["run"]["hosts"] == ["alpha", "gamma"]
    assert "beta (does not exist" in str(
        said["capture"]
    ) or "beta (cannot be read: No such file" in str(said["capture"])


def test_a_copy_and_a_cut_file_are_both_told(tmp_path: Path) -> None:
    folder = three_hosts(tmp_path)
    (folder / "delta.xplane.pb").write_bytes((folder / "alpha.xplane.pb").read_bytes())
    (folder / "gamma.xplane.pb").write_bytes(
        (folder / "gamma.xplane.pb").read_bytes()[:200]
    )
    report = tfadvisor.analyze(folder).report

    assert report.run.hosts == ("alpha", "beta")
    assert "delta" in notes(report)["hosts-left-out"]
    assert "gamma" in notes(report)["hosts-left-out"]


def test_where_none_can_be_read_the_first_is_the_error(tmp_path: Path) -> None:
    folder = three_hosts(tmp_path)
    for host in HOSTS:
        (folder / f"{host}.xplane.pb").write_bytes(b"<html>" + host.encode())
    with pytest.raises(TraceError) as caught:
        tfadvisor.analyze(folder)

    assert "alpha.xplane.pb" in caught.value.place
    assert caught.value.exit_code == 3


def test_a_single_broken_file_is_an_error(tmp_path: Path) -> None:
    folder = three_hosts(tmp_path)
    (folder / "beta.xplane.pb").write_bytes(b"")
    with pytest.raises(TraceError):
        tfadvisor.analyze(folder / "beta.xplane.pb")
