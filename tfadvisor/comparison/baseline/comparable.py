"""Which runs of a store a run may be measured against."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from tfadvisor.comparison.baseline.snapshot import Key, Snapshot
from tfadvisor.comparison.side import middle_of


class Baseline(msgspec.Struct, frozen=True):
    """runs: comparable, oldest first. refused: why there are none although some were expected; empty on a first run."""

    runs: tuple[Snapshot, ...]
    refused: tuple[str, ...]
    notices: tuple[str, ...]
    differences: tuple[str, ...]
    in_turns: bool = False
    """Whether each run was recorded next to the candidate of its number, so that both saw the same machine."""

    def levels(self, runs: Sequence[Snapshot] | None = None) -> list[list[Snapshot]]:
        """The runs by level, the present one last."""
        found: dict[int, list[Snapshot]] = {}
        for run in self.runs if runs is None else runs:
            found.setdefault(run.level, []).append(run)
        return [found[level] for level in sorted(found)]

    def typical(self) -> Snapshot:
        """The run of the present level whose step time is the middle one."""
        present = self.levels()[-1]
        middle = middle_of([run.side.median_ms for run in present])
        return min(present, key=lambda run: abs(run.side.median_ms - middle))


NOTHING = Baseline((), (), (), ())


def choose(
    stored: Sequence[Snapshot], candidates: Sequence[Snapshot], keep: int, branches: Sequence[str] = ()
) -> Baseline:
    """The latest `keep` runs that are comparable with the candidates, without the candidates themselves.

    branches: whose runs count, best first; the first that has any. Runs of no known branch always count.
    """
    first = candidates[0]
    mixed = [one for other in candidates[1:] for one in must_be_alike(first.key, other.key)]
    if mixed:
        return Baseline((), tuple(f"candidates differ: {one}" for one in dict.fromkeys(mixed)), (), ())
    of_model = [run for run in stored if run.key.model == first.key.model]
    if not of_model:
        return Baseline((), (), (_first_run(stored, first),), ())
    alike = [run for run in of_model if not must_be_alike(run.key, first.key)]
    if not alike:
        return Baseline((), must_be_alike(of_model[-1].key, first.key), (), ())
    known = {one.fingerprint for one in candidates}
    others = [run for run in alike if run.fingerprint not in known]
    if not others:
        return Baseline((), ("the baseline holds only this trace: there is nothing to compare",), (), ())
    branch = branch_of(others, branches)
    others = [run for run in others if branch is None or run.origin.branch in (branch, "")]
    notices = []
    if known.intersection(run.fingerprint for run in alike):
        notices.append("The baseline also holds this trace; the gate does not compare it with itself.")
    if branch not in (None, first.origin.branch):
        notices.append(f"Measured against the runs of branch {branch}.")
    runs = tuple(others[-keep:])
    return Baseline(runs, (), tuple(notices), may_differ(runs[-1], first))


def branch_of(runs: Sequence[Snapshot], branches: Sequence[str]) -> str | None:
    """The first of some branches that has runs; None when none has, and all runs count."""
    known = {run.origin.branch for run in runs}
    return next((one for one in branches if one in known), None)


def _first_run(stored: Sequence[Snapshot], first: Snapshot) -> str:
    others = sorted({run.key.model for run in stored})
    words = f"No baseline of model {first.key.model} yet, so the gate judges nothing relative."
    if others:
        words += f" The store holds {', '.join(others[:5])}; --model chooses."
    return f"{words} `tfadvisor baseline add` creates one."


# Whether two runs may be compared: what must be alike, and what may differ but is reported.

_SOFT_TOLERANCE = 0.02


def must_be_alike(base: Key, new: Key) -> tuple[str, ...]:
    """The differences that forbid a comparison, in words; none when the runs are comparable."""
    found = [
        f"{what}: {one} in the baseline, {other} now"
        for what, one, other in (
            ("model", base.model, new.model),
            ("framework", base.framework, new.framework),
            ("devices", base.devices, new.devices),
            ("hosts", str(base.hosts), str(new.hosts)),
        )
        if one != other
    ]
    for label in sorted({*base.labels, *new.labels}):
        one, other = base.labels.get(label, "not given"), new.labels.get(label, "not given")
        if one != other:
            found.append(f"label {label}: {one} in the baseline, {other} now")
    return tuple(found)


def may_differ(base: Snapshot, new: Snapshot) -> tuple[str, ...]:
    """The differences that are worth telling beside a verdict."""
    return tuple(
        f"{what}: {base.about.get(what, 'unknown')} in the baseline, {new.about.get(what, 'unknown')} now"
        for what in dict.fromkeys([*base.about, *new.about])
        if not _alike(base.about.get(what, ""), new.about.get(what, ""))
    )


def _alike(one: str, other: str) -> bool:
    try:
        first, second = float(one), float(other)
    except ValueError:
        return one == other
    return abs(first - second) <= _SOFT_TOLERANCE * max(abs(first), abs(second))
