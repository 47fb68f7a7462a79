"""Stores and logdirs into which nobody may look: a gate never passes because of them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.places import ROOT
from support.processes import COMMAND, WITHOUT_POWERS

HEALTHY, SLOW = (ROOT / "fixtures" / name for name in ("jax-healthy", "jax-recompile"))


def called(*arguments: object) -> tuple[int, str, str]:
    done = subprocess.run(
        [*WITHOUT_POWERS, COMMAND, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    """With one run of the model `default`; whatever a test forbids is allowed again."""
    folder = tmp_path / "store"
    assert called("baseline", "add", HEALTHY, "--store", folder)[0] == 0
    yield folder
    folder.chmod(0o755)
    (folder / "default").chmod(0o755)


@pytest.mark.parametrize("mode", [0o000, 0o300, 0o400])
@pytest.mark.parametrize("forbidden", [".", "default"])
def test_a_gate_does_not_pass_on_a_store_that_it_cannot_read(
    store: Path, forbidden: str, mode: int
) -> None:
    (store / forbidden).chmod(mode)

    code, out, err = called("gate", SLOW, "--baseline", store)

    assert (code, out) == (3, "")
    assert "Permission denied" in err


@pytest.mark.parametrize(
    "call", [("list",), ("prune", "--keep", "1"), ("accept", SLOW, "--reason", "x")]
)
def test_no_command_takes_such_a_store_for_an_empty_one(
    store: Path, call: tuple[str, ...]
) -> None:
    (store / "default").chmod(0o300)

    code, out, err = called("baseline", *call, "--store", store)

    assert (code, out) == (3, "")
    assert "Permission denied" in err


def _circle(folder: Path) -> Path:
    link = folder / "circle"
    link.symlink_to(link)
    return link


def _nowhere(folder: Path) -> Path:
    link = folder / "link"
    link.symlink_to(folder / "nowhere")
    return link


@pytest.mark.parametrize(
    "made", [_circle, _nowhere, lambda folder: HEALTHY / "trace.xplane.pb.gz" / "x"]
)
def test_what_can_be_no_store_is_none(
    tmp_path: Path, made: Callable[[Path], Path]
) -> None:
    code, out, err = called("gate", SLOW, "--baseline", made(tmp_path))

    assert (code, out) == (3, "")
    assert "the store cannot be read" in err


def test_the_newest_run_may_be_the_one_that_cannot_be_read(tmp_path: Path) -> None:
    """Given by its name the other one is analysed."""
    hidden, seen = (tmp_path / "plugins" / "profile" / name for name in ("r2", "r1"))
    for run in (hidden, seen):
        run.mkdir(parents=True)
        run.joinpath("h.xplane.pb.gz").write_bytes(
            (HEALTHY / "trace.xplane.pb.gz").read_bytes()
        )
    hidden.chmod(0)
    try:
        code, out, err = called("analyze", tmp_path)
        assert (code, out) == (3, "")
        assert f"{hidden}: cannot be looked into: Permission denied." in err
        assert called("analyze", tmp_path, "--run", "r1")[0] == 0
        assert called("gate", SLOW, "--baseline", tmp_path)[0] == 3
    finally:
        hidden.chmod(0o755)
