"""Fuzzes every target and publishes what it counted: adds it to counts.json and writes
the table of fuzz/README.md.

python fuzz/run.py [--seconds 300] [--targets decoder,analyze] [--seed N] [--publish]

Five minutes by default, shared by the targets; `--seconds 3600` is the hour. The
decoder runs on the build of sanitize.sh where gcc can make one, Python targets are
guided by Atheris where that is installed, for half of their time.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
COUNTS, PAGE = HERE / "counts.json", HERE / "README.md"
_BEGIN, _END = "<!-- counts -->", "<!-- end of counts -->"
SHARE = {
    "passes": 3,
    "decoder": 2,
    "agreement": 2,
    "hlo": 2,
    "analyze": 6,
    "rules": 1,
    "gate-config": 1,
    "baseline": 1,
    "flags": 1,
}
"""Of the time."""
SANITIZED = ("passes", "decoder", "agreement", "analyze")
"""Targets that run the compiled code."""


def main() -> int:
    """1 when a fault was found."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--seconds", type=float, default=300)
    asked.add_argument("--targets", default=",".join(SHARE))
    asked.add_argument("--seed", type=int, default=int(time.time()))
    asked.add_argument("--publish", action="store_true")
    given = asked.parse_args()
    chosen = given.targets.split(",")
    told = [
        one
        for target in chosen
        for one in runs_of(
            target,
            given.seconds * SHARE[target] / sum(SHARE[one] for one in chosen),
            given.seed,
        )
    ]
    for one in told:
        sys.stdout.write(json.dumps(one) + "\n")
    if given.publish:
        publish(told)
    return 1 if any(one["faults"] for one in told) else 0


def runs_of(target: str, seconds: float, seed: int) -> Iterator[dict[str, Any]]:
    """What each engine counted."""
    sanitized = (
        target in SANITIZED and shutil.which("gcc") is not None and _has("Cython")
    )
    guided = target not in ("passes", "decoder", "flags") and _has("atheris")
    yield by_chance(target, seconds / (1 + guided), seed, sanitized)
    if guided:
        yield by_atheris(target, seconds / 2, seed)


def by_chance(
    target: str, seconds: float, seed: int, sanitized: bool
) -> dict[str, Any]:
    """engine.py's own loop, on the build with sanitizers or the installed one."""
    before = [str(HERE / "sanitize.sh")] if sanitized else []
    call = [
        *before,
        sys.executable,
        str(HERE / "engine.py"),
        target,
        f"--seconds={seconds}",
        f"--seed={seed}",
    ]
    done = subprocess.run(
        call, capture_output=True, text=True, errors="replace", check=False
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"target"')]
    engine = "sanitizers" if sanitized else "chance"
    if not lines:  # a sanitizer ended it
        why = [
            line
            for line in done.stderr.splitlines()
            if "ERROR" in line or "runtime error" in line or "Error" in line
        ]
        return {
            "target": target,
            "engine": engine,
            "executions": 0,
            "faults": why[:3] or [f"ended with {done.returncode}"],
        }
    return {"engine": engine, **json.loads(lines[-1])}


def by_atheris(target: str, seconds: float, seed: int) -> dict[str, Any]:
    """The same with coverage of the Python code."""
    call = [
        sys.executable,
        str(HERE / "engine.py"),
        target,
        f"--seconds={seconds}",
        f"--seed={seed % (1 << 31)}",
        "--guided",
    ]
    done = subprocess.run(
        call, capture_output=True, text=True, errors="replace", check=False
    )
    executed = re.search(r"number_of_executed_units: (\d+)", done.stderr)
    edges = re.findall(r"cov: (\d+)", done.stderr)
    fault = [
        line.strip()
        for line in done.stderr.splitlines()
        if re.match(r"\s*(\w+\.)*\w*(Error|Fault|Warning)\b", line)
    ]
    return {
        "target": target,
        "engine": "atheris",
        "executions": int(executed[1]) if executed else 0,
        "edges": int(edges[-1]) if edges else 0,
        "faults": fault[-1:] if done.returncode else [],
    }


def publish(told: list[dict[str, Any]]) -> None:
    """Adds to the counts so far, and writes the page's table."""
    counts: dict[str, dict[str, Any]] = (
        json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
    )
    for one in told:
        so_far = counts.setdefault(
            f"{one['target']} {one['engine']}",
            {"executions": 0, "slowest_s": 0.0, "faults": 0},
        )
        so_far["executions"] += one["executions"]
        so_far["accepted"] = so_far.get("accepted", 0) + one.get("accepted", 0)
        so_far["slowest_s"] = max(so_far["slowest_s"], one.get("slowest_s", 0.0))
        so_far["faults"] += len(one["faults"])
        so_far["edges"] = max(so_far.get("edges", 0), one.get("edges", 0))
    COUNTS.write_text(
        json.dumps(counts, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(_BEGIN)
    PAGE.write_text(
        f"{before}{_BEGIN}\n{table(counts)}{_END}{rest.partition(_END)[2]}",
        encoding="utf-8",
    )


def table(counts: dict[str, dict[str, Any]]) -> str:
    """One row a target and engine."""
    rows = [
        "| target | engine | executions | accepted | edges | slowest | faults found |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for name, one in sorted(counts.items()):
        target, engine = name.split(" ")
        slowest = f"{one['slowest_s']:.2f} s" if one["slowest_s"] else "–"
        edges = f"{one['edges']:,}" if one.get("edges") else "–"
        accepted = f"{one['accepted']:,}" if one.get("accepted") else "–"
        rows.append(
            f"| {target} | {engine} | {one['executions']:,} | {accepted} | {edges} | "
            f"{slowest} | {one['faults']} |"
        )
    total = sum(one["executions"] for one in counts.values())
    return (
        "\n".join(
            [
                *rows,
                f"| all | | {total:,} | | | | "
                f"{sum(one['faults'] for one in counts.values())} |",
            ]
        )
        + "\n"
    )


def _has(module: str) -> bool:
    return (
        subprocess.run(
            [sys.executable, "-c", f"import {module}"], capture_output=True, check=False
        ).returncode
        == 0
    )


if __name__ == "__main__":
    sys.exit(main())
