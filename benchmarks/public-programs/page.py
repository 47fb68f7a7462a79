"""Makes README.md from programs.yaml (origin, truth, judgement) and first_answers.json
(what the tool said first).

    python benchmarks/public-programs/page.py

The programs' code is not here: programs.yaml says where it is and what was replaced in
it.
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
WAYS = {"run": "`run`", "plain": "ten batches", "ablate": "`--ablate`"}
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
    text = HEAD
    for number, batch in sorted(about["batches"].items(), reverse=True):
        programs = {
            name: one
            for name, one in about["programs"].items()
            if one.get("batch", 1) == number and name in answers
        }
        if not programs:
            continue
        text += (
            f"## Batch {number}\n\n{batch['machine']}\n\n"
            f"{_totals(programs, answers)}\n{_rows(programs, answers)}\n"
        )
        text += f"### What was missing in batch {number}\n\n{batch['missing']}\n"
    (HERE / "README.md").write_text(text.rstrip("\n") + "\n", "utf-8")


def _ways(programs: dict[str, Any]) -> list[str]:
    """Those that a batch was judged by."""
    return [
        way for way in WAYS if any(way in one["judged"] for one in programs.values())
    ]


def _rows(programs: dict[str, Any], answers: dict[str, Any]) -> str:
    ways = _ways(programs)
    says = " | ".join(f"{WAYS[way]} says first" for way in ways)
    lines = [
        f"| program | what really helps, of the step | {says} | step: own, `run`, "
        "ten batches |",
        "|---|---|" + "---|" * len(ways) + "---|",
    ]
    for name, one in programs.items():
        answer = answers[name]
        said = " | ".join(_told(answer, one["judged"], way) for way in ways)
        times = ", ".join(
            _ms(ms)
            for ms in (
                answer["loop_median_ms"],
                *(_step(answer[way]) for way in ("run", "plain")),
            )
        )
        lines.append(
            f"| `{name}`, {one['framework']} | {one['helps']} | {said} | {times} |"
        )
    return "\n".join(lines) + "\n"


def _told(answer: dict[str, Any], judged: dict[str, Any], way: str) -> str:
    if way not in judged:
        return "not asked"
    why: str = judged[way]["why"]
    return why if way == "ablate" else f"{_said(answer[way])}: {why}"


def _totals(programs: dict[str, Any], answers: dict[str, Any]) -> str:
    ways = _ways(programs)
    lines = [
        "| of the programs | " + " | ".join(WAYS[way] for way in ways) + " |",
        "|---|" + "---:|" * len(ways),
    ]
    asked = {
        way: [
            name
            for name, one in programs.items()
            if way in one["judged"] and (way != "plain" or answers[name][way])
        ]
        for way in ways
    }

    def told(title: str, *counts: str) -> None:
        lines.append(
            f"| {title} | "
            + " | ".join((*counts, *[""] * (len(ways) - len(counts))))
            + " |"
        )

    def row(title: str, key: str, faulty: bool = True) -> None:
        counts = []
        for way in ways:
            names = [
                name
                for name in asked[way]
                if not (faulty and programs[name]["healthy"])
            ]
            counts.append(
                f"{sum(programs[name]['judged'][way][key] for name in names)} of "
                f"{len(names)}"
            )
        told(title, *counts)

    row("place right, where there is a fault", "place")
    row("best change among the first three, where there is a fault", "cure")
    row("called healthy over a real fault", "healthy")
    row("a false finding of `medium` or above", "alarm", faulty=False)
    near = {
        way: [_is_near(answers[name], way) for name in asked[way]]
        for way in ("run", "plain")
        if way in asked
    }
    known = {way: [one for one in near[way] if one is not None] for way in near}
    told(
        "step time within 15% of the program's own clock, where that is known",
        *(f"{sum(one)} of {len(one)}" for one in known.values()),
    )
    reported = [
        answers[name]["report_s"]
        for name in programs
        if answers[name]["report_s"] is not None
    ]
    if reported:
        told(
            "a report within 90 s of the program's start",
            f"{sum(s <= SOON for s in reported)} of {len(programs)}",
        )
    added = [
        mb for name in programs if (mb := answers[name].get("added_mb")) is not None
    ]
    if added:
        told(
            "less than 1 GB added, where it was measured",
            f"{sum(mb < GB for mb in added)} of {len(added)}",
        )
    if savings := [
        one for program in programs.values() for one in program.get("savings", ())
    ]:
        held = sum(low <= measured <= high for _, low, high, measured in savings)
        told(
            "printed savings that hold, where the change was measured",
            f"{held} of {len(savings)}",
        )
    return "\n".join(lines) + "\n"


def _said(answer: dict[str, Any] | None) -> str:
    if answer is None:
        return "no report"
    real = [one for one in answer["findings"] if one["severity"] in (*ALARMS, "low")]
    if not real:
        return "healthy" if answer["healthy"] else f"{answer['verdict']}, no finding"
    first = real[0]
    saves = (
        f", saves {100 * first['saves'][0]:.0f}–{100 * first['saves'][1]:.0f}%"
        if first["saves"]
        else ""
    )
    return f"`{first['id']}` ({first['severity']}{saves})"


def _step(answer: dict[str, Any] | None) -> float | None:
    return None if answer is None else answer["step_ms"]


def _ms(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}"


def _is_near(answer: dict[str, Any], way: str) -> bool | None:
    """None where nobody knows the step without the profiler."""
    own, told = (
        answer["plain_own_ms" if way == "plain" else "loop_median_ms"],
        _step(answer[way]),
    )
    return abs(told / own - 1) <= NEAR if own and told else None


if __name__ == "__main__":
    main()
