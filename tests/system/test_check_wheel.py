"""A wheel without the compiled modules is refused."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import pytest

WHOLE = (
    "tfadvisor/trace/_wire.cpython-312-x86_64-linux-gnu.so",
    "tfadvisor/timeline/_sweeps.cpython-312-x86_64-linux-gnu.so",
    "tfadvisor/timeline/_walks.cpython-312-x86_64-linux-gnu.so",
    "tfadvisor/report/forms/page.html",
    "tfadvisor/report/forms/plain_page.html",
    "tfadvisor/rules/catalogue.py",
    "tfadvisor/py.typed",
)


@pytest.fixture
def main() -> Callable[[list[str]], int]:
    return runpy.run_path(str(Path(__file__).parents[1] / "check_wheel.py"))["main"]


def wheel(
    folder: Path, *names: str, tag: str = "cp312-cp312-manylinux_2_17_x86_64"
) -> str:
    path = folder / f"tfadvisor-1.0-{tag}.whl"
    with ZipFile(path, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    return str(path)


def test_a_whole_wheel_passes(main: Callable[[list[str]], int], tmp_path: Path) -> None:
    assert main([wheel(tmp_path, *WHOLE)]) == 0


@pytest.mark.parametrize("lacking", WHOLE)
def test_a_wheel_that_lacks_a_part_is_refused(
    main: Callable[[list[str]], int],
    tmp_path: Path,
    lacking: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([wheel(tmp_path, *(name for name in WHOLE if name != lacking))]) == 1
    assert "lacks" in capsys.readouterr().out


def test_a_wheel_for_every_platform_is_refused(
    main: Callable[[list[str]], int], tmp_path: Path
) -> None:
    assert main([wheel(tmp_path, *WHOLE, tag="py3-none-any")]) == 1


def test_a_windows_wheel_passes(
    main: Callable[[list[str]], int], tmp_path: Path
) -> None:
    compiled = (
        "tfadvisor/trace/_wire.cp312-win_amd64.pyd",
        "tfadvisor/timeline/_sweeps.cp312-win_amd64.pyd",
        "tfadvisor/timeline/_walks.cp312-win_amd64.pyd",
    )
    names = (*compiled, *WHOLE[len(compiled) :])

    assert main([wheel(tmp_path, *names, tag="cp312-cp312-win_amd64")]) == 0


def test_no_wheel_at_all_is_a_mistake_of_the_caller(
    main: Callable[[list[str]], int],
) -> None:
    assert main([]) == 2
