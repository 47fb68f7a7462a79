"""Writes benchmarks/real-traces-beside-xprof.md: traces that others recorded, as XProf and as
tfadvisor read them, and who is right.

    pip install '.[differential]'
    python benchmarks/real_traces.py                  write the page
    python benchmarks/real_traces.py --check          fail when the page is not what it would write
    python benchmarks/real_traces.py --traces DIR     read the traces there instead of in ../shared/traces

The traces are not part of the repository. What both say of one is compared in rows
(real_trace_rows.py); every judgement is a rule over the numbers and the trace, none is
written by hand.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from ask_xprof import escaped
from real_trace_rows import FAULTS, Row, Who, both, rows_of, xprof_says

import tfadvisor
from tfadvisor.report.model import Report
from tfadvisor.version import VERSION

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "benchmarks" / "real-traces-beside-xprof.md"
NOTE = (
    "<!-- written by benchmarks/real_traces.py; run it again instead of editing -->\n\n"
)
TRACE = ".xplane.pb"
ORIGINS = {
    "no-xplane-tf22": "[Alwaysproblem/tensorboard-review](https://github.com/Alwaysproblem/tensorboard-review), "
    "Apache-2.0",
    "reactant-2gpu-1080ti": "[EnzymeAD/Reactant.jl](https://github.com/EnzymeAD/Reactant.jl), MIT",
    "reactant-cpu": "[EnzymeAD/Reactant.jl](https://github.com/EnzymeAD/Reactant.jl), MIT",
    "tfprof-demo": "[tensorflow/profiler](https://github.com/tensorflow/profiler), Apache-2.0",
    "tracelens-jax-mi300": "[AMD-AGI/TraceLens](https://github.com/AMD-AGI/TraceLens), MIT",
    "tracelens-jax-te": "[AMD-AGI/TraceLens](https://github.com/AMD-AGI/TraceLens), MIT",
    "xprof-tpu-inference-2": "[openxla/xprof](https://github.com/openxla/xprof), Apache-2.0",
}


@dataclass(frozen=True)
class Entry:
    """One trace, or a folder without any. copies: other files with the same bytes."""

    path: Path
    name: str
    copies: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Part:
    """What the page says of an entry: rows, or the error that tfadvisor ends in."""

    entry: Entry
    report: Report | None
    rows: tuple[Row, ...]
    error: str
    theirs: str


def main() -> int:
    """0 when the page is written, or with --check already is what it should be."""
    options = arguments()
    if not options.traces.is_dir():
        print(
            f"{Path(__file__).name}: no traces to read: {options.traces} is no folder",
            file=sys.stderr,
        )
        return 3
    parts = [read(entry, options.traces) for entry in entries(options.traces)]
    text = page(parts)
    if not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print(
            f"benchmarks/{PAGE.name} is not what the traces, tfadvisor and XProf "
            f"{version('xprof')} say: "
            f"run python benchmarks/{Path(__file__).name}",
            file=sys.stderr,
        )
        return 1
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="exit 1 when the page differs"
    )
    parser.add_argument(
        "--traces",
        type=Path,
        metavar="DIR",
        default=ROOT.parent / "shared" / "traces",
        help="where the traces are",
    )
    return parser.parse_args()


def entries(folder: Path) -> list[Entry]:
    """Every trace, those with the same bytes together, and every topmost folder beneath
    which no trace lies.
    """
    same: dict[str, list[Path]] = {}
    for path in sorted(folder.rglob(f"*{TRACE}")):
        same.setdefault(hashlib.sha256(path.read_bytes()).hexdigest(), []).append(path)
    found = [
        Entry(first, name_of(first, folder), tuple(rest))
        for first, *rest in same.values()
    ]
    found += [Entry(path, name_of(path, folder)) for path in without_trace(folder)]
    return sorted(found, key=lambda one: one.name)


def without_trace(folder: Path) -> Iterator[Path]:
    for path in sorted(one for one in folder.iterdir() if one.is_dir()):
        if not any(path.rglob(f"*{TRACE}")):
            yield path
        else:
            yield from without_trace(path)


def name_of(path: Path, folder: Path) -> str:
    return path.relative_to(folder).as_posix()


def read(entry: Entry, folder: Path) -> Part:
    try:
        report = tfadvisor.analyze(entry.path).report
    except tfadvisor.TraceError as error:
        words = str(error).replace(str(entry.path), entry.path.name)
        theirs = (
            xprof_says([entry.path])
            if entry.path.is_file()
            else "has nothing to read: it lists `*.xplane.pb` only."
        )
        return Part(entry, None, (), words, theirs)
    rows = rows_of(entry.path, report)
    if entry.copies:
        rows.append(both([entry.path, *entry.copies]))
    return Part(entry, report, tuple(rows), "", "")


def page(parts: list[Part]) -> str:
    read_ones = [part for part in parts if part.report is not None]
    text = [
        f"{NOTE}# Real traces, read by both\n\n"
        f"XProf {version('xprof')} and tfadvisor {VERSION} read {len(read_ones)} "
        "traces that others recorded and published, on "
        f"NVIDIA and AMD GPUs, TPUs\nand a CPU; {len(parts) - len(read_ones)} more "
        "are damaged or no traces at all. The traces "
        "are not part of this repository.\n\nThe last column of each table says who "
        'is right and why. "tfadvisor, alone" '
        "means that XProf has no such number. Every\njudgement is a rule of "
        "`benchmarks/real_trace_rows.py` over the numbers "
        "and the trace.\n",
        summary(parts),
        faults(parts),
    ]
    text += [section(part) for part in parts]
    text.append(
        "## Do it yourself\n\nWith the traces in a folder of their own, as above:\n\n"
        "```sh\npip install '.[differential]' "
        f"xprof=={version('xprof')}\npython benchmarks/{Path(__file__).name} "
        "--traces DIR\n```\n\n"
        "`--check` fails when the page is out of date.\n"
    )
    return "\n".join(text)


def summary(parts: list[Part]) -> str:
    judged = [row for part in parts for row in part.rows]
    number = Counter(row.who for row in judged)
    lines = [
        f"| {who.value} | {number[who]} of {len(judged)} |"
        for who in Who
        if number[who]
    ]
    rows = [
        "| trace | steps: XProf | steps: tfadvisor | XProf says | tfadvisor says |",
        "|---|---|---|---|---|",
    ]
    for part in parts:
        if part.report is None:
            rows.append(
                f"| [`{part.entry.name}`](#{anchor(part)}) | – | – | {part.theirs} | "
                "one clear error |"
            )
            continue
        steps, says = (
            next(row for row in part.rows if row.name == name)
            for name in ("steps", "verdict")
        )
        words = re.search(r"\w+ input-bound|No step time", says.theirs)
        rows.append(
            f"| [`{part.entry.name}`](#{anchor(part)}) | {steps.theirs} | "
            f"{steps.ours} | {words[0] if words else says.theirs} "
            f"| {says.ours.partition(':')[0].strip('*')} |"
        )
    return (
        "## Summary\n\n| who is right | rows |\n|---|---|\n"
        + "\n".join(lines)
        + "\n\n"
        + "\n".join(rows)
        + "\n"
    )


def faults(parts: list[Part]) -> str:
    """The faults of XProf that judgements refer to, each with the number of traces that
    meet it.
    """
    met = Counter(
        fault
        for part in parts
        for fault in {fault for row in part.rows for fault in row.faults}
    )
    lines = [
        f"{number}. {words} {met_words(met[number])}"
        for number, words in FAULTS.items()
    ]
    return "## XProf's faults\n\n" + "\n".join(lines) + "\n"


def met_words(traces: int) -> str:
    return (
        f"_Met in {traces} trace{'s' if traces > 1 else ''} here._"
        if traces
        else "_Met in no trace here._"
    )


def anchor(part: Part) -> str:
    """As GitHub makes it of the heading."""
    kept = (
        letter
        for letter in part.entry.name.lower()
        if letter.isalnum() or letter in "-_ "
    )
    return "".join(kept).replace(" ", "-")


def section(part: Part) -> str:
    origin = ORIGINS.get(part.entry.name.partition("/")[0])
    lines = [f"## {part.entry.name}\n"]
    if origin:
        lines.append(f"From {origin}.\n")
    if part.report is None:
        return "\n".join([*lines, f"tfadvisor: {part.error}\n\nXProf {part.theirs}\n"])
    if part.entry.copies:
        others = ", ".join(f"`{one.name}`" for one in part.entry.copies)
        lines.append(f"{others} beside it holds the very same bytes.\n")
    table = ["| | XProf | tfadvisor | who is right |", "|---|---|---|---|"]
    table += [
        f"| {row.name} | {escaped(row.theirs)} | {escaped(row.ours)} | "
        f"{escaped(row.judgement)} |"
        for row in part.rows
    ]
    return "\n".join([*lines, *table]) + "\n"


if __name__ == "__main__":
    sys.exit(main())
