"""The study's page is what the gate of today says about the recorded runs."""

from __future__ import annotations

import subprocess
import sys

import pytest
from support.places import ROOT

STUDY = ROOT / "benchmarks" / "gate_study" / "study.py"


@pytest.mark.slow
def test_the_page_is_up_to_date() -> None:
    done = subprocess.run(
        [sys.executable, STUDY, "--check"], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, (
        done.stderr + "Run benchmarks/gate_study/study.py, and say why it changed."
    )
