"""Blind batches: records their programs, freezes what tfadvisor says of them at first
sight, and counts how often it was right.

    python benchmarks/diagnosis/blind.py record 7 --python ENV/bin/python [--only NAME …]
    python benchmarks/diagnosis/blind.py freeze 7          once; refuses when there are answers already
    python benchmarks/diagnosis/blind.py show 7 [--now]    what is planted, and what was (or is now) said
    python benchmarks/diagnosis/blind.py page              writes first-sight.md and the head of results.md

A batch is a folder of `batches/`: `programs.txt` and `truth.yaml`, both written by
somebody who had seen no rule and no answer. `first_answers.json` is frozen before
anything is mended because of the batch; `judged.yaml` says by hand, with the reason,
what each of those answers was worth. Recordings stay in
`benchmarks/data/diagnosis/batches`, outside git.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from curve import section, svg
from sources import unpacked

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BATCHES = HERE / "batches"
DIAGNOSIS = HERE / "results.md"
DATA = ROOT / "benchmarks" / "data" / "diagnosis" / "batches"
PATIENCE_S = 300
QUIET = {
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "PYTHONHASHSEED": "0",
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "-1",
}
TOLD = 4
WORTH = ("cause", "class", "other", "silent")
"""What a first answer about a faulty form is worth: names cause and cure; only the
class of time; something else; nothing.
"""


def truth_of(batch: str) -> dict[str, Any]:
    """Program -> what is planted in it."""
    programs: dict[str, Any] = yaml.safe_load(
        (BATCHES / batch / "truth.yaml").read_text(encoding="utf-8")
    )["programs"]
    return programs


def record(batch: str, python: Path, only: Sequence[str]) -> int:
    """Runs each form twice, without the profiler and with it; programs that fail are
    named. Nothing else may run beside.
    """
    failed = 0
    for name, planted in truth_of(batch).items():
        for form in planted["forms"] if not only or name in only else ():
            folder = DATA / batch / name / form
            folder.mkdir(parents=True, exist_ok=True)
            arguments = ["--fault"] if form == "faulty" else []
            program = (
                unpacked(BATCHES / batch / "programs.txt", DATA / batch / "programs")
                / f"{name}.py"
            )
            measured = _ran(
                [
                    python,
                    HERE / "measure.py",
                    str(planted["steps"]),
                    program,
                    "logdir",
                    *arguments,
                ],
                None,
            )
            traced = _ran([python, program, "logdir", *arguments], folder)
            failed += measured is None or traced is None
            about = {"untraced_ms": float(measured.split()[-1]) if measured else None}
            (folder / "recording.json").write_text(json.dumps(about), encoding="utf-8")
            print(
                name,
                form,
                about["untraced_ms"],
                "recorded" if traced is not None else "FAILED",
                flush=True,
            )
    return failed


def _ran(command: Sequence[object], folder: Path | None) -> str | None:
    """What a run printed; None when it failed. Without a folder it works in one that is
    thrown away.
    """
    with tempfile.TemporaryDirectory() as aside:
        try:
            done = subprocess.run(
                [str(part) for part in command],
                cwd=folder or aside,
                env=os.environ | QUIET,
                capture_output=True,
                text=True,
                timeout=PATIENCE_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return None
    if done.returncode:
        print(done.stderr[-1000:], file=sys.stderr)
        return None
    return done.stdout or "0"


def answers(batch: str) -> dict[str, Any]:
    """Program -> form -> what tfadvisor says today about the recording."""
    import tfadvisor  # only those who ask it need it

    found: dict[str, Any] = {}
    for name, planted in truth_of(batch).items():
        for form in planted["forms"]:
            folder = DATA / batch / name / form
            if (folder / "logdir").exists():
                found.setdefault(name, {})[form] = _answer(
                    tfadvisor.analyze(folder / "logdir").to_dict(), folder
                )
    return found


def _answer(report: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    recording = folder / "recording.json"
    about = (
        json.loads(recording.read_text(encoding="utf-8")) if recording.exists() else {}
    )
    steps, verdict = report["steps"], report["verdict"]
    return {
        "untraced_ms": about.get("untraced_ms"),
        "steps": [
            steps["count"],
            steps["source"],
            round(steps["time_ms"]["median"] or 0, 2),
        ],
        "verdict": [
            verdict["bottleneck"],
            round(verdict["fraction"], 2),
            "healthy" if verdict["healthy"] else "not healthy",
        ],
        "summary": verdict["summary"],
        "findings": [_told(one) for one in report["findings"][:TOLD]],
    }


def _told(finding: Mapping[str, Any]) -> dict[str, Any]:
    places = [
        f"{one.get('function') or one.get('op') or one.get('layer')} "
        f"({one.get('file')}:{one.get('line')})"
        for one in finding["locations"][:2]
    ]
    return {
        "rule": finding["rule_id"],
        "severity": finding["severity"],
        "saves": [
            round(finding["saving"]["low"], 2),
            round(finding["saving"]["high"], 2),
        ],
        "says": re.sub(r"\s+", " ", f"{finding['title']} — {finding['summary']}"),
        "do": re.sub(r"\s+", " ", finding["fixes"][0]["do"]),
        "places": places,
    }


def _judged(batch: str) -> dict[str, Any]:
    judged: dict[str, Any] = yaml.safe_load(
        (BATCHES / batch / "judged.yaml").read_text(encoding="utf-8")
    )
    return judged


def counts(batch: str) -> dict[str, Any]:
    """Counts of a batch's frozen answers, from `judged.yaml`; a program whose fault
    costs nothing counts as healthy only.
    """
    judged = _judged(batch)
    worth = Counter(one["first"] for one in judged["faulty"].values())
    if unknown := set(worth) - set(WORTH):
        raise SystemExit(
            f"batch {batch}: judged.yaml says {', '.join(sorted(unknown))}"
        )
    frozen = json.loads(
        (BATCHES / batch / "first_answers.json").read_text(encoding="utf-8")
    )
    alarms = [
        name
        for name, forms in frozen.items()
        if any(
            one["severity"] in ("medium", "high", "critical")
            for one in forms.get("healthy", {}).get("findings", ())
        )
    ]
    excused = judged.get("alarms_that_are_right", {})
    return {
        "faulty": sum(worth.values()),
        "cause": worth["cause"],
        "class": worth["cause"] + worth["class"],
        "silent": worth["silent"],
        "healthy": sum("healthy" in forms for forms in frozen.values()),
        "alarms": sorted(set(alarms) - set(excused)),
    }


def judged_batches() -> list[str]:
    """Batches whose first answers have been judged, by number."""
    return sorted((one.parent.name for one in BATCHES.glob("*/judged.yaml")), key=int)


def lead() -> str:
    """What results.md begins with: the counts of every judged batch."""
    lines = [
        "## First sight\n",
        "What tfadvisor says about programs that nobody had in mind. Each blind "
        "batch was written by somebody who had seen",
        "no rule and no answer; what tfadvisor said was frozen before anything was "
        "mended because of it. Every answer and",
        "what it was worth: [First sight](first-sight.md).\n",
        "| batch | faulty forms | cause and cure first | class first | silent | "
        "healthy forms | alarms of `medium` or more |",
        "|---|---|---|---|---|---|---|",
    ]
    for batch in judged_batches():
        found = counts(batch)
        shares = [
            f"{found[key]} ({found[key] / found['faulty']:.0%})"
            for key in ("cause", "class", "silent")
        ]
        alarms = f"{len(found['alarms'])}" + (
            f" (`{'`, `'.join(found['alarms'])}`)" if found["alarms"] else ""
        )
        lines.append(
            f"| {batch} | {found['faulty']} | {' | '.join(shares)} | "
            f"{found['healthy']} | {alarms} |"
        )
    return "\n".join(lines) + "\n"


def page() -> str:
    """first-sight.md."""
    parts = [
        "<!-- written by benchmarks/diagnosis/blind.py page; run it again instead of "
        "editing -->\n",
        "# First sight\n",
        "Programs of blind batches, and the first thing that tfadvisor said about "
        "each: *cause* where it named cause and",
        "cure, *class* where it named the class of time and another cure, *other* "
        "where it led elsewhere, *silent* where it",
        "called the run healthy. Step times are without the profiler, in ms, healthy "
        "→ faulty. Two faults in one program",
        "count as one; either may come first.\n",
    ]
    parts.append(
        section({batch: _judged(batch)["faulty"] for batch in judged_batches()})
    )
    for batch in judged_batches():
        judged = _judged(batch)
        frozen = json.loads(
            (BATCHES / batch / "first_answers.json").read_text(encoding="utf-8")
        )
        parts += [f"## Batch {batch}\n", judged["about"].strip() + "\n"]
        parts += [
            "| program | planted | step | said first | worth | since |",
            "|---|---|---|---|---|---|",
        ]
        for name, planted in truth_of(batch).items():
            parts.append(
                _row(name, planted, frozen[name], judged["faulty"].get(name, {}))
            )
        parts.append("")
    return "\n".join(parts)


def _untraced(ms: float | None) -> str:
    """Of one form; a dash where it was not timed without the profiler."""
    return "–" if ms is None else f"{ms:.1f}"


def _row(
    name: str,
    planted: Mapping[str, Any],
    said: Mapping[str, Any],
    judged: Mapping[str, str],
) -> str:
    what = (
        "; ".join(
            f"{one['class']}: {one['what']}" for one in planted.get("planted", ())
        )
        or "nothing"
    )
    steps = " → ".join(
        _untraced(said[form]["untraced_ms"])
        for form in ("healthy", "faulty")
        if form in said
    )
    told = said.get("faulty", said["healthy"])
    first = next(
        (f"`{one['rule']}`" for one in told["findings"] if one["severity"] != "info"),
        told["verdict"][2],
    )
    return (
        f"| `{name}` | {what} | {steps} | {first} | {judged.get('first', '–')} | "
        f"{judged.get('since', '')} |"
    )


def show(batch: str, said: Mapping[str, Any]) -> None:
    """Prints what is planted beside what is said."""
    for name, planted in truth_of(batch).items():
        print(f"\n=== {name}")
        for one in planted.get("planted", ()):
            print(
                f"  planted {one['class']}: {one['what']}\n     at {one['where']}\n  "
                f"   cure {one['cure']}"
            )
        for form, answer in said.get(name, {}).items():
            print(
                f"  {form}: {answer['untraced_ms']} ms untraced, steps "
                f"{answer['steps']}, {answer['verdict']}"
            )
            print(f"     {answer['summary']}")
            for one in answer["findings"]:
                print(
                    f"     {one['severity']} {one['rule']} {one['saves']}: "
                    f"{one['says']}"
                )
                print(f"       do: {one['do']}\n       {one['places']}")


def main() -> int:
    """Runs what is asked."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("record", "freeze", "show", "page"))
    parser.add_argument("batch", nargs="?")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    parser.add_argument("--only", nargs="+", default=(), metavar="NAME")
    parser.add_argument(
        "--now", action="store_true", help="today's answers, not the frozen ones"
    )
    options = parser.parse_args()
    if options.what == "page":
        (HERE / "first-sight.md").write_text(page(), encoding="utf-8")
        curve = svg({batch: counts(batch) for batch in judged_batches()})
        (ROOT / "docs" / "pictures" / "first-sight.svg").write_text(
            curve, encoding="utf-8"
        )
        whole = DIAGNOSIS.read_text(encoding="utf-8")
        before, _, rest = whole.partition("## First sight\n")
        DIAGNOSIS.write_text(
            before + lead() + "\n## Summary" + rest.partition("\n## Summary")[2],
            encoding="utf-8",
        )
        return 0
    if options.batch is None:
        parser.error("which batch?")
    kept = BATCHES / options.batch / "first_answers.json"
    if options.what == "record":
        return int(record(options.batch, options.python.absolute(), options.only) > 0)
    if options.what == "show":
        show(
            options.batch,
            answers(options.batch)
            if options.now
            else json.loads(kept.read_text(encoding="utf-8")),
        )
        return 0
    if kept.exists():
        print(
            f"{kept.relative_to(ROOT)} is there: first answers are given once",
            file=sys.stderr,
        )
        return 1
    kept.write_text(
        json.dumps(answers(options.batch), indent=1, ensure_ascii=False) + "\n",
        encoding="utf-8",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
