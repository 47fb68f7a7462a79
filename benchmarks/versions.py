"""What tfadvisor says about the same programs recorded with other releases of
TensorFlow and JAX, as Markdown.

    python benchmarks/versions.py > fixtures/versions/results.md

Reads `fixtures/versions`, which `fixtures/record_versions.py` records. A cell is bold
where the verdict, its health or the first finding is not what was planted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

import tfadvisor
from tfadvisor.report.model import Report, Severity
from tfadvisor.units import duration, percent

RECORDED = Path(__file__).parents[1] / "fixtures" / "versions"
LACKING = """\
## What a release's trace does not tell

- JAX 0.4.30 and 0.6 on a CPU do not name their ops: a program is one stretch of compute, from when its thread takes it up
  to its completion (0.6), or as long as the call that runs it (0.4.30). Layers, op types and source lines are not told.
- JAX 0.4.38 on a CPU names its ops, and does not say when those end that run on other threads: what no op covers until the
  program's completion is told by program.
- JAX up to 0.6 evaluates a gradient outside of `jit` inside `trace_to_jaxpr`, where nothing is compiled: it counts as dispatch
  when programs run in it and less than a fifth of it compiles.
- TensorFlow up to 2.8 runs eager ops under their own names, newer ones under the eager runtime's.
- TensorFlow 2.3 has no event around the function of a parallel map: it belongs to the stage that asked last on its thread.
- One batch of Keras has no step marker up to 2.15: the step is the call of `train_function`.

More of it: [fixtures/versions](README.md)."""
SEVERE = Severity.MEDIUM.rank
INTRODUCTION = """\
<!-- written by benchmarks/versions.py -->

# Other releases of TensorFlow and JAX

The same small programs, recorded on a CPU with each release: `python fixtures/record_versions.py`. The machine worked for
others at the same time, so times scatter. A cell: verdict and its share of step time, then steps, their median and where
they come from, then the first finding. What differs from what was planted is bold. "By program" marks the cells whose
trace does not name what takes a fifth of the compute or more: it tells which program runs and when, not which op.
"""


@dataclass(frozen=True)
class Cell:
    """One program with one release."""

    release: str
    scenario: str
    report: Report
    truth: dict[str, Any]

    @property
    def finding(self) -> str | None:
        """The first finding about the program; about a healthy one, the first that is
        an alarm.
        """
        advice = [one for one in self.report.findings if one.category != "capture"]
        alarms = [one for one in advice if one.severity.rank >= SEVERE]
        first = (alarms if self.truth["healthy"] else advice)[:1]
        return first[0].rule_id if first else None

    @property
    def right(self) -> tuple[bool, bool]:
        """Verdict with its health, and first finding. From one batch nobody can say
        that a program is healthy.
        """
        verdict = self.report.verdict
        healthy = self.truth["healthy"] and self.report.steps.count > 1
        said = (verdict.bottleneck, verdict.healthy)
        return said == (self.truth["bottleneck"], healthy), self.finding == self.truth[
            "first_finding"
        ]


def main() -> None:
    """Prints the page."""
    cells = [
        read(truth.parent) for truth in sorted(RECORDED.glob("*-[0-9]*/*/truth.yaml"))
    ]
    print(INTRODUCTION)
    for framework, title in (("tensorflow", "TensorFlow"), ("jax", "JAX")):
        own = [cell for cell in cells if cell.release.startswith(framework)]
        print(f"## {title}\n\n{score(own)}\n\n{table(own)}\n")
    print(LACKING)


def read(folder: Path) -> Cell:
    """Analyses one recording."""
    truth = yaml.safe_load((folder / "truth.yaml").read_text())
    return Cell(
        folder.parent.name, folder.name, tfadvisor.analyze(folder).report, truth
    )


def score(cells: list[Cell]) -> str:
    """How many verdicts and first findings are what was planted."""
    verdicts, findings = (sum(cell.right[part] for cell in cells) for part in (0, 1))
    return (
        f"{verdicts} of {len(cells)} verdicts and {findings} of {len(cells)} first "
        "findings are what was planted."
    )


def table(cells: list[Cell]) -> str:
    """A row a release, oldest first; a column a program."""
    scenarios = sorted({cell.scenario for cell in cells})
    releases = sorted(dict.fromkeys(cell.release for cell in cells), key=numbers)
    at = {(cell.release, cell.scenario): words(cell) for cell in cells}
    lines = [
        ("", *(f"`{name}`" for name in scenarios)),
        ("---",) * (len(scenarios) + 1),
    ]
    lines += [
        (about(one), *(at.get((one, name), "not recorded") for name in scenarios))
        for one in releases
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def about(release: str) -> str:
    """A release with the Python and NumPy it was recorded with."""
    folder = next((RECORDED / release).glob("*/recording.json"))
    packages = json.loads(folder.read_text())
    return f"{release.partition('-')[2]} (Python {packages['python']})"


def numbers(release: str) -> list[int]:
    """2.12 comes after 2.8."""
    return [int(part) for part in release.partition("-")[2].split(".")]


def words(cell: Cell) -> str:
    """What is said in a cell."""
    verdict, steps = cell.report.verdict, cell.report.steps
    right_verdict, right_finding = cell.right
    said = (
        f"{verdict.bottleneck} "
        f"{percent(verdict.fraction)}{', healthy' if verdict.healthy else ''}"
    )
    number = "1 step" if steps.count == 1 else f"{steps.count} steps"
    time = f" of {duration(steps.time_ms.median)}" if steps.time_ms else ""
    finding = cell.finding or "no finding"
    lines = [
        said if right_verdict else f"**{said}**",
        f"{number}{time} ({steps.source})",
        finding if right_finding else f"**{finding}**",
    ]
    by_program = (cell.report.metrics["unnamed_op_share"].value or 0) >= 0.2
    return "<br>".join([*lines, "by program"] if by_program else lines)


if __name__ == "__main__":
    main()
