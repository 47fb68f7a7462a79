"""A process whose file layer fails on request: `disk_faults.c`, built here and loaded
before libc.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).with_suffix(".c")
SCENARIOS = Path(__file__).with_name("disk_scenarios.py")


def built(folder: Path) -> Path | None:
    """The library; None without a C compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    library = folder / "disk_faults.so"
    plain = ["-U_FORTIFY_SOURCE", "-U_FILE_OFFSET_BITS"]
    subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", *plain, "-o", library, SOURCE, "-ldl"],
        check=True,
    )
    return library


def failed_calls(library: Path, scenario: str, mode: str, folder: Path) -> int:
    """How many calls that change the disk a scenario makes, after each was failed.
    Raises AssertionError where one left something half.
    """
    env = {
        **os.environ,
        "LD_PRELOAD": str(library),
        "PYTHONPATH": os.pathsep.join(
            filter(None, (str(SCENARIOS.parents[1]), os.environ.get("PYTHONPATH")))
        ),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    call = [sys.executable, str(SCENARIOS), scenario, mode, str(folder)]
    done = subprocess.run(call, capture_output=True, text=True, env=env, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    return int(done.stdout.splitlines()[-1])
