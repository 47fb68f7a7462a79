"""What a recorded program loads, without a program."""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.places import ROOT

from tfadvisor.act.record.injected.tfadvisor_hook import recorder
from tfadvisor.act.record.injected.tfadvisor_hook.letters import (
    read_letter,
    write_letter,
)
from tfadvisor.act.record.injected.tfadvisor_hook.main_thread import Errand
from tfadvisor.act.record.injected.tfadvisor_hook.watch import ForFrameworks
from tfadvisor.act.record.started_program import HOOK, with_hook

FILES = sorted((ROOT / "tfadvisor" / "act" / "record" / "injected").rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_it_is_python_3_8(file: Path) -> None:
    ast.parse(file.read_text(encoding="utf-8"), feature_version=(3, 8))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_it_imports_only_the_standard_library_until_a_framework_is_there(
    file: Path,
) -> None:
    allowed = {*sys.stdlib_module_names, "tfadvisor_hook", "jax", "tensorflow"}

    assert {
        name.partition(".")[0]
        for name in imported(ast.parse(file.read_text(encoding="utf-8")))
    } <= allowed


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module


def test_the_hook_comes_first_and_the_users_paths_stay() -> None:
    assert with_hook({"PYTHONPATH": "mine"}, Path("f"))["PYTHONPATH"].split(":") == [
        str(HOOK),
        "mine",
    ]
    assert with_hook({}, Path("f"))["PYTHONPATH"] == str(
        HOOK
    )  # an empty entry would be the current folder


def test_the_finder_finds_nothing_and_starts_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[bool] = []
    monkeypatch.setattr(
        ForFrameworks,
        "start",
        lambda self, forked: started.append(forked) or setattr(self, "started", True),
    )
    finder = ForFrameworks(str(tmp_path))

    assert [
        finder.find_spec(name)
        for name in ("json", "jaxtyping", "jax", "tensorflow", "jax")
    ] == [None] * 5
    assert started == [False]


def test_a_letter_is_there_whole_or_not_at_all(tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    assert read_letter(str(file)) is None
    write_letter(str(file), {"number": 1})
    assert read_letter(str(file)) == {"number": 1}
    file.write_text('{"number"')
    assert read_letter(str(file)) is None
    assert [one.name for one in tmp_path.iterdir()] == ["order.json"]


def test_of_two_frameworks_jax_is_recorded_only_once_it_has_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keras imports JAX wherever it is installed, and its profiler would see nothing of
    TensorFlow's ops.
    """
    asked = []

    def ask(framework: str, _file: str) -> None:
        asked.append(framework)
        raise OSError("that is enough")

    monkeypatch.setattr(recorder, "tracer_for", ask)
    one = recorder.Recorder(str(tmp_path), forked=False)
    one.state["frameworks"] = {"jax": {}, "tensorflow": {}}

    one.record({"number": 1, "seconds": 0})
    one.compilations._counts["jax"] = 1
    one.record({"number": 2, "seconds": 0})

    assert asked == ["tensorflow", "jax"]


class Growing:
    """A profiler whose traces hold a program of some bytes, and some more for each
    second.
    """

    def __init__(self, fixed: int, a_second: int) -> None:
        self.fixed, self.a_second = fixed, a_second
        self.opened: list[float] = []

    def starting(self, order: dict[str, object]) -> Errand:
        assert order == {"python_tracer": False}
        return Errand(self.opened.append, time.monotonic())

    def stopping(self, _session: object) -> Errand:
        seconds = time.monotonic() - self.opened[-1]
        return Errand(int, self.fixed + self.a_second * seconds)

    def write(self, size: int, file: str) -> None:
        with Path(file).open("wb") as out:
            out.truncate(size)


@pytest.mark.parametrize(
    ("fixed", "a_second", "sessions", "seconds"),
    [
        (1000, 1 << 20, 1, 1e9),
        (300 << 20, 0, 2, 6 << 20),
        (0, 600 << 20, 2, 0.03),
        (50 << 20, 60 << 20, 2, 0.1),
    ],
)
def test_a_window_is_as_short_as_very_short_ones_ask_for(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fixed: int,
    a_second: int,
    sessions: int,
    seconds: float,
) -> None:
    """6 MiB at most, of what grows: a program of 300 MiB is in each trace and costs no
    time; 30 ms are always allowed.
    """
    profiler = Growing(fixed, a_second)
    monkeypatch.setattr(recorder, "tracer_for", lambda *_: profiler)
    one = recorder.Recorder(str(tmp_path), forked=False)

    assert one.bearable("jax", str(tmp_path / "trace")) == pytest.approx(
        seconds, rel=0.2
    )
    assert len(profiler.opened) == sessions
    assert list(tmp_path.iterdir()) == []
