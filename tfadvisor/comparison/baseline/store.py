"""A folder of snapshots: the baselines. One file a run, added and removed with care for
other writers.

DIR/<model>/<recorded at>-<fingerprint>.json     the runs
DIR/.pending/<model>-<key>.json                  what the gate judged last, for
                                                 `baseline accept`
"""

from __future__ import annotations

import errno
import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tfadvisor.comparison.baseline.snapshot import Snapshot, must_be_alike
from tfadvisor.comparison.baseline.snapshot_json import (
    LARGEST,
    SnapshotError,
    as_text,
    from_text,
)
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import TraceError, UsageError, written
from tfadvisor.files import (
    check_searchable,
    is_remote,
    only_writer,
    read_small_text,
    replace_file,
)
from tfadvisor.tallies import listed

_PENDING = ".pending"
_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")


class Kept(msgspec.Struct, frozen=True):
    """A snapshot and its file."""

    file: Path
    snapshot: Snapshot


class Contents(msgspec.Struct, frozen=True):
    """What a store holds, oldest first, and the files in it that cannot be used, with
    the reason.
    """

    runs: tuple[Kept, ...]
    unusable: tuple[tuple[Path, str], ...]


def read_store(folder: Path) -> Contents:
    """Everything in a store; nothing where there is none yet. Raises TraceError for
    what is no folder or cannot be looked into: nobody knows then what it holds.
    """
    runs, unusable = [], []
    for file in _snapshot_files(folder):
        try:
            runs.append(Kept(file, _read(file)))
        except SnapshotError as error:
            unusable.append((file, str(error)))
    runs.sort(key=lambda kept: kept.snapshot.age)
    return Contents(tuple(runs), tuple(unusable))


def _snapshot_files(folder: Path) -> list[Path]:
    if is_remote(folder):
        found = folder.glob("*/*.json")
        return sorted(file for file in found if file.parent.name != _PENDING)
    models = [
        model
        for model in _listed(folder)
        if model.name != _PENDING and (model.is_symlink() or model.is_dir())
    ]
    files = [file for model in models for file in _listed(model)]
    return sorted(file for file in files if file.suffix == ".json")


def _listed(folder: Path) -> list[Path]:
    """What lies in a folder; nothing where it is not there."""
    try:
        found = list(folder.iterdir())
        if found:
            check_searchable(folder)
    except OSError as error:
        if error.errno == errno.ENOENT and not folder.is_symlink():
            return []
        if error.errno == errno.ENAMETOOLONG:
            raise
        raise TraceError(
            str(folder),
            f"the store cannot be read: {error.strerror}.",
            "Ask for permission to read it, or give another store.",
        ) from error
    return found


def accept(
    folder: Path, snapshots: Sequence[Snapshot], keep: int, note: str
) -> list[Kept]:
    """Adds runs as a new level: what came before still tells how much runs differ, no
    more where they lie.
    """
    added, _ = add(
        folder,
        [replace(snapshot, note=note) for snapshot in snapshots],
        keep,
        next_level=True,
    )
    for snapshot in snapshots:
        _pending_file(folder, snapshot).unlink(missing_ok=True)
    return added


def leave_pending(folder: Path, snapshot: Snapshot) -> None:
    """Keeps what was judged, to be accepted later without its trace. Quietly does
    nothing where that is not possible.
    """
    if not folder.is_dir():
        return
    try:
        target = _pending_file(folder, snapshot)
        target.parent.mkdir(exist_ok=True)
        replace_file(target, as_text(snapshot))
    except OSError:
        return


def pending(folder: Path, model: str | None) -> list[Snapshot]:
    """What the gate judged last, of one model or of all."""
    found = []
    for file in sorted((folder / _PENDING).glob("*.json")):
        try:
            snapshot = _read(file)
        except SnapshotError:
            continue
        if model is None or snapshot.key.model == model:
            found.append(snapshot)
    return found


def add(
    folder: Path, snapshots: Sequence[Snapshot], keep: int, *, next_level: bool = False
) -> tuple[list[Kept], list[Kept]]:
    """Adds runs to their baselines and drops the oldest beyond `keep`. Returns (added,
    there already).
    """
    added: list[Kept] = []
    known: list[Kept] = []
    with writing(folder):
        for snapshot in snapshots:
            alike = _comparable(folder, snapshot)
            same = [kept for kept in alike if _is_same(kept, snapshot)]
            if same and not next_level:
                known += same
                continue

            kept = _new(folder, snapshot, alike, next_level=next_level)
            _write(kept)
            added.append(kept)
            others = [run for run in alike if run.file != kept.file]
            _drop(others, len(others) + 1 - keep)
    return added, known


def _comparable(folder: Path, snapshot: Snapshot) -> list[Kept]:
    """The runs of a store that are of the snapshot's baseline, oldest first."""
    return [
        kept
        for kept in read_store(folder).runs
        if not must_be_alike(kept.snapshot.key, snapshot.key)
    ]


def _is_same(kept: Kept, snapshot: Snapshot) -> bool:
    return kept.snapshot.fingerprint == snapshot.fingerprint


def _new(
    folder: Path, snapshot: Snapshot, alike: Sequence[Kept], *, next_level: bool
) -> Kept:
    """The snapshot as it is kept, at the level of its baseline or the next one."""
    level = max((kept.snapshot.level for kept in alike), default=0)
    if next_level and alike:
        level += 1
    now = datetime.now(timezone.utc).isoformat(timespec="microseconds")
    return Kept(
        _file_of(folder, snapshot),
        replace(snapshot, level=level, added_at=now),
    )


def _write(kept: Kept) -> None:
    """Raises UsageError for what could not be read again."""
    text = as_text(kept.snapshot)
    try:
        from_text(text)
    except SnapshotError as error:
        raise UsageError(
            f"{kept.file}: is not written, since it could not be read again: {error}."
        ) from error
    kept.file.parent.mkdir(parents=True, exist_ok=True)
    replace_file(kept.file, text)


def _drop(runs: Sequence[Kept], number: int) -> list[Kept]:
    """Removes so many of the first; none below 1."""
    gone = list(runs[: max(number, 0)])
    for kept in gone:
        kept.file.unlink(missing_ok=True)
    return gone


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """As the only writer of a store, which is made where there is none. Raises
    UsageError.
    """
    with written(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
        ignored = folder / ".gitignore"
        if not ignored.exists():
            replace_file(ignored, f".lock\n{_PENDING}/\n")
        with only_writer(folder):
            yield


def _read(file: Path) -> Snapshot:
    try:
        if file.stat().st_size > LARGEST:
            raise SnapshotError(
                f"it has {file.stat().st_size:,} bytes, and a snapshot never more "
                f"than {LARGEST:,}"
            )
        return from_text(read_small_text(file, LARGEST))
    except OSError as error:
        raise SnapshotError(f"it cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise SnapshotError("it is not text; it may be damaged") from error


def _file_of(folder: Path, snapshot: Snapshot) -> Path:
    stamp = re.sub(r"[^0-9T]", "", snapshot.recorded_at[:19]) or "undated"
    return (
        folder
        / _fit(snapshot.key.model)
        / f"{stamp}-{_fit(snapshot.fingerprint)[:12]}-{_digest(snapshot)}.json"
    )


def _pending_file(folder: Path, snapshot: Snapshot) -> Path:
    return folder / _PENDING / f"{_fit(snapshot.key.model)}-{_digest(snapshot)}.json"


def _digest(snapshot: Snapshot) -> str:
    """Of the key, so that one trace can lie in two baselines."""
    key = snapshot.key
    labels = (f"{name}={value}" for name, value in sorted(key.labels.items()))
    words = (key.model, key.framework, key.devices, str(key.hosts), *labels)
    return hashlib.sha256("\n".join(words).encode("utf-8", "replace")).hexdigest()[:8]


def _fit(name: str) -> str:
    """A name as a folder may have it; never empty, hidden or a way up."""
    return _UNFIT.sub("-", name)[:80].strip(".-") or "unnamed"


# Looking after a store: runs by name, taking them out.


def named(folder: Path, names: Sequence[str]) -> list[Kept]:
    """The runs that the names mean: the beginning of a file's name, of a fingerprint or
    of a commit. Raises UsageError for a name that fits none or several.
    """
    found: dict[Path, Kept] = {}
    runs = read_store(folder).runs
    for name in names:
        fitting = [kept for kept in runs if name and _fits(kept, name)]
        if len(fitting) != 1:
            known = [kept.file.stem for kept in runs]
            what = f"is no run of it{did_you_mean(name, known)}"
            if fitting:
                what = f"fits {len(fitting)} runs"
            raise UsageError(
                f"{folder}: {name} {what}. `tfadvisor baseline list` names them."
            )
        (only,) = fitting
        found[only.file] = only
    return list(found.values())


def remove(folder: Path, names: Sequence[str]) -> list[Kept]:
    """Takes runs out of a store. Returns those that it took; raises UsageError before
    any is gone if a name is wrong.
    """
    with writing(folder):
        gone = named(folder, names)
        for kept in gone:
            kept.file.unlink(missing_ok=True)
    return gone


def prune(folder: Path, keep: int, model: str | None) -> list[Kept]:
    """Takes the oldest runs of each baseline beyond `keep` out of a store; of one
    model, or of all. Returns those.
    """
    gone: list[Kept] = []
    with writing(folder):
        runs = read_store(folder).runs
        mine = [kept for kept in runs if model in (None, kept.snapshot.key.model)]
        by_key = listed((_digest(kept.snapshot), kept) for kept in mine)
        for alike in by_key.values():
            gone += _drop(alike, len(alike) - keep)
    return gone


def _fits(kept: Kept, name: str) -> bool:
    known = (kept.file.name, kept.snapshot.fingerprint, kept.snapshot.origin.commit)
    return str(kept.file) == name or any(
        identifier.startswith(name) for identifier in known
    )
