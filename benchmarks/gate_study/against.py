"""`gate --against` on recorded runs: neighbours as turns, the head slowed down, and
what the gate says of them.

python benchmarks/gate_study/against.py --turns 24

Prints a table. A trial is a stretch of consecutive unchanged runs; each two of them are
a turn, either one first by turns. Stretches overlap, so trials of one program are no
independent ones. `benchmarks/against_trials.py` records trials anew.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace
from pairs import STEP, config, load, programs, slower, unchanged

from tfadvisor.act.against.turns import LOOKS
from tfadvisor.comparison.baseline.snapshot import Baseline, Snapshot
from tfadvisor.comparison.gate.relative import check_relative
from tfadvisor.comparison.gate.result import Check, Outcome

DATA = Path(__file__).parent / "data"
CHANGES: tuple[tuple[str, Callable[[Snapshot], Snapshot]], ...] = (
    ("unchanged", lambda run: run),
    ("+10% outside the unchanged ops", lambda run: slower(run, 0.1)),
    ("+20% outside the unchanged ops", lambda run: slower(run, 0.2)),
    ("+10%, every op alike", lambda run: longer(run, 1.1)),
    ("+50%, every op alike", lambda run: longer(run, 1.5)),
)


def longer(run: Snapshot, factor: float) -> Snapshot:
    """As if everything in the step took so many times as long: what no op tells from a
    slower machine.
    """
    side = run.side
    return replace(
        run,
        side=replace(
            side,
            mean_ms=side.mean_ms * factor,
            median_ms=side.median_ms * factor,
            class_ms={name: ms * factor for name, ms in side.class_ms.items()},
            ops=tuple(
                replace(op, ms_per_step=op.ms_per_step * factor) for op in side.ops
            ),
            rest_ms={name: ms * factor for name, ms in side.rest_ms.items()},
            metrics={**side.metrics, STEP: side.metrics[STEP] * factor},
        ),
    )


def judged(
    base: Sequence[Snapshot], head: Sequence[Snapshot], share: float
) -> list[Check]:
    """As the command judges turns, by the recommended preset."""
    baseline = Baseline(tuple(base), (), (), (), in_turns=True)
    return check_relative(config(0.01 * share), (), head, baseline)


def trial(stretch: Sequence[Snapshot], change: Callable[[Snapshot], Snapshot]) -> bool:
    """Whether the gate is red after at most as many turns as the stretch holds, looking
    when the command looks.
    """
    base: list[Snapshot] = []
    head: list[Snapshot] = []
    looks = 0
    for number, pair in enumerate(zip(stretch[::2], stretch[1::2], strict=True)):
        first, second = pair if number % 2 == 0 else pair[::-1]
        base.append(first)
        head.append(change(second))
        if len(base) in LOOKS:
            looks += 1
            outcomes = {
                check.outcome for check in judged(base, head, 0.5 ** (looks + 1))
            }
            if Outcome.FAIL in outcomes or Outcome.CANNOT_TELL not in outcomes:
                return Outcome.FAIL in outcomes
    return any(check.outcome is Outcome.FAIL for check in judged(base, head, 0.5))


def trials(
    runs: Sequence[Snapshot], turns: int, change: Callable[[Snapshot], Snapshot]
) -> list[bool]:
    return [
        trial(runs[at : at + 2 * turns], change)
        for at in range(len(runs) - 2 * turns + 1)
    ]


def stretches() -> Iterator[tuple[str, list[Snapshot]]]:
    for file in sorted(DATA.glob("*.jsonl.gz")):
        _, runs = load(file)
        for program in programs(runs):
            yield (
                f"{program} ({file.name.split('.')[0]})",
                [run.snapshot for run in unchanged(runs, program)],
            )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=24, metavar="N")
    turns = parser.parse_args().turns
    print(
        f"| program, {turns} turns | trials | "
        f"{' | '.join(name for name, _ in CHANGES)} |"
    )
    print(f"|---|---:|{'---:|' * len(CHANGES)}")
    for name, runs in stretches():
        found = [trials(runs, turns, change) for _, change in CHANGES]
        if found[0]:
            print(
                f"| {name} | {len(found[0])} | "
                f"{' | '.join(f'{sum(one) / len(one):.0%}' for one in found)} |"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
