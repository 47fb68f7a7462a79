"""Writes benchmarks/gate_study/results.md and its picture from recorded runs: false
alarms, power, and whether causes are named.

    python benchmarks/gate_study/study.py            write the page
    python benchmarks/gate_study/study.py --check    exit 1 when the page differs

The runs lie in benchmarks/gate_study/data; record.py records them anew. A minute on one
core.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import judged as judged_later
from pairs import (
    KEPT,
    STEP,
    Pair,
    Run,
    changed,
    config,
    following,
    in_turns,
    judged,
    load,
    middle,
    outcome,
    programs,
    slower,
    step_change,
    unchanged,
)
from picture import curves

from tfadvisor.comparison.baseline.snapshot import Snapshot
from tfadvisor.comparison.change import ChangeCause
from tfadvisor.comparison.gate.result import Check, Outcome
from tfadvisor.comparison.split import compare_sides

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PAGE = HERE / "results.md"
PICTURE = ROOT / "docs" / "pictures" / "gate-study.svg"
SETTINGS = config()
EARLIER = ("second-busy", "second-calm")
"""The second recording as it was made twice before, while the whole rate of false
alarms was for ordinary scatter.
"""
BUSY = 2.0
"""A load above which more than the study's own runs was on the cores."""
SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0)
KINDS = {
    "slower-5": "Python work, 5% of the step",
    "slower-10": "Python work, 10% of the step",
    "slower-20": "Python work, 20% of the step",
    "recompile": "one compilation in every step",
    "copy": "one copy in every step",
}
CAUSES = {
    "host": ("logging between steps, half a step long", "host"),
    "slower-20": ("logging between steps, a fifth of a step long", "host"),
    "input": ("loading before steps, half a step long", "input"),
    "op": ("one matrix product more", "new op"),
    "launches": ("40 tiny ops dispatched one by one", "launch"),
    "recompile": ("one compilation in every step", "compile"),
}


def main(check: bool) -> int:
    """0 when the page is written, or with --check already is what it should be."""
    about, runs = load(HERE / "data" / "tuned.jsonl.gz")
    later = load(HERE / "data" / "judged.jsonl.gz")
    lines = {name: curve(runs, pairs) for name, pairs in SERIES.items()}
    for limit in (0.05, 0.10):
        lines[f"plain {limit:.0%}, one run, after ten"] = plain_curve(runs, limit)
    texts = {PAGE: page(about, runs, lines, later), PICTURE: curves(SHARES, lines)}
    stale = [
        path
        for path, text in texts.items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path in stale:
        if check:
            print(f"{path.name} is not what the recorded runs say", file=sys.stderr)
        else:
            path.write_text(texts[path], encoding="utf-8")
    return 1 if check and stale else 0


def page(
    about: dict,
    runs: Sequence[Run],
    lines: dict[str, list[float]],
    later: tuple[Mapping[str, object], list[Run]],
) -> str:
    """The whole page."""
    text = (HERE / "page.md").read_text(encoding="utf-8")
    tables: dict[str, Callable[[], str]] = {
        "RECORDING": lambda: recording(about, runs),
        "SPREAD": lambda: spread(runs),
        "ALARMS": lambda: alarms(runs),
        "COUNTS": lambda: counts(runs),
        "POWER": lambda: power(runs),
        "CURVES": lambda: curve_table(lines),
        "CAUSES": lambda: causes(runs),
        "RECORDING_2": lambda: recording(*later),
        "EARLIER": lambda: judged_later.earlier(
            [load(HERE / "data" / f"{one}.jsonl.gz")[1] for one in EARLIER], SETTINGS
        ),
        "STREAM": lambda: judged_later.alarms(later[1], SETTINGS),
        "FIRST_DAYS": lambda: judged_later.first_days(later[1], SETTINGS),
        "SENSITIVITY": lambda: judged_later.sensitivity(later[1], SETTINGS),
        "MADE": lambda: judged_later.made((0.005, 0.01, 0.02, 0.03, 0.05)),
        "SECOND_RUN": lambda: judged_later.counts(later[1], SETTINGS),
    }
    for name, table in tables.items():
        text = text.replace(f"{{{{{name}}}}}", table())
    return text


def recording(about: Mapping[str, object], runs: Sequence[Run]) -> str:
    loads = sorted(run.load for run in runs)
    number = len(runs)
    same = sum(run.kind == "none" for run in runs)
    minutes = int(str(about["seconds"])) / 60
    middle_load = loads[number // 2]
    beside = (
        "other work kept the cores busy" if middle_load > BUSY else "little else ran"
    )
    return (
        f"{number} runs in {minutes:.0f} minutes on {about['machine']}, {same} of "
        "them unchanged. The load "
        f"before a run was {loads[0]:g} to {loads[-1]:g}, in the middle "
        f"{middle_load:g}: {beside}."
    )


def spread(runs: Sequence[Run]) -> str:
    """How much unchanged runs differ, as measured and at equal speed."""
    rows = [
        "| program | unchanged runs | step | spread of step times | smallest change "
        "seen: anywhere | outside the unchanged ops |"
    ]
    rows.append("|---|---:|---:|---:|---:|---:|")
    for program in programs(runs):
        ours = unchanged(runs, program)
        times = [run.snapshot.side.median_ms for run in ours]
        centre = middle(times)
        scatter = 1.4826 * middle([abs(time / centre - 1) for time in times])
        checks = [
            step_check(judged(pair, SETTINGS))
            for pair in following(runs)
            if pair.new[0].key.model == program
        ]
        anywhere = middle([check.detectable / check.base for check in checks])
        outside = middle(
            [
                (check.detectable_outside or check.detectable) / check.base
                for check in checks
            ]
        )
        rows.append(
            f"| {program} | {len(ours)} | {centre:.1f} ms | {scatter:.0%} | "
            f"{anywhere:+.0%} | {outside:+.0%} |"
        )
    return "\n".join(rows)


def step_check(checks: Iterable[Check]) -> Check:
    return next(check for check in checks if check.name == STEP)


def alarms(runs: Sequence[Run]) -> str:
    """Unchanged against unchanged."""
    rows = [
        "| pairs | number | gate: fail | gate: cannot tell | gate: pass | plain 5% | "
        "plain 10% |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    sets = {
        "a run against the ten before it": list(following(runs)),
        "of 11 in turns, one against ten": list(in_turns(runs, 1)),
        "of 15 in turns, five against ten": list(in_turns(runs, 5)),
    }
    for name, pairs in sets.items():
        found = Counter(outcome(judged(pair, SETTINGS)) for pair in pairs)
        number = len(pairs)
        plain = [
            sum(step_change(pair) > limit for pair in pairs) / number
            for limit in (0.05, 0.10)
        ]
        rows.append(
            f"| {name} | {number} | {found[Outcome.FAIL]} "
            f"({found[Outcome.FAIL] / number:.1%}) | {found[Outcome.CANNOT_TELL]} | "
            f"{found[Outcome.PASS]} | {plain[0]:.0%} | {plain[1]:.0%} |"
        )
    return "\n".join(rows)


def counts(runs: Sequence[Run]) -> str:
    """False alarms of everything but the step time."""
    pairs = list(following(runs))
    failed = sum(
        any(
            check.outcome is Outcome.FAIL
            for check in judged(pair, SETTINGS)
            if check.name != STEP
        )
        for pair in pairs
    )
    return (
        f"Counts (kernels, dispatches, retraces) raised {failed} false alarms in the "
        f"{len(pairs)} pairs of the first row."
    )


def power(runs: Sequence[Run]) -> str:
    """Runs with something planted, judged alone against the ten unchanged runs before
    them.
    """
    rows = [
        "| planted | runs | fail | shown, but no failure | cannot tell | pass | "
        "plain 5% | plain 10% |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for kind, words in KINDS.items():
        pairs = [pair for _, pair in changed(runs, kind)]
        checks = [judged(pair, SETTINGS) for pair in pairs]
        found = Counter(outcome(one) for one in checks)
        told = sum(
            outcome(one) is Outcome.CANNOT_TELL
            and "faster machine" in step_check(one).message
            for one in checks
        )
        plain = [
            sum(step_change(pair) > limit for pair in pairs) for limit in (0.05, 0.10)
        ]
        untold = found[Outcome.CANNOT_TELL] - told
        rows.append(
            f"| {words} | {len(pairs)} | {found[Outcome.FAIL]} | {told} | {untold} | "
            f"{found[Outcome.PASS]} | "
            f"{plain[0]} | {plain[1]} |"
        )
    return "\n".join(rows)


def _one_after_ten(runs: Sequence[Run]) -> list[Pair]:
    return list(following(runs))


SERIES: dict[str, Callable[[Sequence[Run]], list[Pair]]] = {
    "one run, after ten": _one_after_ten,
    "three runs, in turns with ten": lambda runs: list(in_turns(runs, 3)),
    "five runs, in turns with ten": lambda runs: list(in_turns(runs, 5)),
}


def curve(
    runs: Sequence[Run], pairs_of: Callable[[Sequence[Run]], list[Pair]]
) -> list[float]:
    """The share of pairs that fail, by how much the new runs are slowed in their
    snapshots.
    """
    found = []
    for share in SHARES:
        pairs = [
            Pair(tuple(slower(one, share) for one in pair.new), pair.base)
            for pair in pairs_of(runs)
        ]
        failed = sum(outcome(judged(pair, SETTINGS)) is Outcome.FAIL for pair in pairs)
        found.append(failed / len(pairs))
    return found


def plain_curve(runs: Sequence[Run], limit: float) -> list[float]:
    """The same for a plain threshold."""
    changes = [1 + step_change(pair) for pair in following(runs)]
    return [
        sum(change * (1 + share) - 1 > limit for change in changes) / len(changes)
        for share in SHARES
    ]


def curve_table(lines: dict[str, list[float]]) -> str:
    head = "| slower by | " + " | ".join(f"{share:.0%}" for share in SHARES) + " |"
    rows = [head, "|---|" + "---:|" * len(SHARES)]
    rows += [
        f"| {name} | " + " | ".join(f"{value:.0%}" for value in values) + " |"
        for name, values in lines.items()
    ]
    return "\n".join(rows)


def causes(runs: Sequence[Run]) -> str:
    """Whether the comparison's first cause is what was planted, against the middle run
    of the ten and against each.
    """
    rows = [
        "| planted | expected first | against the middle run | against each of the "
        "ten | largest error of the sum |",
        "|---|---|---:|---:|---:|",
    ]
    all_middle, all_each = [], []
    for kind, (words, expected) in CAUSES.items():
        to_middle, to_each, error = [], [], 0.0
        for run, pair in changed(runs, kind):
            for base in pair.base:
                comparison = compare_sides(base.side, run.snapshot.side)
                named = comparison.causes[0].class_name == expected
                if expected == "new op":
                    named = is_new_product(comparison.causes[0])
                to_each.append(named)
                if base is middle_run(pair):
                    to_middle.append(named)
                error = max(
                    error, abs(comparison.residual_ms) / comparison.base.mean_ms
                )
        all_middle += to_middle
        all_each += to_each
        rows.append(
            f"| {words} | {expected} | {hits(to_middle)} | {hits(to_each)} | "
            f"{error:.0e} |"
        )
    rows.append(f"| **all** | | **{share(all_middle)}** | **{share(all_each)}** | |")
    return "\n".join(rows)


def is_new_product(cause: ChangeCause) -> bool:
    return (
        cause.op is not None
        and cause.op.status == "new"
        and ("dot" in cause.name or "MatMul" in cause.name)
    )


def hits(found: Sequence[bool]) -> str:
    return f"{sum(found)} of {len(found)}"


def share(found: Sequence[bool]) -> str:
    return f"{sum(found) / len(found):.1%}"


def middle_run(pair: Pair) -> Snapshot:
    """The baseline's run with the middle step time, as the gate explains its failures
    with.
    """
    return sorted(pair.base, key=lambda one: one.side.median_ms)[KEPT // 2]


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
