"""The GPU scenarios of fixtures/gpu as programs of the benchmark: recorded by their own
recorder, where there is a GPU.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from answers import Planted, planted
from record import DATA, ROOT

OUT = DATA / "gpu"
NO_DEVICE = 3


def record(scenarios: Mapping[str, Any]) -> str | None:
    """Records the scenarios and their healthy forms; why not, where that is
    impossible.
    """
    wanted = sorted({*scenarios, *(entry["healthy"] for entry in scenarios.values())})
    command = [
        sys.executable,
        str(ROOT / "fixtures" / "record_jax_gpu.py"),
        "--out",
        str(OUT),
        "--only",
        *wanted,
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode == NO_DEVICE:
        return run.stderr.strip().splitlines()[0]
    if run.returncode:
        print(run.stderr, file=sys.stderr)
    return None


def recorded(scenarios: Mapping[str, Any]) -> list[tuple[Planted, bool, Path]]:
    """What is planted, whether it is in this recording, and the recording's folder, for
    each pair that is whole.
    """
    found = []
    for name, entry in scenarios.items():
        truth = yaml.safe_load(
            (ROOT / "fixtures" / "gpu" / name / "truth.yaml").read_text(
                encoding="utf-8"
            )
        )
        pair = [(True, OUT / name), (False, OUT / entry["healthy"])]
        if all(any(folder.glob("*.xplane.pb.gz")) for _, folder in pair):
            found += [
                (planted(name, entry, truth["planted"]), faulty, folder)
                for faulty, folder in pair
            ]
    return found
