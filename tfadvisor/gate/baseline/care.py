"""Looking after a store: runs by name, taking them out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.gate.baseline.store import Kept, baseline_of, read_store, writing


def named(folder: Path, names: Sequence[str]) -> list[Kept]:
    """The runs that the names mean: the beginning of a file's name, of a fingerprint or of a commit. Raises UsageError for
    a name that fits none or several.
    """
    found: dict[Path, Kept] = {}
    runs = read_store(folder).runs
    for name in names:
        fitting = [kept for kept in runs if name and _fits(kept, name)]
        if len(fitting) != 1:
            known = [kept.file.stem for kept in runs]
            what = f"fits {len(fitting)} runs" if fitting else f"is no run of it{did_you_mean(name, known)}"
            raise UsageError(f"{folder}: {name} {what}. `tfadvisor baseline list` names them.")
        found[fitting[0].file] = fitting[0]
    return list(found.values())


def before(folder: Path, one: Kept) -> Kept | None:
    """The run of the same baseline that came before another; None for its first."""
    alike = [kept for kept in read_store(folder).runs if baseline_of(kept.snapshot) == baseline_of(one.snapshot)]
    at = [kept.file for kept in alike].index(one.file)
    return alike[at - 1] if at else None


def remove(folder: Path, names: Sequence[str]) -> list[Kept]:
    """Takes runs out of a store. Returns those that it took; raises UsageError before any is gone if a name is wrong."""
    with writing(folder):
        gone = named(folder, names)
        for kept in gone:
            kept.file.unlink(missing_ok=True)
    return gone


def prune(folder: Path, keep: int, model: str | None, branch: str | None = None) -> list[Kept]:
    """Takes the oldest runs of each baseline beyond `keep` out of a store; of one model or branch, or of all. Returns
    those.
    """
    gone: list[Kept] = []
    with writing(folder):
        baselines: dict[tuple[str, ...], list[Kept]] = {}
        for kept in read_store(folder).runs:
            if model in (None, kept.snapshot.key.model) and branch in (None, kept.snapshot.origin.branch):
                baselines.setdefault(baseline_of(kept.snapshot), []).append(kept)
        for alike in baselines.values():
            gone += alike[: max(len(alike) - keep, 0)]
        for kept in gone:
            kept.file.unlink(missing_ok=True)
    return gone


def _fits(kept: Kept, name: str) -> bool:
    known = (kept.file.name, kept.snapshot.fingerprint, kept.snapshot.origin.commit)
    return str(kept.file) == name or any(one.startswith(name) for one in known)
