"""benchmarks/savings/results.md: what was promised, what came true."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from counts import Counts, Judged, by_class, counts
from fit import told
from gpu_rows import Row, rows
from msgspec.structs import replace
from pairs import Pair

from tfadvisor.advice.savings import FEWEST_PAIRS, Calibration

NOTE = (
    "<!-- written by benchmarks/savings/run.py; run it again instead of editing -->\n\n"
)
_HEAD = (
    "| | programs | inside | below | above | width | bias | median error | 90% of "
    "errors | order |"
)
_LINE = "|---" * 10 + "|"


def written(
    diagnosis: Sequence[Judged],
    blind: Sequence[Judged],
    silent: Sequence[Pair],
    known: Calibration,
) -> str:
    """The page. diagnosis: each left out of its own calibration. silent: programs of
    which no finding promises anything.
    """
    parts = [
        f"{NOTE}# Savings that come true\n\n",
        _lead(diagnosis, blind),
        _tables(diagnosis, blind),
        _method(known),
        _on_gpu(rows()),
        _each("## Every program of the diagnosis benchmark", diagnosis),
        _each("## Every program of the blind batches", blind),
        _silent(silent),
        _again(diagnosis),
    ]
    return "".join(parts)


def _lead(diagnosis: Sequence[Judged], blind: Sequence[Judged]) -> str:
    one, other = counts(diagnosis), counts(blind)
    then, before = counts(diagnosis, before=True), counts(blind, before=True)
    return f"""A finding says what its cure saves, as a range of shares of the step. How often is that so?

Of {one.programs} programs of the [diagnosis benchmark](../diagnosis/results.md), each left out of the calibration that it is
judged by, the true saving lies inside the range in {one.inside:.0%},
and the middle is off by {one.median_error * 100:.0f} points in the median.
Of {other.programs} programs of the [blind batches](../diagnosis/first-sight.md), none of which had a part in the calibration,
it lies inside in {other.inside:.0%}, and the middle is off by {other.median_error * 100:.0f} points. As rules had their savings,
before they were replayed, it lay inside in {then.inside:.0%} and {before.inside:.0%}.

All of this is about runs without an accelerator. On an H200 a finding prints its rule's own range, and never more than it
takes itself, where two programs bear that out ([below](#on-a-gpu)). On TPUs nothing was measured: findings say what they take.

"""


def _tables(diagnosis: Sequence[Judged], blind: Sequence[Judged]) -> str:
    lines = ["## In all\n", _HEAD, _LINE]
    batches = {
        name: [one for one in blind if one.pair.batch == name]
        for name in sorted({one.pair.batch for one in blind})
    }
    for name, found in {
        "diagnosis benchmark, left out": diagnosis,
        "blind batches": blind,
        **batches,
    }.items():
        lines.append(_row(f"{name}: before", counts(found, before=True)))
        lines.append(_row(f"**{name}: now**", counts(found)))
    for name, truth in (
        ("calm step times alone", "calm"),
        ("traced step times alone", "traced"),
    ):
        lines.append(
            _row(
                f"diagnosis benchmark, now, by {name}",
                counts(_by_truth(diagnosis, truth)),
            )
        )
    lines += ["", "## By class of the planted fault\n", _HEAD, _LINE]
    for name, found in by_class(diagnosis).items():
        lines.append(_row(f"{name}: before", counts(found, before=True)))
        lines.append(_row(f"**{name}: now**", counts(found)))
    lines += [
        "",
        "Inside: the true saving lies in the range; below and above: it lies there. "
        "Width, bias (middle of the range less true",
        "saving), errors: in points of the step. Order: Spearman's correlation of "
        "middle and truth.\n\n",
    ]
    return "\n".join(lines)


def _by_truth(found: Sequence[Judged], truth: str) -> list[Judged]:
    """Where the other form of the program was timed so, and faster."""
    timed = [(one, getattr(one.pair, truth)) for one in found]
    return [
        replace(one, true=1 - steps[0] / steps[1])
        for one, steps in timed
        if steps is not None and steps[0] < steps[1]
    ]


def _row(name: str, one: Counts) -> str:
    order = f"{one.spearman:.2f}" if one.programs > 2 else "–"
    points = (one.width, one.bias, one.median_error, one.p90_error)
    numbers = [
        f"{one.inside:.0%}",
        f"{one.below:.0%}",
        f"{one.above:.0%}",
        *(f"{value * 100:.0f}" for value in points),
    ]
    numbers[4] = f"{one.bias * 100:+.0f}"
    return f"| {name} | {one.programs} | {' | '.join(numbers)} | {order} |"


def _method(known: Calibration) -> str:
    lines = [
        "## How a saving is made\n",
        "1. The step is taken apart: the classes of time of the report, and compute "
        "in three: what ops need undisturbed,",
        "   the first 10 µs of each, and what other work on the same cores adds (all "
        "beyond the fastest fifth of an op's).",
        "2. Where recording took 10% of the step or more (0.2 µs a Python frame, 1 "
        "µs any other event of the driving thread),",
        "   that time is taken off.",
        "3. The fault's own time goes, and with it a part of the others: how much of "
        "each remains was fitted by class of fault,",
        "   below. A fault that takes less than a fifth of the step takes as much "
        "less with it, since nearly all measured ones",
        "   are larger. Nothing grows, so no saving leaves 0 to 100%.",
        "4. The range is wide enough, in odds, for eight of ten programs that had no "
        "part in the fit.",
        "5. The next finding is replayed on what the first leaves; so findings never "
        "promise more than the step together.\n",
        "What remains of each part when a fault goes:\n",
    ]
    names = list(next(iter(known.faults.values())).keeps)
    lines += [
        f"| class of fault | programs | its own time | {' | '.join(names)} |",
        "|---" * (len(names) + 3) + "|",
    ]
    for name, fault in sorted(known.faults.items()):
        kept = " | ".join(f"{fault.keeps[part]:.0%}" for part in names)
        lines.append(f"| {name} | {fault.pairs} | {fault.left:.0%} | {kept} |")
    lines += [
        "",
        "A class with few programs keeps near what physics says of it: `PRIOR` in "
        "`benchmarks/savings/fit.py`.\n\n",
    ]
    return "\n".join(lines)


def _on_gpu(programs: Sequence[Row]) -> str:
    """What programs of benchmarks/gpu-programs/planted.md bear out."""
    lines = [
        "## On a GPU\n",
        "Programs with a fault and without, on an H200, timed without a profiler: each "
        "row of [on a GPU](../gpu-programs/planted.md)",
        "with a healthy form of the same work. A program bears its class out where it "
        "saves nine tenths or more of what the rule",
        f"says could go at most. Where fewer than {FEWEST_PAIRS} of a class do, findings "
        "print no range.\n",
        "| program | class of fault | finding | at most | true | bears it out |",
        "|---|---|---|---|---|---|",
    ]
    for one in sorted(programs, key=lambda one: (one.fault, one.program)):
        cells = (
            f"`{one.program}`",
            one.fault,
            f"`{one.rule}`" if one.rule else "none",
            f"{one.takes:.0%}" if one.takes is not None else "–",
            f"{one.saves:.0%}",
            "yes" if one.bears_out else "**no**",
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n\n"


def _each(title: str, found: Sequence[Judged]) -> str:
    lines = [
        f"{title}\n",
        "| program | planted | finding | before | now | true | inside |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in sorted(
        found, key=lambda one: (one.pair.batch, one.pair.planted, one.pair.program)
    ):
        said = told(one.pair)
        finding = (
            f"`{said.claim.rule}`"
            if said is not None and one.pair.faults == 1
            else "all together"
        )
        inside = "yes" if one.now[0] <= one.true <= one.now[1] else "**no**"
        cells = (
            f"`{one.pair.program}`",
            one.pair.planted,
            finding,
            _range(one.before),
            _range(one.now),
            f"{one.true:.0%}",
            inside,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n\n"


def _range(of: tuple[float, float]) -> str:
    return f"{of[0] * 100:.0f}–{of[1] * 100:.0f}%"


def _silent(pairs: Sequence[Pair]) -> str:
    if not pairs:
        return ""
    names = ", ".join(f"`{one.program}`" for one in pairs)
    return (
        "Not counted, since no finding promises anything about these or mending "
        f"them saves nothing: {names}.\n\n"
    )


def _apart(found: Sequence[Judged]) -> str:
    """How far the two truths are from each other."""
    twice = [one.pair for one in found if one.pair.calm and one.pair.traced]
    apart = [
        abs(one.calm[0] / one.calm[1] - one.traced[0] / one.traced[1])
        for one in twice
        if one.calm and one.traced
    ]
    if not apart:
        return ""
    middle, most = (float(np.quantile(apart, part)) * 100 for part in (0.5, 0.9))
    differ = (
        f"differ by {middle:.0f} points in the median and 90% of them by less than "
        f"{most:.0f}"
    )
    return f"The two\n  {differ}, so nobody can come much closer."


def _again(diagnosis: Sequence[Judged]) -> str:
    return f"""## What this rests on

- The true saving is 1 − healthy / faulty. For the diagnosis benchmark two pairs of step times count, and what remains is their
  geometric mean: the calm ones without the profiler that [results.md](../diagnosis/results.md) has, and those of both forms'
  traces of one busy morning, less what recording took. {_apart(diagnosis)}
- For batch 7 both forms were timed without the profiler in the minutes of the recording. Of batches 8 and 9 there is what their
  authors measured on a loaded machine.
- The classes of fault were chosen after errors on the diagnosis benchmark had been seen, and with batches 7 and 8 in view. Batch
  9 came late: two changes were made after it had been judged once, both because of the diagnosis benchmark.
- The faulty forms were recorded on two cores, most of them beside other work, so part of the errors is the machine's.
- Each program has one planted fault with a full cure that costs a good part of the step; where two are planted, the findings are
  counted together. Real faults are smaller.
- A promise is that of the finding that names the planted fault, else of the first one.

```sh
python benchmarks/savings/run.py --data benchmarks/data/diagnosis   # read the recordings again
python benchmarks/savings/run.py                                    # fit again and write this page, from pairs.json
```
"""
