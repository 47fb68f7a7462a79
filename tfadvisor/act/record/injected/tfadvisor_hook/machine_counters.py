"""What the recorded process and its machine do meanwhile, and how they are set: a few
small files of Linux, read at both ends.

What a system does not tell is left out. Nothing here raises.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Any

_open = open  # as it was before the program put another in its place
VERSION = 1
_FRAMEWORKS = ("tensorflow", "jax", "jaxlib", "keras", "numpy", "torch_xla")
_PREFIXES = ("TF_", "XLA_", "JAX_", "OMP_", "NCCL_", "CUDA_")
_OF_TERRAFORM = ("TF_VAR_", "TF_CLI_", "TF_TOKEN_")
_SECRET = ("KEY", "TOKEN", "SECRET", "PASS", "CREDENTIAL", "AUTH")
_LONGEST, _MOST = 400, 64
_LONGEST_VERSION = 40
_MOST_THREADS = 512
_CGROUP = "/sys/fs/cgroup"
_OF_CORES = ("", "cpu", "cpu,cpuacct", "cpuacct,cpu")
"""Controllers of groups that limit cores; "" of version 2, which has them all."""
_OF_MEMORY = "", "memory"
_UNKNOWN_BYTES = 1 << 40


def reading() -> dict[str, Any]:
    """Counters as they stand now."""
    found: dict[str, Any] = {"time": time.time()}
    for part in (_cores, _own, _memory, _waits, _quota_counters):
        found.update(_tried(part))
    return found


def settings() -> dict[str, Any]:
    """What does not change while a window is open."""
    found: dict[str, Any] = {
        "versions": _tried(_versions),
        "variables": _tried(lambda: variables(os.environ)),
        "threads": _tried(_threads),
    }
    for part in (_machine, _allowed_cores, _quota):
        found.update(_tried(part))
    return found


def variables(environment: Any) -> dict[str, str]:
    """Those of the frameworks and their libraries, cut to a length; none whose name
    speaks of a secret.
    """
    shown = [name for name in sorted(environment) if _is_harmless(name)]
    found = {}
    for name in shown[:_MOST]:
        found[name] = environment[name][:_LONGEST]
    return found


def _is_harmless(name: str) -> bool:
    """name: of a variable."""
    if not name.startswith(_PREFIXES) or name.startswith(_OF_TERRAFORM):
        return False
    return not any(word in name.upper() for word in _SECRET)


def _tried(part: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    try:
        found = part()
    except Exception:
        return {}
    return {name: value for name, value in found.items() if value is not None}


def _text(file: str) -> str:
    with _open(file, encoding="utf-8", errors="replace") as opened:
        return opened.read(1 << 18)


def _numbers(file: str) -> dict[str, int]:
    """Lines of a name and a number: /proc/vmstat, cpu.stat."""
    found = {}
    for line in _text(file).splitlines():
        words = line.replace(":", " ").split()
        if len(words) > 1 and words[1].isdigit():
            found[words[0]] = int(words[1])
    return found


def _ticks() -> int:
    return os.sysconf("SC_CLK_TCK")


def _cores() -> dict[str, Any]:
    """The machine's cores together, s since it started: user, nice, system, idle,
    iowait, irq, softirq, steal.
    """
    first = _text("/proc/stat").split("\n", 1)[0]
    words = first.split()[1:9]
    seconds = [int(word) / _ticks() for word in words]
    user, nice, system, idle, iowait, irq, softirq, steal = seconds
    busy = user + nice + system + irq + softirq
    return {
        "busy_seconds": busy,
        "idle_seconds": idle,
        "iowait_seconds": iowait,
        "stolen_seconds": steal,
    }


def _own() -> dict[str, Any]:
    import resource

    return {"major_faults": resource.getrusage(resource.RUSAGE_SELF).ru_majflt}


def _memory() -> dict[str, Any]:
    machine, swapped = _numbers("/proc/meminfo"), _numbers("/proc/vmstat")
    pages = swapped.get("pswpin", 0) + swapped.get("pswpout", 0)
    return {
        "available_bytes": machine["MemAvailable"] << 10,
        "swapped_bytes": pages * os.sysconf("SC_PAGE_SIZE"),
    }


def available_bytes() -> int:
    """What this process may still take before the machine swaps or a group of its
    container ends it; a lot where no system tells.
    """
    machine = int(_tried(_memory).get("available_bytes", _UNKNOWN_BYTES))
    groups = _tried(lambda: {"folders": _groups(_OF_MEMORY)}).get("folders", ())
    return min([machine, *map(_left_in, groups)])


def _left_in(folder: str) -> int:
    """Of a group's memory; what it keeps of files is given back when it is needed."""
    for name, used in (("memory.max", "anon"), ("memory.limit_in_bytes", "total_rss")):
        try:
            most = int(_text(os.path.join(folder, name)))
            kept = _numbers(os.path.join(folder, "memory.stat")).get(used, 0)
            return max(most - kept, 0)
        except (OSError, ValueError):  # `max`, or of the other version
            continue
    return _UNKNOWN_BYTES


def _waits() -> dict[str, Any]:
    """How long this process's threads ran, and were ready to run and had no core; s,
    summed over those that live.
    """
    ran = waited = 0
    for thread in os.listdir("/proc/self/task")[:_MOST_THREADS]:
        try:
            words = _text(f"/proc/self/task/{thread}/schedstat").split()
        except OSError:
            continue  # it has ended since
        ran += int(words[0])
        waited += int(words[1])
    if not ran:
        return {}
    return {"ran_seconds": ran / 1e9, "waited_seconds": waited / 1e9}


def _groups(of: tuple[str, ...] = _OF_CORES) -> list[str]:
    """Folders of the control groups that may limit this process, the innermost first;
    of either version. of: their controllers.
    """
    found = []
    for line in _text("/proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in of:
            continue
        base = os.path.join(_CGROUP, controllers) if controllers else _CGROUP
        parts = [part for part in path.split("/") if part]
        for depth in range(len(parts), -1, -1):
            found.append(os.path.join(base, *parts[:depth]))
    return found


def _quota() -> dict[str, Any]:
    """The smallest share of cores that any of the groups allows."""
    found = [_quota_of(folder) for folder in _groups()]
    quotas = [quota for quota in found if quota is not None]
    return {"quota_cores": min(quotas)} if quotas else {}


def _quota_of(folder: str) -> float | None:
    try:
        if os.path.exists(os.path.join(folder, "cpu.max")):
            text = _text(os.path.join(folder, "cpu.max"))
            quota, period = text.split()
        else:
            quota = _text(os.path.join(folder, "cpu.cfs_quota_us"))
            period = _text(os.path.join(folder, "cpu.cfs_period_us"))
        return int(quota) / int(period) if int(quota) > 0 else None
    except (OSError, ValueError):  # `max`, or no file in the outermost group
        return None


def _quota_counters() -> dict[str, Any]:
    """How often the innermost group with a quota was stopped because it was used up."""
    for folder in _groups():
        if _quota_of(folder) is not None:
            counted = _numbers(os.path.join(folder, "cpu.stat"))
            return {
                "periods": counted.get("nr_periods"),
                "throttled_periods": counted.get("nr_throttled"),
            }
    return {}


def _versions() -> dict[str, Any]:
    python = map(str, sys.version_info[:3])
    found = {"python": ".".join(python)}
    for name in _FRAMEWORKS:
        version = getattr(
            sys.modules.get(name),
            "__version__",
            None,
        )
        if version is not None:
            found[name] = str(version)[:_LONGEST_VERSION]
    return found


def _threads() -> dict[str, Any]:
    """Sizes of TensorFlow's pools where the program has set them."""
    threading = sys.modules["tensorflow"].config.threading
    found = {
        "intra_op": threading.get_intra_op_parallelism_threads(),
        "inter_op": threading.get_inter_op_parallelism_threads(),
    }
    return {name: int(number) for name, number in found.items() if number}


def _allowed_cores() -> dict[str, Any]:
    return {"allowed_cores": len(os.sched_getaffinity(0))}


def _machine() -> dict[str, Any]:
    return {
        "cores": os.cpu_count(),
        "memory_bytes": _numbers("/proc/meminfo")["MemTotal"] << 10,
    }
