"""What this machine's GPUs do while a window is open: nvidia-smi is asked once."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any

_PATIENCE_SECONDS = 5.0
_MOST = 16
_SLOWED = {0x08: "hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "power brake"}
"""Bits of NVML's reasons for a clock below the highest, where something is wrong; a
power limit that is reached is usual.
"""
_FIELDS: Mapping[str, str] = {
    "name": "name",
    "driver": "driver_version",
    "utilization": "utilization.gpu",
    "clock_mhz": "clocks.sm",
    "highest_clock_mhz": "clocks.max.sm",
    "power_limit_w": "power.limit",
    "usual_power_limit_w": "power.default_limit",
    "slowed_by": "clocks_throttle_reasons.active",
}
"""Ours -> nvidia-smi's."""


class GpuWatch:
    """Asks once while it is entered. Without NVIDIA's driver it finds nothing, and says
    nothing.
    """

    def __init__(self) -> None:
        """Nothing is asked yet."""
        self.found: list[dict[str, Any]] = []
        """A record a GPU, in the driver's order."""
        self._thread = threading.Thread(
            target=self._ask, name="tfadvisor-gpus", daemon=True
        )

    def __enter__(self) -> GpuWatch:
        """On a thread of its own."""
        self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Waits for an answer that is on its way, but not long."""
        self._thread.join(_PATIENCE_SECONDS)

    def _ask(self) -> None:
        self.found = asked_once()


def asked_once() -> list[dict[str, Any]]:
    """Of nvidia-smi; nothing where there is none, or where it takes longer than a few
    seconds.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    call = [
        program,
        f"--query-gpu={','.join(_FIELDS.values())}",
        "--format=csv,noheader,nounits",
    ]
    try:
        done = subprocess.run(
            call,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_PATIENCE_SECONDS,
            check=True,
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
    found = []
    for line in done.stdout.splitlines()[:_MOST]:
        words = line.split(", ")
        if len(words) == len(_FIELDS):
            found.append(_row(words))
    return found


def _row(words: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, word in zip(_FIELDS, words, strict=True):
        try:
            found[name] = _value(name, word.strip())
        except ValueError:
            continue  # `[N/A]`, `[Not Supported]`
    return found


def _value(name: str, word: str) -> Any:
    """Raises ValueError for what the driver does not know."""
    if name in ("name", "driver"):
        return word[:80]
    if name == "slowed_by":
        return slowed_by(int(word, 16))
    return float(word) / 100 if name == "utilization" else float(word)


def slowed_by(reasons: int) -> list[str]:
    """Words for the bits that tell of a fault."""
    words = set()
    for bit, word in _SLOWED.items():
        if reasons & bit:
            words.add(word)
    return sorted(words)
