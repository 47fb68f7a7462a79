"""Makes README.md from reports.yaml (what is true), answers/ (the first screens, frozen)
and judged.yaml (how each was judged), or asks the patterns of reports.yaml.

    python benchmarks/public-reports/page.py
    python benchmarks/public-reports/page.py --patterns FOLDER

FOLDER holds later first screens, NAME.txt each: what the patterns say of them, a line a
report. Patterns are milder than a reader; the published sum is the reader's.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
VERDICTS = ("helped", "in part", "not", "misled")
SIDES = {"TensorFlow": "t", "JAX": "jg"}
HEAD = """<!-- written by benchmarks/public-reports/page.py; run it again instead of editing -->

# Public reports, first answers

Threads in which users of JAX and TensorFlow ask why their step is slow, and in which the cause and a change that helps are shown. Nobody here
had looked at them. What is true of each was written down before anything was recorded ([reports.yaml](reports.yaml)), each was rebuilt small
([programs](programs)), the change was measured without a profiler, and only then was each recorded by `tfadvisor run`, once. **The first
screens are frozen** in [answers](answers) and judged strictly ([judged.yaml](judged.yaml)): *helped* names the right place and prints a change that helps, without
`--details` and before any change that does not; *in part* has one of both; *misled* prints a change that harms, or says healthy.

"""


@dataclass(frozen=True)
class Report:
    """One thread: what is true of it, and how its first screen was judged, if it was."""

    name: str
    truth: dict[str, Any]
    judged: dict[str, Any]

    @property
    def batch(self) -> int:
        return int(self.truth.get("batch", 1))


def main() -> None:
    """Writes README.md beside this file, or prints what the patterns say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--patterns", type=Path, metavar="FOLDER")
    folder = parser.parse_args().patterns
    truths = _read("reports.yaml")
    if folder:
        for name, truth in truths.items():
            screen = folder / f"{name}.txt"
            if screen.is_file():
                sys.stdout.write(f"{name}: {_by_patterns(truth, screen)}\n")
        return
    judged = _read("judged.yaml")
    reports = [Report(name, truths[name], judged.get(name, {})) for name in truths]
    numbers = sorted({report.batch for report in reports})
    text = HEAD + "".join(_batch(number, reports) for number in numbers)
    text += (HERE / "missing.md").read_text("utf-8")
    (HERE / "README.md").write_text(text, "utf-8")


def _read(name: str) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((HERE / name).read_text("utf-8"))
    return read


def _by_patterns(truth: dict[str, Any], screen: Path) -> str:
    text = " ".join(screen.read_text("utf-8").split())
    found = {
        key: bool(re.search(truth[key], text)) for key in ("named", "cured", "wrong")
    }
    return ", ".join(key for key, was in found.items() if was) or "nothing"


def _batch(number: int, reports: list[Report]) -> str:
    ours = [report for report in reports if report.batch == number]
    judged = [report for report in ours if report.judged]
    waiting = ", ".join(f"`{report.name[:3]}`" for report in ours if not report.judged)
    text = f"## Batch {number}\n\n"
    if judged:
        text += _sums(judged) + "\n" + _table(judged) + "\n"
    if waiting:
        text += f"Written down, not recorded yet: {waiting}.\n\n"
    return text


def _sums(reports: list[Report]) -> str:
    head = "| | threads | place right | change on the first screen | helped | in part | not | misled |\n|---|--:|--:|--:|--:|--:|--:|--:|\n"
    return head + "".join(
        _sum(side, [report for report in reports if report.name[0] in letters])
        for side, letters in (*SIDES.items(), ("both", "tjg"))
    )


def _sum(side: str, reports: list[Report]) -> str:
    verdicts = Counter(report.judged["verdict"] for report in reports)
    cells: list[object] = [
        len(reports),
        _count(reports, lambda report: report.judged["place"]),
        _count(reports, lambda report: report.judged["change"]),
        *(verdicts[verdict] for verdict in VERDICTS),
    ]
    return f"| {side} | " + " | ".join(map(str, cells)) + " |\n"


def _count(reports: list[Report], asks: Callable[[Report], bool]) -> int:
    return sum(bool(asks(report)) for report in reports)


def _table(reports: list[Report]) -> str:
    head = "| thread | cause, and what helps | the first screen says | place | change | |\n|---|---|---|---|---|---|\n"
    return head + "".join(map(_row, reports))


def _row(report: Report) -> str:
    truth, judged = report.truth, report.judged
    thread = re.sub(
        r"https://github.com/[^/]+/([^/]+)/\w+/(\d+)", r"\1#\2", truth["from"]
    )
    here = f" Here {truth['here']}." if "here" in truth else ""
    cells = [
        f"[{thread}]({truth['from']}), {str(truth['date'])[:4]} `{report.name[:3]}`",
        f"{truth['cause']} **{truth['change']}**{here}",
        judged["says"],
        "yes" if judged["place"] else "no",
        "yes" if judged["change"] else "no",
        f"**{judged['verdict']}**",
    ]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


if __name__ == "__main__":
    main()
