"""`tfadvisor.profile()` with a framework that is a fake."""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.places import FIXTURES

import tfadvisor
from tfadvisor.errors import UsageError

FAKES = Path(__file__).parent / "fake_frameworks"


@pytest.fixture
def jax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    trace = tmp_path / "given.pb"
    trace.write_bytes(
        gzip.decompress((FIXTURES / "jax-loader" / "trace.xplane.pb.gz").read_bytes())
    )
    monkeypatch.setenv("FAKE_TRACE", str(trace))
    monkeypatch.setenv("FAKE_LOG", str(tmp_path / "windows.log"))
    monkeypatch.syspath_prepend(FAKES)
    for name in [
        one for one in sys.modules if one.partition(".")[0] in ("jax", "tensorflow")
    ]:
        monkeypatch.delitem(sys.modules, name)
    import jax

    yield jax
    for name in [one for one in sys.modules if one.partition(".")[0] == "jax"]:
        del sys.modules[name]


def test_a_block_is_recorded_kept_and_told(
    jax, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    assert (
        "Tracing calls of Python functions adds"
        in recording.report.report.capture[0].note
    )
    assert "load_batch" in capsys.readouterr().out
    assert (tmp_path / "windows.log").read_text() == "2 1\n"


def test_in_a_notebook_a_block_shows_one_output(
    jax,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    shown: list[object] = []
    shell = SimpleNamespace(get_ipython=lambda: SimpleNamespace(kernel="a kernel"))
    monkeypatch.setitem(sys.modules, "IPython", shell)
    display = SimpleNamespace(display=shown.append)
    monkeypatch.setitem(sys.modules, "IPython.display", display)

    with tfadvisor.profile(tmp_path / "logdir") as recording:
        pass

    assert shown == [recording.report]
    assert capsys.readouterr().out == ""


def test_a_block_can_be_silent_and_without_python(
    jax, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with tfadvisor.profile(tmp_path / "logdir", show=False, python_tracer=False):
        pass

    assert capsys.readouterr().out == ""
    assert (tmp_path / "windows.log").read_text() == "2 0\n"


def test_what_a_block_raises_is_not_hidden(jax, tmp_path: Path) -> None:
    with (
        pytest.raises(ZeroDivisionError),
        tfadvisor.profile(tmp_path / "logdir") as recording,
    ):
        1 / 0  # noqa: B018

    assert recording.report is None
    assert not (tmp_path / "logdir").exists()


def test_without_a_framework_it_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("jax", "tensorflow"):
        monkeypatch.delitem(sys.modules, name, raising=False)

    with (
        pytest.raises(UsageError, match="neither TensorFlow nor JAX is imported"),
        tfadvisor.profile(tmp_path),
    ):
        pass
