"""`tfadvisor.profile()` with a framework that is a fake."""

from __future__ import annotations

import gzip
import json
import sys
import time
from pathlib import Path

import pytest
from support.places import FIXTURES

import tfadvisor
from tfadvisor.act.record.block import load_ipython_extension
from tfadvisor.errors import UsageError

FAKES = Path(__file__).parent / "fake_frameworks"


@pytest.fixture
def jax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    trace = tmp_path / "given.pb"
    trace.write_bytes(gzip.decompress((FIXTURES / "jax-loader" / "trace.xplane.pb.gz").read_bytes()))
    monkeypatch.setenv("FAKE_TRACE", str(trace))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "windows.log"))
    monkeypatch.syspath_prepend(FAKES)
    for name in [one for one in sys.modules if one.partition(".")[0] in ("jax", "tensorflow")]:
        monkeypatch.delitem(sys.modules, name)
    import jax

    yield jax
    for name in [one for one in sys.modules if one.partition(".")[0] == "jax"]:
        del sys.modules[name]


def test_a_block_is_recorded_kept_and_told(jax, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tfadvisor.profile(tmp_path / "logdir") as recording:
        assert recording.report is None

    assert recording.report is not None
    assert recording.report.verdict.bottleneck == "input"
    (counters,) = recording.folder.glob("*.machine.json")
    assert {one.name for one in recording.folder.iterdir()} == {
        "recording.json",
        counters.name,
        counters.name.replace(".machine.json", ".xplane.pb"),
    }
    assert recording.report.metrics["program_cores"].value is not None
    assert "load_batch" in capsys.readouterr().out
    assert (tmp_path / "windows.log").read_text() == "2 1\n"


def a_block_of_two_windows(folder: Path) -> tfadvisor.Report:
    """Of which both are open for a while."""
    log = folder / "windows.log"
    with tfadvisor.profile(folder / "logdir", show=False) as recording:
        until = time.monotonic() + 20
        while log.read_text().count("\n") < 2 and time.monotonic() < until:
            time.sleep(0.01)
    assert recording.report is not None
    return recording.report


def test_a_longer_block_goes_on_with_calls_that_cost_little(
    jax, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfadvisor.act.record.block_windows.FIRST_SECONDS", 0.1)
    monkeypatch.setattr("tfadvisor.act.record.block_windows.cost_of", lambda *_: 0.03)

    report = a_block_of_two_windows(tmp_path)

    assert (tmp_path / "windows.log").read_text() == "2 1\n2 1\n"
    assert "Tracing calls of Python functions adds about 3% to a step" in report.capture[0].note
    assert list((tmp_path / "logdir").rglob("*.calls.pb")) == []


def test_where_they_cost_more_the_first_second_has_the_lines(
    jax, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tfadvisor.act.record.block_windows.FIRST_SECONDS", 0.1)
    monkeypatch.setattr("tfadvisor.act.record.block_windows.cost_of", lambda *_: 0.12)

    report = a_block_of_two_windows(tmp_path)

    assert (tmp_path / "windows.log").read_text() == "2 1\n2 0\n"
    assert "without calls of Python functions: they make a step 12% longer" in report.capture[0].note
    (second,) = (tmp_path / "logdir").rglob("*.calls.pb")
    assert json.loads((second.parent / "recording.json").read_text())["recorded"]["python_tracer"] is False


def test_a_block_can_be_silent_and_without_python(jax, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tfadvisor.profile(tmp_path / "logdir", show=False, python_tracer=False):
        pass

    assert capsys.readouterr().out == ""
    assert (tmp_path / "windows.log").read_text() == "2 0\n"


def test_what_a_block_raises_is_not_hidden(jax, tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), tfadvisor.profile(tmp_path / "logdir") as recording:
        1 / 0  # noqa: B018

    assert recording.report is None
    assert not (tmp_path / "logdir").exists()


def test_without_a_framework_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("jax", "tensorflow"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    with pytest.raises(UsageError, match="neither TensorFlow nor JAX is imported"), tfadvisor.profile(tmp_path):
        pass


class Shell:
    """As much of IPython as the magic asks for."""

    def __init__(self) -> None:
        self.user_ns: dict[str, object] = {}
        self.magics: dict[str, object] = {}
        self.compile = self

    def register_magic_function(self, function, kind: str, name: str) -> None:
        self.magics[name] = function

    def transform_cell(self, cell: str) -> str:
        return cell

    def cache(self, source: str) -> str:
        return "<cell>"


def test_the_magic_runs_the_cell_in_the_notebooks_names(
    jax, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shell = Shell()
    load_ipython_extension(shell)

    shell.magics["tfadvisor"](f"--out {tmp_path / 'logdir'} --no-lines", "answer = 6 * 7\n")

    assert shell.user_ns["answer"] == 42
    assert "INPUT-BOUND" in capsys.readouterr().out
    assert (tmp_path / "windows.log").read_text() == "2 0\n"


def test_the_magic_says_what_it_does_not_understand(capsys: pytest.CaptureFixture[str]) -> None:
    shell = Shell()
    load_ipython_extension(shell)

    shell.magics["tfadvisor"]("--ou x", "1 / 0")

    assert capsys.readouterr().out == "tfadvisor: --ou is not understood. %%tfadvisor [--out DIR] [--no-lines]\n"
