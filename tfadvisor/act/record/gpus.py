"""What this machine's GPUs do while a window is open: through NVML where pynvml is there, else by asking nvidia-smi once."""

from __future__ import annotations

import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

_EVERY_SECONDS = 0.25
_PATIENCE_SECONDS = 5.0
_MOST = 16
_SLOWED = {0x08: "hardware slowdown", 0x20: "heat", 0x40: "heat", 0x80: "power brake"}
"""Bits of NVML's reasons for a clock below the highest, where something is wrong; a power limit that is reached is usual."""
_FIELDS: Mapping[str, str] = {
    "name": "name",
    "driver": "driver_version",
    "persistence": "persistence_mode",
    "utilization": "utilization.gpu",
    "clock_mhz": "clocks.sm",
    "highest_clock_mhz": "clocks.max.sm",
    "power_limit_w": "power.limit",
    "usual_power_limit_w": "power.default_limit",
    "slowed_by": "clocks_throttle_reasons.active",
}
"""Ours -> nvidia-smi's."""
_AVERAGED = ("utilization", "clock_mhz")


class GpuWatch:
    """A thread that looks while it is entered. Without NVIDIA's driver it finds nothing, and says nothing."""

    def __init__(self) -> None:
        """Nothing is looked at yet."""
        self._over = threading.Event()
        self._looks: list[tuple[float, list[dict[str, Any]]]] = []
        self._thread = threading.Thread(target=self._look, name="tfadvisor-gpus", daemon=True)

    def start(self) -> None:
        """From now on."""
        self._thread.start()

    def stop(self) -> None:
        """Waits for an answer that is on its way, but not long."""
        self._over.set()
        self._thread.join(_PATIENCE_SECONDS)

    def __enter__(self) -> GpuWatch:
        """As start."""
        self.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _at: TracebackType | None
    ) -> None:
        """As stop."""
        self.stop()

    def told(self, opened: float, closed: float) -> list[dict[str, Any]]:
        """A record a GPU, in the driver's order, of the looks between two times, else of all; seconds since the epoch."""
        looks = list(self._looks)
        inside = [look for at, look in looks if opened <= at <= closed]
        return together(inside or [look for _, look in looks])

    def _look(self) -> None:
        try:
            import pynvml  # type: ignore[import-not-found, unused-ignore]  # few have it

            pynvml.nvmlInit()
        except Exception:
            self._looks += [(time.time(), found)] if (found := asked_once()) else []
            return
        try:
            handles = [pynvml.nvmlDeviceGetHandleByIndex(at) for at in range(min(pynvml.nvmlDeviceGetCount(), _MOST))]
            while True:
                self._looks.append((time.time(), [by_nvml(pynvml, handle) for handle in handles]))
                if self._over.wait(_EVERY_SECONDS):
                    break
            pynvml.nvmlShutdown()
        except Exception:
            return  # what was seen until then stays


def by_nvml(nvml: Any, handle: Any) -> dict[str, Any]:
    """One look at one GPU; what its driver does not tell is left out."""
    asked: dict[str, Callable[[], Any]] = {
        "name": lambda: _text(nvml.nvmlDeviceGetName(handle)),
        "driver": lambda: _text(nvml.nvmlSystemGetDriverVersion()),
        "persistence": lambda: bool(nvml.nvmlDeviceGetPersistenceMode(handle)),
        "utilization": lambda: nvml.nvmlDeviceGetUtilizationRates(handle).gpu / 100,
        "clock_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "highest_clock_mhz": lambda: nvml.nvmlDeviceGetMaxClockInfo(handle, nvml.NVML_CLOCK_SM),
        "power_limit_w": lambda: nvml.nvmlDeviceGetEnforcedPowerLimit(handle) / 1000,
        "usual_power_limit_w": lambda: nvml.nvmlDeviceGetPowerManagementDefaultLimit(handle) / 1000,
        "slowed_by": lambda: slowed_by(nvml.nvmlDeviceGetCurrentClocksThrottleReasons(handle)),
    }
    found = {}
    for name, ask in asked.items():
        try:
            found[name] = ask()
        except Exception:
            continue  # NVMLError_NotSupported and its like
    return found


def asked_once() -> list[dict[str, Any]]:
    """Of nvidia-smi; nothing where there is none, or where it takes longer than a few seconds."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    call = [program, f"--query-gpu={','.join(_FIELDS.values())}", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(
            call, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=_PATIENCE_SECONDS, check=True
        )
    except (OSError, ValueError, subprocess.SubprocessError):
        return []
    rows = [line.split(", ") for line in done.stdout.splitlines()[:_MOST]]
    return [_row(words) for words in rows if len(words) == len(_FIELDS)]


def _row(words: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, word in zip(_FIELDS, map(str.strip, words), strict=True):
        try:
            found[name] = _value(name, word)
        except ValueError:
            continue  # `[N/A]`, `[Not Supported]`
    return found


def _value(name: str, word: str) -> Any:
    """Raises ValueError for what the driver does not know."""
    if name in ("name", "driver"):
        return word[:80]
    if name == "persistence":
        return word == "Enabled"
    if name == "slowed_by":
        return slowed_by(int(word, 16))
    return float(word) / 100 if name == "utilization" else float(word)


def slowed_by(reasons: int) -> list[str]:
    """Words for the bits that tell of a fault."""
    return sorted({word for bit, word in _SLOWED.items() if reasons & bit})


def together(looks: Sequence[Sequence[dict[str, Any]]]) -> list[dict[str, Any]]:
    """All looks as one: means of what varies, every reason that was seen, of the rest the first."""
    gpus = []
    for found in zip(*looks, strict=False):
        first = {name: value for one in reversed(found) for name, value in one.items()}
        for name in _AVERAGED:
            values = [one[name] for one in found if name in one]
            if values:
                first[name] = sum(values) / len(values)
        first["slowed_by"] = sorted({reason for one in found for reason in one.get("slowed_by", ())})
        gpus.append(first)
    return gpus


def _text(name: str | bytes) -> str:
    return (name.decode("utf-8", "replace") if isinstance(name, bytes) else name)[:80]
