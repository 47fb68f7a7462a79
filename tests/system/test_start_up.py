"""What imports load: nothing for `import tfadvisor`, and for a plain analysis only what
it needs.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import FIXTURES

SAY = (
    "import sys; before = set(sys.modules); {}; print(*sorted(set(sys.modules) - "
    "before))"
)


def loaded(code: str) -> set[str]:
    """The modules that a fresh interpreter loads for it."""
    call = [sys.executable, "-I", "-c", SAY.format(code)]
    return set(
        subprocess.run(call, capture_output=True, text=True, check=True).stdout.split()
    )


def test_the_package_alone_loads_itself_only() -> None:
    assert loaded("import tfadvisor") - {"__future__"} == {"tfadvisor"}


@pytest.mark.parametrize(
    "heavy",
    [
        "pandas",
        "pyarrow",
        "rich",
        "typer",
        "hashlib",
        "subprocess",
        "html",
        "libcst",
        "grpc",
        "numpy.ma",
        "asyncio",
    ],
)
def test_an_analysis_does_not_load_what_it_does_not_need(
    heavy: str, analysis: set[str]
) -> None:
    assert "numpy" in analysis
    assert heavy not in analysis


@pytest.fixture(scope="module")
def analysis() -> set[str]:
    return loaded(
        f"import tfadvisor; tfadvisor.analyze({str(FIXTURES / 'jax-logging')!r})"
    )


def test_a_server_that_lists_runs_decodes_none(tmp_path: Path) -> None:
    """The hosts' folders of one job are found by the heads of their files, without a
    decoder and without NumPy.
    """
    for host, second in (("alpha", "06"), ("beta", "08")):
        folder = tmp_path / f"2026_01_01_00_00_{second}"
        folder.mkdir()
        shutil.copy(FIXTURES / "jax-hosts-late" / f"{host}.xplane.pb.gz", folder)

    modules = loaded(
        "from pathlib import Path; from tfadvisor.trace.runs import find_runs; "
        f"(run,) = find_runs(Path({str(tmp_path)!r})); assert len(run.files) == 2"
    )

    assert "tfadvisor.trace.runs" in modules
    assert not {"numpy", "google.protobuf", "tfadvisor.trace.decode"} & modules
