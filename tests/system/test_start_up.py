"""What imports load: nothing for `import tfadvisor`, and for a plain analysis only what
it needs.
"""

from __future__ import annotations

import subprocess
import sys

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
    ["pandas", "pyarrow", "rich", "typer", "libcst", "grpc", "numpy.ma", "asyncio"],
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
