"""The environment in which a program, and whatever it starts, loads the hook."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from tfadvisor.record import injected
from tfadvisor.record.injected.tfadvisor_hook import FOLDER

HOOK = Path(injected.__file__).parent
"""Holds the `sitecustomize` that starts this hook, and that of `tfadvisor try` where it is on the path too."""


def with_hook(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """The same, with the hook first on PYTHONPATH. folder: where orders and answers lie."""
    searched = environment.get("PYTHONPATH")
    return {
        **environment,
        "PYTHONPATH": f"{HOOK}{os.pathsep}{searched}" if searched else str(HOOK),
        FOLDER: str(folder),
    }
