"""The README shows what the command prints."""

from __future__ import annotations

import os
import subprocess
import sys

from support.places import ROOT


def test_the_report_in_the_readme_is_the_real_one() -> None:
    code = "from tfadvisor.cli.entry import run; run()"
    call = [sys.executable, "-c", code, "analyze", "fixtures/jax-logging"]
    env = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "FORCE_COLOR")
    }
    shown = subprocess.run(
        call, cwd=ROOT, capture_output=True, text=True, check=True, env=env
    ).stdout

    report, _, hint = shown.rpartition("\n\n--details")

    assert hint
    assert f"```\n{report.strip()}\n```" in (ROOT / "README.md").read_text(
        encoding="utf-8"
    )
