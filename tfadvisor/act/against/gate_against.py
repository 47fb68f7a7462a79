"""The whole of `tfadvisor gate --against` on one screen: commits, work trees, turns,
verdict.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path

from msgspec.structs import replace

from tfadvisor.act.against.commit_side import Against, CommitSide, step_ms_of
from tfadvisor.act.against.turns import Turn, in_turns
from tfadvisor.act.against.work_trees import Commits, commits_of, work_trees
from tfadvisor.comparison.baseline.snapshot import (
    Baseline,
    may_differ,
    must_be_alike,
)
from tfadvisor.comparison.gate.config import Config
from tfadvisor.comparison.gate.judge import judge
from tfadvisor.comparison.gate.result import GateResult
from tfadvisor.errors import UsageError
from tfadvisor.units import duration

Told = Callable[[str], None]


def judged_against(
    asked: Against,
    config: Config,
    tell: Told,
) -> GateResult:
    """Raises UsageError, TraceError. tell: takes lines for who waits."""
    commits = commits_of(asked.folder, asked.ref)
    _tell_about(commits, tell)
    links = [_from_top(link, commits) for link in asked.links]
    with work_trees(commits, links) as trees:
        logs = trees.folder
        base = CommitSide(
            commits.base_name, trees.base, logs / "base-runs", asked, commits
        )
        head = CommitSide(
            commits.head_name, trees.head, logs / "head-runs", asked, commits
        )

        def turn(number: int, seconds: float) -> Turn:
            order = (base, head) if number % 2 == 0 else (head, base)
            found = {side: side.record(seconds) for side in order}
            head_step = duration(step_ms_of(found[head]))
            base_step = duration(step_ms_of(found[base]))
            tell(
                f"turn {number + 1}: HEAD {head_step}, {commits.base_name} {base_step} "
                "a step"
            )
            return Turn(found[base], found[head])

        def judged(
            turns: list[Turn],
            share: float,
        ) -> GateResult:
            return verdict_of(
                base,
                head,
                turns,
                config,
                share,
            )

        return in_turns(
            turn,
            judged,
            asked.seconds,
            tell=tell,
        )


def _from_top(link: str, commits: Commits) -> str:
    """A path as it is written, relative to the top of the checkout."""
    found = os.path.normpath(Path(commits.inside) / link)
    first = Path(found).parts[:1]
    if Path(found).is_absolute() or first in ((), (os.pardir,)):
        raise UsageError(
            f"--link {link}: give a file or folder below {commits.root}; others need "
            "no link."
        )
    return found


def _tell_about(commits: Commits, tell: Told) -> None:
    if commits.changed:
        what, others = commits.changed[0], len(commits.changed) - 1
        if others:
            what = f"{what} and {others} more"
        tell(f"HEAD is judged with its uncommitted changes ({what}).")
    if commits.same:
        tell(f"{commits.ref} and HEAD hold the same files: any difference is chance.")


def verdict_of(
    base: CommitSide,
    head: CommitSide,
    turns: list[Turn],
    config: Config,
    share: float,
) -> GateResult:
    """What the gate says of turns: their snapshots as pairs, the findings of what is
    shown. share: of the configuration's rate of false alarms. Raises NothingToCompare
    when a run holds no step.
    """
    before = [base.snapshot(turn.base) for turn in turns]
    after = [head.snapshot(turn.head) for turn in turns]
    unlike = must_be_alike(before[0].key, after[0].key)
    baseline = Baseline(
        () if unlike else tuple(before),
        unlike,
        (),
        may_differ(before[0], after[0]),
        in_turns=True,
    )
    asked = replace(config, false_alarm_rate=config.false_alarm_rate * share)
    today = datetime.now(timezone.utc).date()
    found = judge(
        asked,
        [head.shown()],
        after,
        baseline,
        today,
    )
    gated = replace(found.gated, against=base.name)
    return replace(
        found,
        false_alarm_rate=config.false_alarm_rate,
        gated=gated,
    )
