"""results.md: the numbers of the benchmark, with every miss."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import blind
import first_sight
from answers import Answer
from score import WITHIN, Case, Score, alarms, rank_of_cause, rank_of_class, scored

NOTE = (
    "<!-- written by benchmarks/diagnosis/run.py; run it again instead of editing "
    "-->\n\n"
)
FRAMEWORKS = {"tensorflow": "TensorFlow", "jax": "JAX"}
CALM_CORES = 0.15


def written(
    truth: Mapping[str, Any],
    cases: Mapping[str, Sequence[Case]],
    adapters: Mapping[str, Any],
    gpu: Mapping[str, Sequence[Case]] | str,
) -> str:
    """The page. cases: by advisor; gpu: the same for the GPU scenarios, or why there
    are none.
    """
    programs = truth["programs"]
    some = next(iter(cases.values()))
    names = " and ".join(f"{one.NAME} {one.version()}" for one in adapters.values())
    vocabulary = truth["causes"]
    parts = [
        f"{NOTE}# Diagnosis benchmark\n\n"
        f"{len(programs)} small training programs, each in a healthy form and in one "
        "with a planted fault, and nothing else "
        "differs. They are not the programs\nthat the rules were written beside "
        "(those are in `fixtures/`). What is planted "
        "stands in\n[truth.yaml](truth.yaml) and was written before an advisor saw a "
        "trace.\n\n"
        f"Judged here: {names}. Recorded with {versions(some)}.\n",
        blind.lead(),
        summary(cases, vocabulary),
        at_first_sight(cases, vocabulary, programs),
        how_counted(adapters),
    ]
    for framework, title in FRAMEWORKS.items():
        chosen = [
            name for name, entry in programs.items() if entry["framework"] == framework
        ]
        if any(case.planted.name in chosen for case in some):
            parts.append(f"## {title}\n\n{table(chosen, cases, vocabulary)}")
    parts += [
        misses(cases, vocabulary),
        false_alarms(cases),
        changed_programs(programs),
        on_gpus(gpu, vocabulary),
        again(),
    ]
    return "\n".join(parts)


def summary(cases: Mapping[str, Sequence[Case]], vocabulary: Mapping[str, Any]) -> str:
    return "## Summary\n\n" + summary_table(
        {name: scored(some, vocabulary) for name, some in cases.items()}
    )


def at_first_sight(
    cases: Mapping[str, Sequence[Case]],
    vocabulary: Mapping[str, Any],
    programs: Mapping[str, Any],
) -> str:
    """What changed in tfadvisor because of the benchmark, and the numbers before. Empty
    when nothing of then was kept.
    """
    now = cases.get(first_sight.ADVISOR, [])
    before = first_sight.first_cases(now)
    if not before:
        return ""
    batches: dict[int, list[str]] = {}
    for name, entry in programs.items():
        batches.setdefault(int(entry.get("later", 0)), []).append(name)
    changes = first_sight.changes()
    columns = {}
    for title, some in (("first sight", before), ("now", now)):
        for number, those in sorted(batches.items()):
            if chosen := [case for case in some if case.planted.name in those]:
                columns[f"{title}, batch {number + 1}: {len(those)} programs"] = scored(
                    chosen, vocabulary
                )
    lines = [f"- {names_of(change)}: {change['changed'].strip()}" for change in changes]
    missed = sorted(
        case.planted.name
        for case in before
        if case.faulty and rank_of_cause(case, vocabulary) != 1
    )
    return f"""## tfadvisor at first sight

The programs came in {len(batches)} batches. What tfadvisor said about each batch was kept before any of its rules was changed
because of that batch. Then it was mended where it was wrong, so what it says about them now is no test any more. **The columns
of first sight are the ones to expect on programs of others, the last batch's most.** All are about the same recordings.
{first_sight.AS_FIRST_RECORDED}

{summary_table(columns)}
At first sight the planted cause did not come first in {", ".join(f"`{name}`" for name in missed)}.

What the programs changed in tfadvisor:

{chr(10).join(lines)}
"""


def names_of(change: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}`" for name in change["programs"])


def summary_table(scores: Mapping[str, Score]) -> str:
    rows = (
        (
            "faulty: the planted cause comes first",
            lambda one: of(one.cause_first, one.faulty),
        ),
        (
            f"faulty: the planted cause is among the first {WITHIN}",
            lambda one: of(one.cause_within, one.faulty),
        ),
        (
            "faulty: its cause is, or where most of the step goes names its place",
            lambda one: of(one.placed, one.faulty),
        ),
        (
            "faulty: the planted cause is named at all (recall)",
            lambda one: of(one.cause_found, one.faulty),
        ),
        ("faulty: its class comes first", lambda one: of(one.class_first, one.faulty)),
        (
            f"faulty: its class is among the first {WITHIN}",
            lambda one: of(one.class_within, one.faulty),
        ),
        ("faulty: nothing is said", lambda one: of(one.silent, one.faulty)),
        ("healthy: false alarm", lambda one: of(one.alarmed, one.healthy)),
        (
            "healthy: only suspects something",
            lambda one: of(one.suspected, one.healthy),
        ),
        (
            "sure answers that are right (precision)",
            lambda one: of(one.sure_and_right, one.sure),
        ),
    )
    lines = ["| | " + " | ".join(scores) + " |", "|---" * (len(scores) + 1) + "|"]
    lines += [
        f"| {text} | {' | '.join(count(score) for score in scores.values())} |"
        for text, count in rows
    ]
    return "\n".join(lines) + "\n"


def of(part: int, whole: int) -> str:
    return f"{part} of {whole}" + (f" ({part / whole:.0%})" if whole else "")


def how_counted(adapters: Mapping[str, Any]) -> str:
    readings = "\n".join(
        f"- **{one.NAME}** is read as: {one.HOW}" for one in adapters.values()
    )
    return f"""## How this is counted

- An advisor's words are turned into causes such as `input/generator`, the vocabulary of truth.yaml, by a small adapter.
- **The cause** is named when an answer is the planted cause or one that truth.yaml accepts as well. **The class** is the part
  before the slash.
- **A false alarm** is a sure answer about a healthy form.
- **Precision** counts sure answers about healthy and faulty forms. A second finding about a faulty form that is not the
  planted cause counts against it, even where it is true of the program.
{readings}

What these counts do not show:

- All programs ran on two cores without an accelerator. XProf is made for accelerators first.
- Each program was written so that its fault costs a good part of the step. In real programs faults are smaller and come
  together.
- truth.yaml has the vocabulary of tfadvisor's field, and who wrote it knew its rules. Where XProf only tells the class, the
  lines about classes are the fair ones.
"""


def table(
    names: Sequence[str],
    cases: Mapping[str, Sequence[Case]],
    vocabulary: Mapping[str, Any],
) -> str:
    head = ["program", "planted", "step without the profiler, healthy → faulty (ms)"]
    for advisor in cases:
        head += [
            f"{advisor}: first answer",
            "rank of the cause",
            "of its class",
            "healthy form",
        ]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name in names:
        cells: list[str] = []
        for some in cases.values():
            healthy = [
                case for case in some if case.planted.name == name and not case.faulty
            ]
            faulty = [
                case for case in some if case.planted.name == name and case.faulty
            ]
            if not healthy or not faulty:
                continue
            if not cells:
                planted = (
                    f"{escaped(faulty[0].planted.fault)} → "
                    f"**{faulty[0].planted.cause}**"
                )
                cells = [f"`{name}`", planted, f"{steps(healthy)} → {steps(faulty)}"]
            cells += [
                first_answer(faulty[0]),
                ", ".join(
                    str(rank_of_cause(case, vocabulary) or "–") for case in faulty
                ),
                ", ".join(str(rank_of_class(case) or "–") for case in faulty),
                ", ".join(state_of_healthy(case) for case in healthy),
            ]
        if cells:
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def steps(cases: Sequence[Case]) -> str:
    """The least of the repetitions, marked where other processes disturbed the
    recording.
    """
    known = [case for case in cases if case.step_ms is not None]
    if not known:
        return "?"
    least = min(known, key=lambda case: case.step_ms or 0)
    noisy = any((case.other_cores or 0) >= CALM_CORES for case in known)
    return f"{least.step_ms:.1f}{'*' if noisy else ''}"


def first_answer(case: Case) -> str:
    return said(case.diagnosis.answers[0]) if case.diagnosis.answers else "nothing"


def said(answer: Answer) -> str:
    text = answer.text if len(answer.text) <= 110 else f"{answer.text[:107]}…"
    return f"{', '.join(answer.causes)}{'' if answer.sure else '?'}: {escaped(text)}"


def state_of_healthy(case: Case) -> str:
    if alarms(case):
        return "false alarm"
    return "suspects" if case.diagnosis.answers else "quiet"


def misses(cases: Mapping[str, Sequence[Case]], vocabulary: Mapping[str, Any]) -> str:
    parts = ["## Where the planted cause does not come first\n"]
    for advisor, some in cases.items():
        lines = []
        for case in some:
            rank = rank_of_cause(case, vocabulary) if case.faulty else 1
            if rank != 1:
                answers = (
                    "; ".join(said(one) for one in case.diagnosis.answers) or "nothing"
                )
                place = f"number {rank}" if rank else "not named"
                why = (
                    first_sight.why_missed().get(case.planted.name, "")
                    if advisor == first_sight.ADVISOR
                    else ""
                )
                line = (
                    f"- `{case.planted.name}` ({case.planted.cause}, {place}): "
                    f"{answers}"
                )
                lines.append(f"{line}. {why.strip()}" if why else line)
        parts.append(
            f"**{advisor}**: "
            + (f"{len(lines)}\n\n" + "\n".join(lines) if lines else "none")
            + "\n"
        )
    return "\n".join(parts)


def false_alarms(cases: Mapping[str, Sequence[Case]]) -> str:
    parts = ["## False alarms about healthy forms\n"]
    for advisor, some in cases.items():
        lines = [
            f"- `{case.planted.name}`: {'; '.join(said(one) for one in alarms(case))}"
            for case in some
            if not case.faulty and alarms(case)
        ]
        parts.append(
            f"**{advisor}**: "
            + (f"{len(lines)}\n\n" + "\n".join(lines) if lines else "none")
            + "\n"
        )
    return "\n".join(parts)


def changed_programs(programs: Mapping[str, Any]) -> str:
    lines = [
        f"- `{name}`: {entry['notes'].strip()}"
        for name, entry in programs.items()
        if "notes" in entry
    ]
    if not lines:
        return ""
    return (
        "## Programs that were changed\n\nTheir healthy form had a fault of its own, "
        "or the planted one cost too little. "
        "All numbers on this page are about the programs as\nthey are now.\n\n"
        + "\n".join(lines)
        + "\n"
    )


def on_gpus(
    gpu: Mapping[str, Sequence[Case]] | str, vocabulary: Mapping[str, Any]
) -> str:
    about = (
        "## On a GPU\n\nThe scenarios of `fixtures/gpu` with their healthy forms. "
        "tfadvisor's rules were written beside them.\n\n"
    )
    if isinstance(gpu, str):
        return f"{about}Not run: {gpu}\n"
    names = dict.fromkeys(case.planted.name for some in gpu.values() for case in some)
    scores = {name: scored(some, vocabulary) for name, some in gpu.items()}
    return (
        f"{about}{summary_table(scores)}\n{table(list(names), gpu, vocabulary)}\n"
        f"{misses(gpu, vocabulary)}"
    ).replace("## Where the", "### Where the")


def versions(cases: Sequence[Case]) -> str:
    found: dict[str, set[str]] = {}
    python = set()
    for case in cases:
        about = json.loads((case.folder / "recording.json").read_text(encoding="utf-8"))
        python.add(about["python"])
        for package, number in about["packages"].items():
            found.setdefault(package, set()).add(number)
    packages = [
        f"{package} {'/'.join(sorted(numbers))}"
        for package, numbers in sorted(found.items())
    ]
    return ", ".join([*packages, f"Python {'/'.join(sorted(python))}"])


def again() -> str:
    return """## Do it yourself

```sh
pip install '.[record,tensorboard]'
python benchmarks/diagnosis/run.py                     # records, asks the advisors, writes this page
python benchmarks/diagnosis/run.py --skip-recording    # asks them again about what is recorded
```

Recordings differ from machine to machine and from run to run; `--repeat N` shows how much. A step time with a star was
measured while other processes were at work.
"""


def escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
