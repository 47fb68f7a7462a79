"""The report that the README shows is the one that its command prints."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from support.places import ROOT

COMMAND = Path(sys.executable).parent / "tfadvisor"


def test_the_report_is_what_the_command_prints() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    command, report = re.findall(r"```(?:sh)?\n(.*?)```", readme, re.DOTALL)[:2]
    arguments = re.search(r"tfadvisor (analyze \S+)", command)
    assert arguments is not None
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("COLUMNS", "FORCE_COLOR")
    }

    printed = subprocess.run(
        [COMMAND, *arguments.group(1).split()],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    ).stdout

    assert printed.startswith(report.rstrip())
