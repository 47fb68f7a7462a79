"""What is shipped: every package, the compiled decoder, the rules, nothing that only
tests need.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from support.places import ROOT, RULES

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.loading.catalogue import (
    compile_rules,
    load_catalogue,
    read_compiled,
)
from tfadvisor.trace.decode import is_compiled
from tfadvisor.version import VERSION

pytestmark = pytest.mark.slow


NOT_BUILT_OF = shutil.ignore_patterns(
    ".*", "build", "*.so", "*.egg-info", "node_modules"
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Its names. One build for all workers of pytest-xdist, of a copy of the tree and
    not optimised: nothing of it is run.
    """
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    shared = tmp_path_factory.getbasetemp().parent / f"wheel-{run}"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (shared / "built").exists():
            shutil.copytree(ROOT, shared / "tree", ignore=NOT_BUILT_OF)
            built = ["--quiet", "--no-deps", "--wheel-dir", shared / "built"]
            if find_spec("Cython"):  # as in CI: nothing to download then
                built.append("--no-build-isolation")
            subprocess.run(
                [sys.executable, "-m", "pip", "wheel", *built, shared / "tree"],
                check=True,
                capture_output=True,
                env={**os.environ, "CFLAGS": "-O0"},
            )
    (path,) = (shared / "built").glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return archive.namelist()


def test_the_wheel_holds_the_compiled_decoder(wheel: list[str]) -> None:
    assert any(re.fullmatch(r"tfadvisor/trace/_wire\..*\.so", name) for name in wheel)
    for module in ("_sweeps", "_walks"):
        file = rf"tfadvisor/timeline/{module}\..*\.so"
        assert any(re.fullmatch(file, name) for name in wheel), module


def test_the_wheel_holds_every_module(wheel: list[str]) -> None:
    sources = {
        path.relative_to(ROOT).as_posix() for path in (ROOT / "tfadvisor").rglob("*.py")
    }

    assert sources <= set(wheel)
    assert "tfadvisor/py.typed" in wheel


def test_the_wheel_holds_the_rules_without_their_cases_and_what_savings_rest_on(
    wheel: list[str],
) -> None:
    rules = {path.relative_to(RULES).as_posix() for path in RULES.rglob("*.yaml")}
    shipped = {
        name.removeprefix("tfadvisor/rules/")
        for name in wheel
        if name.startswith("tfadvisor/rules/")
    } - {"__init__.py"}

    assert shipped == {name for name in rules if not name.endswith(".cases.yaml")} | {
        "catalogue.py",
        "savings.json",
    }


def test_the_compiled_rules_are_the_yaml(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "built").mkdir()
    compile_rules(RULES, tmp_path / "built")
    monkeypatch.syspath_prepend(tmp_path)

    compiled = read_compiled("built")

    assert compiled is not None
    assert sorted(compiled, key=lambda rule: rule.id) == list(
        load_catalogue(preview=True).rules
    )


def test_a_build_compiles_the_rules_before_anything_is_installed(
    tmp_path: Path,
) -> None:
    """Its environment has what [build-system] requires, and no NumPy."""
    code = (
        "import sys; sys.modules.update(numpy=None, google=None, typer=None); from "
        "pathlib import Path;"
        "from tfadvisor.advice.loading.catalogue import compile_rules; "
        "compile_rules(Path(sys.argv[1]), Path(sys.argv[2]))"
    )

    subprocess.run([sys.executable, "-c", code, RULES, tmp_path], check=True)

    assert (tmp_path / "catalogue.py").exists()


def test_the_wheel_holds_neither_tests_nor_sources_of_the_extension(
    wheel: list[str],
) -> None:
    assert not [
        name
        for name in wheel
        if name.startswith(("tests/", "fixtures/", "benchmarks/"))
        or name.endswith((".pyx", ".pxi", ".c"))
    ]


def test_this_installation_uses_the_compiled_decoder() -> None:
    assert is_compiled()


def test_the_package_is_the_command() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tfadvisor", "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT / "docs",
    )

    assert done.stdout == f"tfadvisor {VERSION}\n"


def test_a_checkout_works_before_it_is_installed(tmp_path: Path) -> None:
    """Without the extension, and with its rules beside the package."""
    for folder in ("tfadvisor", "rules"):
        shutil.copytree(
            ROOT / folder,
            tmp_path / folder,
            ignore=shutil.ignore_patterns(
                "_wire.*", "_sweeps.*", "_walks.*", "__pycache__"
            ),
        )
    code = (
        "import sys; sys.path.insert(0, '.'); from tfadvisor.cli.entry import run; "
        "run()"
    )

    done = subprocess.run(
        [sys.executable, "-c", code, "rules", "list"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )

    assert "host-work-in-loop" in done.stdout


def test_without_the_extension_the_twin_decodes(tmp_path: Path) -> None:
    """As where no compiler was at hand: slower, and the same report."""
    code = (
        "import sys; sys.modules['tfadvisor.trace._wire'] = "
        "sys.modules['tfadvisor.timeline._sweeps'] = "
        "sys.modules['tfadvisor.timeline._walks'] = None; "
        "import tfadvisor; "
        f"report = tfadvisor.analyze({str(ROOT / 'fixtures' / 'jax-logging')!r}); "
        "from tfadvisor.trace.decode import is_compiled; print(is_compiled(), "
        "report.verdict.bottleneck)"
    )

    done = subprocess.run(
        [sys.executable, "-I", "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.split() == ["False", "host"]


def test_without_a_compiler_an_sdist_installs_and_a_report_says_so(
    tmp_path: Path,
) -> None:
    """Built with what is installed here, by a compiler that always fails."""
    pytest.importorskip("Cython", reason="Cython is not installed")
    copy = tmp_path / "copy"
    for name in ("tfadvisor", "rules"):
        shutil.copytree(
            ROOT / name, copy / name, ignore=shutil.ignore_patterns("*.so", "*.c")
        )
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    make = "import setuptools.build_meta as it, sys; print(it.build_sdist(sys.argv[1]))"
    subprocess.run(
        [sys.executable, "-c", make, tmp_path],
        cwd=copy,
        check=True,
        capture_output=True,
    )
    (sdist,) = tmp_path.glob("*.tar.gz")
    place = tmp_path / "installed"
    install = [sys.executable, "-m", "pip", "install", "--no-deps", "--target", place]
    subprocess.run(
        [*install, "--no-build-isolation", sdist],
        env={**os.environ, "CC": "false", "CXX": "false"},
        check=True,
        capture_output=True,
    )
    call = "from tfadvisor.cli.entry import run; run()"

    done = subprocess.run(
        [sys.executable, "-c", call, "analyze", ROOT / "fixtures" / "jax-logging"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert not list(place.rglob("*.so"))
    assert "HOST-BOUND" in done.stdout
    assert "made without a C compiler" in done.stderr


def test_the_oldest_dependencies_that_are_tested_are_the_oldest_allowed() -> None:
    """Of each dependency the oldest release in .ci/lowest.txt is the lower bound that
    pyproject.toml states.
    """
    allowed = dict(
        re.findall(
            r'^  "([\w-]+)>=([\d.]+)',
            (ROOT / "pyproject.toml").read_text().split("[project.opt")[0],
            re.M,
        )
    )
    tested = re.findall(
        r"^([\w-]+)==([\d.]+)", (ROOT / ".ci" / "lowest.txt").read_text(), re.M
    )

    oldest = dict(reversed(tested))

    assert {"numpy", "protobuf", "rich"} <= allowed.keys()
    assert [
        name
        for name, bound in allowed.items()
        if not f"{oldest.get(name)}.".startswith(f"{bound}.")
    ] == []
