"""The site: every page reachable, no broken link, strict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip(
    "mkdocs", reason="MkDocs is not installed: pip install 'tfadvisor[docs]'"
)
pytest.importorskip(
    "mkdocstrings",
    reason="mkdocstrings is not installed: pip install 'tfadvisor[docs]'",
)

ROOT = Path(__file__).parents[3]

pytestmark = [
    pytest.mark.nightly,
    pytest.mark.slow,
]  # CI builds the site before its tests


def test_the_site_builds_without_a_warning_and_links_lead_to_pages(
    tmp_path: Path,
) -> None:
    build = [
        sys.executable,
        "-m",
        "mkdocs",
        "build",
        "--strict",
        "--quiet",
        "--site-dir",
        str(tmp_path),
    ]
    done = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stderr
    start = (tmp_path / "index.html").read_text("utf-8")
    assert 'href="gate/"' in start
    assert 'href="contributing/"' in start
    assert (tmp_path / "reference" / "rules" / "few-steps" / "index.html").exists()
    python = (tmp_path / "reference" / "python" / "index.html").read_text("utf-8")
    assert "Analyses a logdir" in python
