"""How many of the diagnosis benchmark's faulty programs does `tfadvisor fix` patch from
their first finding alone?

    python benchmarks/patch_programs.py                      # what the recordings, else diagnosis/results.md, say first
    python benchmarks/patch_programs.py --each --only tf_two_tower
    python benchmarks/patch_programs.py --measure --rounds 3 # and how much of the lost time each patch gives back
    python benchmarks/patch_programs.py --programs batches/7/programs.txt --recordings data/batches/7   # others

The programs choose their form by an argument `faulty` or `fault`. It is folded away
first, so that codemods see what a user would have; a line that the trace names is found
again by its text. A patch counts where nobody was asked and the patched program
compiles. Lines for the launch script do not count. Needs the `fix` extra; --measure
needs `record` and a calm machine.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from folding import folded
from msgspec.structs import replace

from tfadvisor.act.repair.plan import Patched, make_plan
from tfadvisor.act.repair.unified_diff import unified
from tfadvisor.advice.codemods import LAUNCH_LINE
from tfadvisor.advice.findings import Finding, Fix, Location, Saving
from tfadvisor.advice.loading.catalogue import built_in_rules
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.analysis import analyze
from tfadvisor.errors import AdvisorError
from tfadvisor.vocabulary import Severity

HERE = Path(__file__).resolve().parent
DIAGNOSIS = HERE / "diagnosis"
sys.path.append(str(DIAGNOSIS))

from sources import programs  # noqa: E402

PROGRAMS = DIAGNOSIS / "programs.txt"
PAGE = DIAGNOSIS / "results.md"
RECORDINGS = HERE / "data" / "diagnosis"
ROW = re.compile(
    r"^\| `(?P<name>\w+)` \| .*? → \*\*[\w/-]+\*\* \| [^|]*\| [\w/-]+\??: "
    r"(?P<rule>[\w-]+), \w+"
    r"(?: \((?P<file>[^:()]*):(?P<line>\d+) in (?P<function>[^)]*)\))?",
    re.M,
)
ENOUGH = 0.8
"""Share of the lost time from which a patch counts as a cure."""


class Outcome(NamedTuple):
    """A program's first finding, and its patch or why there is none."""

    name: str
    rule: str
    patched: Patched | None
    why: str


# ---------------------------------------------------------------- the program as its
# user would have it


def same_line(source: str, line: int, into: str) -> int | None:
    """Where a line stands after folding: the one with the same text, the nearest of
    several.
    """
    wanted = source.splitlines()[line - 1].strip()
    found = [
        number
        for number, text in enumerate(into.splitlines(), 1)
        if text.strip() == wanted
    ]
    return min(found, key=lambda number: abs(number - line), default=None)


# ---------------------------------------------------------------- its first finding


def first_findings(packed: Path, recordings: Path) -> dict[str, Finding | None]:
    """By program: of its recordings where they are kept, else as the page has it. None
    where nothing was found.
    """
    rules = {rule.id: rule for rule in built_in_rules()}
    sources = programs(packed)
    found: dict[str, Finding | None] = {}
    for row in (
        ROW.finditer(PAGE.read_text(encoding="utf-8")) if packed == PROGRAMS else ()
    ):
        place = (
            [Location(row["file"], int(row["line"]), row["function"])]
            if row["file"]
            else []
        )
        if row["rule"] in rules:  # the page may name one that is gone
            found[row["name"]] = made_up(rules[row["rule"]], place)
    for folder in sorted(recordings.glob("*/faulty")):
        if folder.parent.name in sources:
            found[folder.parent.name] = first_of(sorted(folder.rglob("*.xplane.pb*")))
    return found


def first_of(traces: Sequence[Path]) -> Finding | None:
    try:
        findings = analyze(traces[0].parent).findings if traces else ()
    except AdvisorError as error:
        print(f"{traces[0].parent}: {error}", file=sys.stderr)
        return None
    return next((one for one in findings if one.category != "capture"), None)


def made_up(rule: Rule, places: list[Location]) -> Finding:
    """What a codemod is told of a finding: its rule, its fixes, its places."""
    fixes = tuple(
        Fix(one.kind, one.do, one.snippet, one.env, one.valid_for, one.side_effect)
        for one in rule.fixes
    )
    return Finding(
        rule_id=rule.id,
        category=rule.category,
        severity=Severity.HIGH,
        title=rule.title,
        summary=rule.summary,
        evidence=(),
        saving=Saving(0, 0, ""),
        fixes=fixes,
        locations=tuple(places),
        source=rule.source,
        caveat="",
    )


def attempt(
    name: str, original: str, finding: Finding | None, codemods: Mapping[str, Any]
) -> tuple[Outcome, str]:
    """The outcome, and the text that it is about."""
    text = folded(original, True)
    if finding is None:
        return Outcome(name, "nothing found", None, "the report has no finding"), text
    file = f"{name}.py"
    places = tuple(
        Location(
            one.file,
            same_line(original, one.line, text)
            if one.file == file and one.line
            else None,
            one.op,
        )
        for one in finding.locations
    )
    fixes = tuple(one for one in finding.fixes if not one.env)
    launched = any(
        one.name == LAUNCH_LINE for one in codemods[finding.rule_id]
    ) and len(fixes) < len(finding.fixes)
    plan = make_plan(
        [replace(finding, locations=places, fixes=fixes)],
        codemods,
        {file: text},
        unified,
    )
    if plan.patched:
        compile(plan.patched[0].text, file, "exec", dont_inherit=True)
        return Outcome(name, finding.rule_id, plan.patched[0], ""), text
    asked = plan.unpatched[0]
    why = (
        f"asks between {', '.join(map(str, asked.candidates))}"
        if asked.candidates
        else asked.why
    )
    return Outcome(
        name,
        finding.rule_id,
        None,
        f"{why}{' (lines for the launch script alone)' if launched else ''}",
    ), text


# ---------------------------------------------------------------- what the patches give
# back


def measured(
    name: str, texts: Mapping[str, str], steps: int, rounds: int
) -> dict[str, float]:
    """Median step of each form in ms, the forms in turns. A form that fails is left
    out.
    """
    times: dict[str, list[float]] = {form: [] for form in texts}
    for _ in range(rounds):
        for form, text in texts.items():
            with tempfile.TemporaryDirectory() as place:
                program = Path(place) / f"{name}.py"
                program.write_text(text, encoding="utf-8")
                command = [
                    sys.executable,
                    str(DIAGNOSIS / "measure.py"),
                    str(steps),
                    str(program),
                    place,
                    "--fault",
                ]
                try:
                    done = subprocess.run(
                        command,
                        capture_output=True,
                        text=True,
                        cwd=place,
                        timeout=180,
                        check=True,
                    )
                    times[form].append(float(done.stdout.split()[-1]))
                except (subprocess.SubprocessError, ValueError, IndexError) as error:
                    print(f"{name}, {form}: {error}", file=sys.stderr)
    return {form: statistics.median(found) for form, found in times.items() if found}


def regained(times: Mapping[str, float]) -> float | None:
    """Share of the lost time; None where a form did not run or the fault cost less than
    a tenth of its step.
    """
    if len(times) < 3 or times["faulty"] - times["healthy"] < 0.1 * times["faulty"]:
        return None
    return (times["faulty"] - times["patched"]) / (times["faulty"] - times["healthy"])


# ---------------------------------------------------------------- the answer


def main(options: argparse.Namespace) -> None:
    codemods = {rule.id: rule.codemods for rule in built_in_rules()}
    sources = programs(options.programs)
    truths = yaml.safe_load(
        (options.programs.parent / "truth.yaml").read_text(encoding="utf-8")
    )["programs"]
    outcomes, shares = [], {}
    for name, finding in first_findings(options.programs, options.recordings).items():
        if options.only and name not in options.only:
            continue
        outcome, text = attempt(name, sources[name], finding, codemods)
        outcomes.append(outcome)
        if options.each:
            print_one(outcome)
        if options.measure and outcome.patched and "hosts" not in truths[name]:
            healthy = folded(sources[name], False)
            forms = {
                "faulty": text,
                "patched": outcome.patched.text,
                "healthy": healthy,
            }
            shares[name] = regained(
                measured(name, forms, truths[name]["steps"], options.rounds)
            )
            print(
                f"{name}: regained "
                f"{'unknown' if shares[name] is None else f'{shares[name]:.2f}'}",
                flush=True,
            )
    summary(outcomes, shares)
    if options.json:
        rows = [
            {
                "name": one.name,
                "rule": one.rule,
                "codemod": one.patched.codemod if one.patched else None,
            }
            for one in outcomes
        ]
        options.json.write_text(
            json.dumps(
                [{**row, "regained": shares.get(row["name"])} for row in rows], indent=1
            )
        )


def print_one(outcome: Outcome) -> None:
    if outcome.patched is None:
        print(f"-- {outcome.name} ({outcome.rule}): {outcome.why}")
        return
    print(
        f"ok {outcome.name} ({outcome.rule}): {outcome.patched.codemod}: "
        f"{outcome.patched.did} ({outcome.patched.patch.sure})"
    )
    print(outcome.patched.patch.diff)


def summary(outcomes: Sequence[Outcome], shares: Mapping[str, float | None]) -> None:
    done = [one for one in outcomes if one.patched]
    by_sure = {
        sure: sum(one.patched.patch.sure == sure for one in done if one.patched)
        for sure in ("mechanical", "guess")
    }
    print(
        f"\n{len(done)} of {len(outcomes)} programs patched from their first "
        f"finding, all compile: {by_sure}"
    )
    print("\nwithout a patch:")
    for one in outcomes:
        if one.patched is None:
            print(f"  {one.name} ({one.rule}): {one.why}")
    known = [share for share in shares.values() if share is not None]
    if known:
        enough = sum(share >= ENOUGH for share in known)
        print(
            f"\nregained: median {statistics.median(known):.2f} of {len(known)}; "
            f"{enough} at least {ENOUGH:.0%}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="*", metavar="PROGRAM")
    parser.add_argument(
        "--programs",
        type=Path,
        default=PROGRAMS,
        metavar="FILE",
        help="with truth.yaml beside it",
    )
    parser.add_argument(
        "--recordings",
        type=Path,
        default=RECORDINGS,
        metavar="DIR",
        help="NAME/faulty with the traces",
    )
    parser.add_argument("--each", action="store_true", help="print each patch")
    parser.add_argument(
        "--measure",
        action="store_true",
        help="run faulty, patched and healthy form in turns",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, metavar="FILE")
    main(parser.parse_args())
