"""Makes README.md from programs.yaml (origin, truth, judgement) and first_answers.json (what the tool said first).

    python benchmarks/public-programs/page.py

The programs' code is not here: programs.yaml says where it is and what was replaced in it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
NEAR = 0.15
"""How far a step time may be off, as a share of the program's own."""
SOON = 90
"""Seconds from the program's start within which a report should come."""
GB = 1024
"""In MiB: how much the recorded program may grow."""
ALARMS = ("medium", "high", "critical")
WAYS = ("run", "plain")
HEAD = """<!-- written by benchmarks/public-programs/page.py; run it again instead of editing -->

# Public programs, first answers

Programs of strangers that nobody here had looked at. What really helps each of them was found first, by experiment and without
a profiler: one thing changed at a time, both forms in turns. A change that gains 10% of the step counts. Only then was each
recorded, by `tfadvisor run` and by the framework's own profiler around ten batches, and **the first answers are frozen** in
`first_answers.json`. Origin, commit, licence, what was replaced and every experiment are in `programs.yaml`; the programs
themselves are not copied here.

"""


def main() -> None:
    """Writes README.md beside this file."""
    about = yaml.safe_load((HERE / "programs.yaml").read_text("utf-8"))
    answers = json.loads((HERE / "first_answers.json").read_text("utf-8"))
    programs = {name: one for name, one in about["programs"].items() if name in answers}
    text = HEAD + about["machine"] + "\n\n## Results\n\n" + _totals(programs, answers)
    text += "\n## Program by program\n\n" + _rows(programs, answers) + "\n## What was missing\n\n" + about["missing"]
    (HERE / "README.md").write_text(text, "utf-8")


def _rows(programs: dict[str, Any], answers: dict[str, Any]) -> str:
    lines = [
        "| program | what really helps, of the step | `run` says first | ten batches say first | step: own, `run`, ten batches |",
        "|---|---|---|---|---|",
    ]
    for name, one in programs.items():
        answer = answers[name]
        said = [f"{_said(answer[way])}: {one['judged'][way]['why']}" for way in WAYS]
        times = ", ".join(_ms(ms) for ms in (answer["loop_median_ms"], *(_step(answer[way]) for way in WAYS)))
        lines.append(f"| `{name}`, {one['framework']} | {one['helps']} | {said[0]} | {said[1]} | {times} |")
    return "\n".join(lines) + "\n"


def _totals(programs: dict[str, Any], answers: dict[str, Any]) -> str:
    lines = ["| of the programs | `run` | ten batches |", "|---|---:|---:|"]
    asked = {"run": list(programs), "plain": [name for name in programs if answers[name]["plain"] is not None]}

    def row(title: str, key: str, faulty: bool = True) -> None:
        counts = []
        for way in WAYS:
            names = [name for name in asked[way] if not (faulty and programs[name]["healthy"])]
            counts.append(f"{sum(programs[name]['judged'][way][key] for name in names)} of {len(names)}")
        lines.append(f"| {title} | {counts[0]} | {counts[1]} |")

    row("place right, where there is a fault", "place")
    row("best change among the first three, where there is a fault", "cure")
    row("called healthy over a real fault", "healthy")
    row("a false finding of `medium` or above", "alarm", faulty=False)
    near = {way: [_is_near(answers[name], way) for name in asked[way]] for way in WAYS}
    known = {way: [one for one in near[way] if one is not None] for way in WAYS}
    told = [f"{sum(known[way])} of {len(known[way])}" for way in WAYS]
    lines.append(f"| step time within 15% of the program's own clock, where that is known | {told[0]} | {told[1]} |")
    reported = [answers[name]["report_s"] for name in programs if answers[name]["report_s"] is not None]
    lines.append(
        f"| a report within 90 s of the program's start | {sum(s <= SOON for s in reported)} of {len(programs)} | |"
    )
    added = [mb for name in programs if (mb := answers[name].get("added_mb")) is not None]
    lines.append(f"| less than 1 GB added, where it was measured | {sum(mb < GB for mb in added)} of {len(added)} | |")
    return "\n".join(lines) + "\n"


def _said(answer: dict[str, Any] | None) -> str:
    if answer is None:
        return "no report"
    real = [one for one in answer["findings"] if one["severity"] in (*ALARMS, "low")]
    if not real:
        return "healthy" if answer["healthy"] else f"{answer['verdict']}, no finding"
    first = real[0]
    saves = f", saves {100 * first['saves'][0]:.0f}–{100 * first['saves'][1]:.0f}%" if first["saves"] else ""
    return f"`{first['id']}` ({first['severity']}{saves})"


def _step(answer: dict[str, Any] | None) -> float | None:
    return None if answer is None else answer["step_ms"]


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _is_near(answer: dict[str, Any], way: str) -> bool | None:
    """None where nobody knows the step without the profiler."""
    own, told = answer["plain_own_ms" if way == "plain" else "loop_median_ms"], _step(answer[way])
    return abs(told / own - 1) <= NEAR if own and told else None


if __name__ == "__main__":
    main()
