"""Writes docs/beside-xprof.md: the recorded scenarios as XProf's overview and as tfadvisor describe them.

    pip install '.[record,tensorboard]'
    python benchmarks/beside_xprof.py                     write the page
    python benchmarks/beside_xprof.py --check             fail when the page is not what it would write
    python benchmarks/beside_xprof.py --fixtures NAME...  print the page for these scenarios only

A scenario is a folder of fixtures/ in git with what is planted (truth.yaml) and one trace for each host. XProf reads copies
in a temporary folder, because it writes its caches beside a trace. The rules below judge both tools, and the page prints them.
"""

from __future__ import annotations

import argparse
import gzip
import html
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml
from xprof.convert import raw_to_tool_data

import tfadvisor
from tfadvisor.report.model import Report
from tfadvisor.report.wording import saving_words
from tfadvisor.version import VERSION
from tfadvisor.vocabulary import Severity

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "beside-xprof.md"
NOTE = "<!-- written by benchmarks/beside_xprof.py; run it again instead of editing -->\n\n"
TRACE = ".xplane.pb.gz"
FRAMEWORKS = {"tensorflow": "TensorFlow", "jax": "JAX", "pytorch-xla": "PyTorch/XLA"}

# XProf's step breakdown: its property, the name on its page, and the class of bottleneck that the name stands for.
PARTS = (
    ("infeed_time_ms_avg", "input", "input"),
    ("device_compute_time_ms_avg", "device compute", "compute"),
    ("device_to_device_time_ms_avg", "device to device", "transfer"),
    ("device_collectives_time_ms_avg", "device collectives", "collective"),
    ("host_compute_time_ms_avg", "host compute", "host"),
    ("kernel_launch_time_ms_avg", "kernel launch", "launch"),
    ("outfeed_time_ms_avg", "output", "transfer"),
    ("compile_time_ms_avg", "compilation", "compile"),
    ("other_time_ms_avg", "all others", ""),
)
SHARES = (
    ("device_duty_cycle_percent", "device duty cycle"),
    ("device_idle_time_percent", "device idle"),
    ("host_idle_time_percent", "host idle"),
    ("device_op_time_eager_percent", "eager on the device"),
    ("host_op_time_eager_percent", "eager on the host"),
)
FIXED_TIPS = ("faq", "host", "device", "doc")
# Words of XProf's own sentences that name a bottleneck, and those that say it may be there.
NAMES_IT = {
    "input": ("HIGHLY input-bound", "MODERATELY input-bound"),
    "host": ("host overhead that is not input-related",),
    "launch": ("on 'Kernel Launch'", "used eager execution"),
    "compile": ("Expensive tf-functions detected",),
    "collective": ("on 'Device Collective Communication'", "on actual AllReduce"),
    "imbalance": ("synchronization with other TPU cores",),
    "transfer": ("HIGHLY output-bound", "MODERATELY output-bound"),
    "compute": ("16-bit Ops",),
}
MAY_BE_IT = {
    "input": ("POTENTIALLY input-bound", "COULD be input-bound"),
    "host": ("Python execution",),
    "launch": ("Python execution",),
}
CLEARED = "NOT input-bound"

YES, MAYBE, NO, SILENT = "yes", "possibly", "no", "no answer"


@dataclass(frozen=True)
class Scenario:
    name: str
    traces: tuple[Path, ...]
    planted: str
    framework: str
    bottleneck: str
    healthy: bool
    first_finding: str | None

    @property
    def folder(self) -> Path:
        return self.traces[0].parent


@dataclass(frozen=True)
class Overview:
    """XProf's overview page. parts: ms of the average step by XProf's name; asides: next steps and diagnostics."""

    step_ms: float | None
    parts: dict[str, float]
    shares: tuple[str, ...]
    sentences: tuple[str, ...]
    asides: tuple[str, ...]


@dataclass(frozen=True)
class Row:
    scenario: Scenario
    theirs: Overview
    ours: Report

    @property
    def xprof_names_it(self) -> str:
        return judged_xprof(self.scenario, self.theirs)

    @property
    def tfadvisor_names_it(self) -> str:
        return judged_tfadvisor(self.scenario, self.ours)

    @property
    def tfadvisor_steps(self) -> bool:
        return self.ours.steps.time_ms is not None and self.ours.steps.source != "whole-trace"


def main() -> int:
    """0 when the page is written or printed, or with --check already is what it should be."""
    options = arguments()
    rows = [Row(one, overview(one), tfadvisor.analyze(one.folder)) for one in scenarios(options.fixtures)]
    text = page(rows)
    if options.fixtures:
        print(text, end="")
    elif not options.check:
        PAGE.write_text(text, encoding="utf-8")
    elif not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        print(
            f"docs/{PAGE.name} is not what the traces, tfadvisor and XProf {version('xprof')} say: "
            f"run python benchmarks/{Path(__file__).name}",
            file=sys.stderr,
        )
        return 1
    return 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="exit 1 when the page differs")
    what.add_argument("--fixtures", nargs="+", metavar="NAME", help="print the page for these folders of fixtures/")
    return parser.parse_args()


def scenarios(names: list[str] | None) -> list[Scenario]:
    """The folders in git with a truth and traces at their top; the named ones need not be in git."""
    if names is None:
        listed = subprocess.run(
            ["git", "ls-files", "-z", "fixtures"], cwd=ROOT, check=True, capture_output=True, text=True
        )
        files = [Path(name) for name in listed.stdout.split("\0") if name.endswith(TRACE)]
        names = sorted({path.parts[1] for path in files if len(path.parts) == 3})
    folders = [ROOT / "fixtures" / name for name in names]
    if missing := [folder.name for folder in folders if not any(folder.glob(f"*{TRACE}"))]:
        raise SystemExit(f"no trace in fixtures/: {', '.join(missing)}")
    return [scenario(folder) for folder in folders if (folder / "truth.yaml").exists()]


def scenario(folder: Path) -> Scenario:
    truth = yaml.safe_load((folder / "truth.yaml").read_text(encoding="utf-8"))
    return Scenario(
        name=folder.name,
        traces=tuple(sorted(folder.glob(f"*{TRACE}"))),
        planted=truth["planted"],
        framework=truth["framework"],
        bottleneck=truth["bottleneck"],
        healthy=truth["healthy"],
        first_finding=truth["first_finding"],
    )


def overview(scenario: Scenario) -> Overview:
    """XProf's overview page and its smart suggestions for copies of the traces, all hosts together."""
    with tempfile.TemporaryDirectory() as place:
        copies = []
        for trace in scenario.traces:
            copy = Path(place) / trace.name.removesuffix(".gz")
            copy.write_bytes(gzip.decompress(trace.read_bytes()))
            copies.append(str(copy))
        tables = asked(copies, "overview_page")
        suggestions = asked(copies, "smart_suggestion")["suggestions"]
    general, step, _, advice, *rest = tables
    numbers, words = properties(step), properties(advice)
    step_ms = float(numbers["steptime_ms_average"])
    statements = [numbers["input_conclusion"]]
    statements += [value for name, value in sorted(words.items()) if re.search(r"statement(_html)?$", name)]
    statements += [cell(row, 1) for row in advice["rows"] if cell(row, 0) not in FIXED_TIPS]
    statements += [one["suggestionText"] for one in suggestions]
    diagnostics = [f"{cell(row, 0).capitalize()}: {cell(row, 1)}" for row in rest[-1].get("rows", [])]
    return Overview(
        step_ms=step_ms if step_ms > 0 else None,
        parts={name: ms for key, name, _ in PARTS if (ms := float(numbers[key])) > 0},
        shares=tuple(
            f"{name} {share}"
            for key, name in SHARES
            if (share := properties(general).get(key, "0.0%")) not in ("0.0%", "0%", "")
        ),
        sentences=plain(statements),
        asides=plain([numbers["summary_nextstep"], *diagnostics]),
    )


def asked(traces: list[str], tool: str) -> Any:
    with quiet():
        answer, _ = raw_to_tool_data.xspace_to_tool_data(traces, tool, {})
    if answer is None:
        raise SystemExit(f"XProf gives no {tool} for {', '.join(Path(trace).name for trace in traces)}")
    return json.loads(answer)


@contextmanager
def quiet() -> Iterator[None]:
    """XProf's C++ code logs every call to standard error, past Python."""
    sys.stderr.flush()
    kept = os.dup(2)
    with Path(os.devnull).open("w") as nothing:
        os.dup2(nothing.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def properties(table: dict[str, Any]) -> dict[str, str]:
    return table.get("p") or {}


def cell(row: dict[str, Any], column: int) -> str:
    return str(row["c"][column]["v"])


def plain(texts: list[str]) -> tuple[str, ...]:
    """Without tags, each sentence once, in their order."""
    stripped = (html.unescape(re.sub(r"<[^>]+>", "", text)).strip() for text in texts)
    return tuple(dict.fromkeys(text for text in stripped if text))


def judged_xprof(scenario: Scenario, theirs: Overview) -> str:
    """Of a planted bottleneck: is it named? Of a healthy run: is it left alone?"""
    if theirs.step_ms is None and not any(has(theirs, phrases) for phrases in NAMES_IT.values()):
        return SILENT
    if not scenario.healthy:
        if has(theirs, NAMES_IT.get(scenario.bottleneck, ())):
            return YES
        return MAYBE if has(theirs, MAY_BE_IT.get(scenario.bottleneck, ())) else NO
    if any(has(theirs, phrases) for bottleneck, phrases in NAMES_IT.items() if bottleneck != "compute"):
        return NO
    if any(has(theirs, phrases) for phrases in (*MAY_BE_IT.values(), NAMES_IT["compute"])):
        return MAYBE
    return YES if has(theirs, (CLEARED,)) else NO


def has(theirs: Overview, phrases: tuple[str, ...]) -> bool:
    return any(phrase in sentence for phrase in phrases for sentence in theirs.sentences)


def judged_tfadvisor(scenario: Scenario, ours: Report) -> str:
    if ours.verdict.bottleneck == "unknown":
        return SILENT
    if scenario.healthy:
        return YES if ours.verdict.healthy else NO
    if not ours.verdict.healthy and ours.verdict.bottleneck == scenario.bottleneck:
        return YES
    found = {one.category for one in ours.findings if one.severity.rank >= Severity.MEDIUM.rank}
    return MAYBE if scenario.bottleneck in found else NO


def page(rows: list[Row]) -> str:
    parts = [
        f"{NOTE}# The recorded scenarios in XProf and in tfadvisor\n\n"
        f"XProf {version('xprof')} and tfadvisor {VERSION} read the same {len(rows)} recordings of `fixtures/`. In most of "
        "them one known fault is planted;\nthe others are healthy. The tables quote both tools.\n",
        summary(rows),
        how_counted(rows),
    ]
    for framework in sorted({row.scenario.framework for row in rows}, key=lambda name: FRAMEWORKS.get(name, name)):
        part = [row for row in rows if row.scenario.framework == framework]
        parts.append(f"## {FRAMEWORKS.get(framework, framework)}\n\n{table(part)}")
    parts += [asides(rows), commands(rows)]
    return "\n".join(parts)


def summary(rows: list[Row]) -> str:
    planted = [row for row in rows if not row.scenario.healthy]
    healthy = [row for row in rows if row.scenario.healthy]
    lines = [
        counted(
            "measures a step time", rows, lambda row: row.theirs.step_ms is not None, lambda row: row.tfadvisor_steps
        ),
        *judgements("planted fault: names its kind of bottleneck", planted, YES),
        *judgements("planted fault: says that it may be this kind", planted, MAYBE),
        *judgements("planted fault: says something else", planted, NO),
        *judgements("planted fault: gives no answer", planted, SILENT),
        *judgements("healthy run: leaves it alone", healthy, YES),
        *judgements("healthy run: says that something may be wrong", healthy, MAYBE),
        *judgements("healthy run: reports a bottleneck", healthy, NO),
        *judgements("healthy run: gives no answer", healthy, SILENT),
    ]
    return "## Summary\n\n| | XProf | tfadvisor |\n|---|---|---|\n" + "\n".join(lines) + "\n"


def judgements(text: str, rows: list[Row], answer: str) -> list[str]:
    """One line of the summary; none without such scenarios."""
    if not rows:
        return []
    return [counted(text, rows, lambda row: row.xprof_names_it == answer, lambda row: row.tfadvisor_names_it == answer)]


def counted(text: str, rows: list[Row], theirs: Callable[[Row], bool], ours: Callable[[Row], bool]) -> str:
    return f"| {text} | {sum(map(theirs, rows))} of {len(rows)} | {sum(map(ours, rows))} of {len(rows)} |"


def how_counted(rows: list[Row]) -> str:
    planted = [row for row in rows if not row.scenario.healthy]
    cause = sum(first_finding(row) == row.scenario.first_finding for row in planted)
    by_part = sum(row.xprof_names_it != YES and largest_part(row.theirs) == row.scenario.bottleneck for row in planted)
    on_cpu = sum(all(device.kind == "cpu" for device in row.ours.run.devices) for row in rows)
    return f"""## How this is counted

- **A step time is measured** when XProf's average is above 0, and when tfadvisor tells the steps apart.
- **XProf** is judged by the sentences of its overview page (conclusion, statements, tips that depend on the run) and by
  its smart suggestions. The words below decide. One sentence that fits is enough, whatever the others say. "Python
  execution" counts as a hint at the host and at launching ops, although the same sentence also offers I/O.
- **tfadvisor** is judged by its verdict: the class must be the planted one, and the run must not be called healthy. A
  finding of the planted class from medium severity on, under another verdict, counts as "possibly".
- **A healthy run is left alone** when XProf says "{CLEARED}" without hinting at anything else, and when tfadvisor's
  verdict says healthy.

| planted | XProf names it | XProf says that it may be it |
|---|---|---|
{word_rows()}

What these counts do not show:

- The scenarios were recorded for tfadvisor's own tests, and the tests demand its verdict and first finding in each of
  them. The counts in its column are what the tests ask for, not how often it is right about other programs.
- {on_cpu} of {len(rows)} were recorded on CPUs without an accelerator. XProf is made for accelerators first.
- XProf's overview also draws the step's parts, and a reader can conclude from them. Were its largest part counted too,
  XProf would name {by_part} more of the planted faults. But on a CPU the model's own computation falls under "host compute"
  (TensorFlow) or "all others" (JAX), so those parts are the largest of a healthy run too.
- A kind of bottleneck is not yet its cause. XProf has other tools to look for that (input pipeline analyzer, tables of
  ops, timeline); they are not judged here. tfadvisor's first finding is the planted cause in {cause} of {len(planted)}.
"""


def word_rows() -> str:
    classes = dict.fromkeys((*NAMES_IT, *MAY_BE_IT))
    return "\n".join(
        f"| {one} | {quoted(NAMES_IT.get(one, ()))} | {quoted(MAY_BE_IT.get(one, ()))} |" for one in classes
    )


def quoted(phrases: tuple[str, ...]) -> str:
    return ", ".join(f'"{phrase}"' for phrase in phrases) or "–"


def first_finding(row: Row) -> str | None:
    """The first finding that is about the program; those about the capture come beside it."""
    return next((one.rule_id for one in row.ours.findings if one.category != "capture"), None)


def largest_part(theirs: Overview) -> str | None:
    classes = {name: kind for _, name, kind in PARTS}
    return classes[max(theirs.parts, key=lambda name: theirs.parts[name])] if theirs.parts else None


def table(rows: list[Row]) -> str:
    head = (
        "scenario",
        "planted",
        "XProf: average step, its parts (ms)",
        "XProf says",
        "XProf names it",
        "tfadvisor: average step (ms)",
        "tfadvisor says",
        "first finding",
        "tfadvisor names it",
    )
    lines = [head, ("---",) * len(head), *map(cells, rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def cells(row: Row) -> tuple[str, ...]:
    scenario, theirs, ours = row.scenario, row.theirs, row.ours
    hosts = f" ({len(scenario.traces)} hosts)" if len(scenario.traces) > 1 else ""
    kind = "" if scenario.healthy else f" → **{scenario.bottleneck}**"
    return (
        f"`{scenario.name}`{hosts}",
        escaped(scenario.planted) + kind,
        escaped(step_words(theirs)),
        "<br>".join(f"“{escaped(sentence)}”" for sentence in theirs.sentences),
        asked_and_answered(scenario, row.xprof_names_it),
        f"{ours.steps.time_ms.mean:.1f}" if ours.steps.time_ms and row.tfadvisor_steps else "none",
        f"“{escaped(ours.verdict.summary)}”",
        escaped(finding_words(ours)),
        asked_and_answered(scenario, row.tfadvisor_names_it),
    )


def asked_and_answered(scenario: Scenario, answer: str) -> str:
    """`yes`; of a healthy run `left alone`, `suspects` or `false alarm`."""
    if not scenario.healthy:
        return answer
    return {YES: "left alone", MAYBE: "suspects", NO: "false alarm", SILENT: SILENT}[answer]


def step_words(theirs: Overview) -> str:
    """`7.3: input 5.8, host compute 0.9`."""
    parts = [f"{name} {ms:.1f}" for name, ms in theirs.parts.items()]
    step = "none" if theirs.step_ms is None else f"{theirs.step_ms:.1f}"
    return "; ".join([f"{step}: {', '.join(parts)}" if parts else step, *theirs.shares])


def finding_words(ours: Report) -> str:
    """`The input pipeline is a Python generator (36–90% of step time)`, with the place when there is one."""
    finding = next((one for one in ours.findings if one.category != "capture"), None)
    if finding is None:
        return "none"
    places = [f", {one.file}{'' if one.line is None else f':{one.line}'} in {one.op}" for one in finding.locations[:1]]
    saving = saving_words(finding.saving)
    return f"{finding.title}{''.join(places)}{f'; saves {saving}' if saving else ''}"


def escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def asides(rows: list[Row]) -> str:
    """XProf's next steps and diagnostics, each with its scenarios."""
    said: dict[str, list[str]] = {}
    for row in rows:
        for text in row.theirs.asides:
            said.setdefault(text, []).append(f"`{row.scenario.name}`")
    lines = [f"- “{escaped(text)}”\n  {', '.join(names)}" for text, names in said.items()]
    return "## XProf's next steps and diagnostics\n\nThey do not count above.\n\n" + "\n".join(lines) + "\n"


def commands(rows: list[Row]) -> str:
    name = max(rows, key=lambda row: (row.xprof_names_it == YES, row.scenario.name)).scenario.name
    run = f"logdir/plugins/profile/{name}"
    return f"""## Do it yourself

XProf writes caches beside a trace, so give it a copy. For one scenario, in the root of the repository:

```sh
pip install '.[record,tensorboard]' xprof=={version("xprof")}
mkdir -p {run}
for trace in fixtures/{name}/*{TRACE}; do gzip -dc "$trace" > "{run}/$(basename "$trace" .gz)"; done

xprof get_overview --session_id={name} --logdir=logdir
xprof server --logdir=logdir            # the overview page itself, in a browser
tfadvisor analyze fixtures/{name}
```

`xprof get_overview` prints step time and shares, but not the conclusion. This prints all that the overview page holds:

```sh
python - {run}/*.xplane.pb <<'END'
import sys
from xprof.convert.raw_to_tool_data import xspace_to_tool_data
print(xspace_to_tool_data(sys.argv[1:], "overview_page", {{}})[0].decode())
END
```

This page: `python benchmarks/{Path(__file__).name}`. With `--check` it fails when the page is out of date, with
`--fixtures NAME…` it prints the page for some scenarios only.
"""


if __name__ == "__main__":
    sys.exit(main())
