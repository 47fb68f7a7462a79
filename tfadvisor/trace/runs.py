"""Which files make a run: a path on disk, or bytes held in memory, to the trace files
of one run.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from os import PathLike
from pathlib import Path
from typing import IO

import msgspec

from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.files import check_searchable, is_folder, temporary_folder
from tfadvisor.tallies import listed
from tfadvisor.trace.remote_path import RemotePath, place_of
from tfadvisor.trace.stores import Unreachable

_TRACE_ENDINGS = (".xplane.pb", ".xplane.pb.gz")
_PIECE = 1 << 20
_SESSION_NAME = re.compile(
    r"(\d{4})[_-](\d\d)[_-](\d\d)[_T-](\d\d)[_-](\d\d)[_-](\d\d)"
)
_TOOL_OUTPUTS = re.compile(
    r"\.(trace(\.json(\.gz)?)?|(overview_page|input_pipeline|tensorflow_stats|kernel_stats|op_profile|pod_viewer)\.(pb|json))$"
)
_HOW_TO_RECORD = (
    "Record again with TensorFlow 2.3 or newer "
    "(`tf.profiler.experimental.start(logdir)`, or "
    "`TensorBoard(profile_batch=(10, 20))`) or with `jax.profiler.trace(logdir)`: "
    "they write `<host>.xplane.pb`."
)


class Run(msgspec.Struct, frozen=True):
    """One profiler session. name: as the TensorBoard profile plugin calls it. files:
    one a host, sorted by name.
    """

    name: str
    path: Path
    files: tuple[Path, ...]
    folders: tuple[str, ...] = ()
    """The names of the runs that were joined to this one, itself among them; empty
    where one folder holds all files.
    """

    @property
    def asked_by(self) -> str:
        """What `--run` takes for it: its name, or `A,B` where several runs were
        joined.
        """
        return ",".join(self.folders) or self.name


def host_of(file: Path) -> str:
    """The host that wrote a trace file, by the file's name: `worker-0.xplane.pb` ->
    `worker-0`.
    """
    for ending in reversed(_TRACE_ENDINGS):
        if file.name.endswith(ending):
            return file.name.removesuffix(ending)
    return file.name


def find_runs(root: Path, within: Path | None = None) -> list[Run]:
    """Every run below a folder, newest first. Folders that cannot be read are passed
    over, those of one job joined.

    within: a folder without links; what a link leads to is looked at only below it.
    """
    return _joined(_separate_runs(root, within))


def all_runs(root: Path) -> list[Run]:
    """As find_runs. Raises TraceError where a folder in which runs lie cannot be looked
    into.
    """
    refused: list[OSError] = []
    runs = _joined(_separate_runs(root, None, refused))
    _check_none_hidden(root, refused)
    return runs


def _separate_runs(
    root: Path, within: Path | None, refused: list[OSError] | None = None
) -> list[Run]:
    """One for each folder. refused: gets the errors of those that cannot be read."""
    runs = []
    for folder, traces in _folders_with_traces(root, within, refused):
        if traces:
            files = _one_per_host(tuple(sorted(traces)))
            runs.append(Run(_run_name(folder, root), folder, files))
    runs.sort(key=lambda run: (recorded_at(run), run.name), reverse=True)
    return runs


_OF_RUNS = ("plugins", "profile")
"""Folders of a logdir in which runs lie."""
_APART = 120.0
"""Seconds between the starts of one recording on several hosts, at most: JAX names each
host's folder by the second it starts.
"""


def _joined(runs: Sequence[Run]) -> list[Run]:
    """Runs, newest first, with those joined that are one recording of one job: begun
    within two minutes below one folder, on different hosts, with the same compiled
    programs. Traces that name none, as TensorFlow's, are never joined.
    """
    jobs: list[list[Run]] = []
    for run in runs:
        job = _job_of(run, jobs[-8:]) if _is_stamped(run) else None
        if job is None:
            jobs.append([run])
        else:
            job.append(run)
    return [_as_one(job) for job in jobs]


def _job_of(run: Run, jobs: Sequence[list[Run]]) -> list[Run] | None:
    hosts = set(map(host_of, run.files))
    for job in jobs:
        if hosts.isdisjoint(map(host_of, _files_of(job))) and _one_job(job[0], run):
            return job
    return None


def _is_stamped(run: Run) -> bool:
    return _SESSION_NAME.fullmatch(run.path.name) is not None


def _files_of(runs: Iterable[Run]) -> list[Path]:
    files: list[Path] = []
    for run in runs:
        files += run.files
    return files


def _as_one(runs: Sequence[Run]) -> Run:
    """The newest one with the files of all."""
    newest, *others = runs
    if not others:
        return newest
    files = tuple(sorted(_files_of(runs), key=host_of))
    return Run(newest.name, newest.path, files, tuple(run.name for run in runs))


def _one_job(run: Run, other: Run) -> bool:
    if run.path.parent != other.path.parent or not _is_stamped(run):
        return False
    if abs(recorded_at(run) - recorded_at(other)) > _APART:
        return False
    from tfadvisor.trace.heads import of_one_job  # few logdirs hold such runs

    return of_one_job(run.files[0], other.files[0])


def recorded_at(run: Run) -> float:
    """Seconds since the epoch, from the session's name where it is a time (copies lose
    file times), else the files'.
    """
    stamp = _SESSION_NAME.search(run.path.name)
    if stamp:
        with suppress(ValueError, OverflowError, OSError):
            return datetime(*map(int, stamp.groups())).timestamp()  # type: ignore[arg-type]
    times = []
    for file in run.files:
        with suppress(OSError):
            times.append(file.stat().st_mtime)
    return max(times, default=0.0)


def choose_run(
    paths: Sequence[Path],
    run: str | None = None,
    host: str | None = None,
    within: Path | None = None,
) -> tuple[Run, int]:
    """The run to analyse and how many there were to choose from. within: as find_runs.

    Raises TraceError when the paths hold no trace, UsageError for a run or host that is
    not there.
    """
    if len(paths) == 1 and is_folder(paths[0]):
        chosen, count = _run_in_folder(paths[0], run, within)
    else:
        chosen = _run_of_files(paths, run)
        count = 1
    if host is not None:
        chosen = _of_one_host(chosen, host)
    return chosen, count


def _of_one_host(run: Run, host: str) -> Run:
    files = tuple(file for file in run.files if host_of(file) == host)
    if files:
        return Run(run.name, run.path, files, run.folders)
    hosts = [host_of(file) for file in run.files]
    raise UsageError(
        f"--host {host}: run {run.name} has no such host.{did_you_mean(host, hosts)} "
        f"It has: {', '.join(hosts)}."
    )


def without_duplicates(
    files: Sequence[Path],
) -> tuple[tuple[Path, ...], tuple[Path, ...]]:
    """(distinct files, files with the very bytes of an earlier one): a copied host file
    is no second host.
    """
    sizes = [_size(file) for file in files]
    looks = [
        _look(file, size) if size >= 0 and count > 1 else None
        for file, size, count in zip(files, sizes, _counts(sizes), strict=True)
    ]
    kept: list[Path] = []
    left_out: list[Path] = []
    seen: set[bytes] = set()
    for file, look, count in zip(files, looks, _counts(looks), strict=True):
        digest = _digest(file) if look is not None and count > 1 else None
        if digest is None:
            kept.append(file)
        elif digest in seen:
            left_out.append(file)
        else:
            kept.append(file)
            seen.add(digest)
    return tuple(kept), tuple(left_out)


def _counts(values: Sequence[object]) -> list[int]:
    """How often each is among them."""
    count = Counter(values)
    return [count[value] for value in values]


def _size(file: Path) -> int:
    """-1 where decoding will say what is wrong with it."""
    try:
        return file.stat().st_size
    except OSError:
        return -1


_LOOK = 1 << 12
"""Bytes at each end of a file that tell nearly all apart."""


def _look(file: Path, size: int) -> tuple[int, bytes, bytes] | None:
    """(size, head, tail): files with another one are no copies. None where decoding
    will say what is wrong.
    """
    try:
        if not stat.S_ISREG(file.stat().st_mode):
            return None
        with file.open("rb") as opened:
            head = opened.read(_LOOK)
            opened.seek(max(size - _LOOK, 0))
            return size, head, opened.read(_LOOK)
    except OSError:
        return None


def _digest(file: Path) -> bytes | None:
    """Of all bytes; None where decoding will say what is wrong."""
    import hashlib  # only several hosts need it

    hashed = hashlib.blake2b(digest_size=16)
    try:
        with file.open("rb") as opened:
            while piece := opened.read(_PIECE):
                hashed.update(piece)
    except OSError:
        return None
    return hashed.digest()


def _run_of_files(paths: Sequence[Path], run: str | None) -> Run:
    if run is not None:
        raise UsageError("--run goes with a logdir, not with single trace files.")
    for path in paths:
        if is_folder(path):
            raise UsageError(
                f"{path} is a folder: give one logdir, or the trace files of one run."
            )
    first, *others = paths
    # Where others are there, reading says which is missing.
    if not any(path.exists() for path in others):
        _check_exists(first)
    folder = first.absolute().parent
    place = folder if others else first
    return Run(folder.name or host_of(first), place, tuple(paths))


def _run_in_folder(
    root: Path,
    run: str | None,
    within: Path | None,
) -> tuple[Run, int]:
    if not isinstance(root, RemotePath):
        _check_readable(root)
    refused: list[OSError] = []
    runs = _separate_runs(root, within, refused)
    if run is None:
        _check_none_hidden(root, refused)
    if not runs:
        raise _nothing_in(root, within)
    if run is None:
        joined = _joined(runs)
        return joined[0], len(joined)
    if "," in run:
        return _several(runs, run), len(runs)
    return _named(runs, run), len(runs)


def _named(runs: Sequence[Run], name: str) -> Run:
    """The run of the very name, else the one whose name ends with it. Raises
    UsageError.
    """
    matches = [run for run in runs if run.name == name]
    if not matches:
        matches = [run for run in runs if run.name.endswith(f"/{name}")]
    if len(matches) != 1:
        raise _not_one_run(runs, name, matches)
    return matches[0]


_MOST_LISTED = 8


def _not_one_run(
    runs: Sequence[Run],
    name: str,
    matches: Sequence[Run],
) -> UsageError:
    if matches:
        listed = [run.name for run in matches]
        what = "is in several places."
    else:
        listed = [run.name for run in runs]
        what = f"is not there.{did_you_mean(name, listed)}"
    shown = ", ".join(listed[:_MOST_LISTED])
    if len(listed) > _MOST_LISTED:
        shown += f" and {len(listed) - _MOST_LISTED} more"
    return UsageError(f"--run {name} {what} Runs: {shown}.")


def _several(runs: Sequence[Run], named: str) -> Run:
    """Several runs, `A,B`, as one. Raises UsageError for one that is not there and for
    a host that two of them hold.
    """
    parts: dict[Run, None] = {}
    for name in filter(None, map(str.strip, named.split(","))):
        parts[_named(runs, name)] = None
    if not parts:
        raise _not_one_run(runs, named, [])
    files = tuple(sorted(_files_of(parts), key=host_of))
    for host, count in Counter(map(host_of, files)).items():
        if count > 1:
            raise UsageError(
                f"--run {named}: host {host} is in several of these runs. Give one "
                "of them."
            )
    first = next(iter(parts))
    names = tuple(part.name for part in parts)
    return Run(first.name, first.path, files, names if len(names) > 1 else ())


def _check_exists(path: Path) -> None:
    try:
        path.stat()
    except Unreachable:
        raise
    except PermissionError as error:
        raise TraceError(
            str(path),
            "cannot be read: Permission denied.",
            "Ask for read permission on the file and its folders.",
        ) from error
    except OSError as error:
        raise TraceError(str(path), "does not exist.", "Check the path.") from error


def _check_readable(root: Path) -> None:
    try:
        with os.scandir(root):
            pass
    except OSError as error:
        raise TraceError(
            str(root),
            f"cannot be read: {error.strerror}.",
            "Ask for read permission on the folder.",
        ) from error
    if root.stat().st_dev in _system_devices():
        raise TraceError(
            str(root),
            "is a folder of the system, where no trace lies.",
            "Give a logdir.",
        )


def _check_none_hidden(root: Path, refused: Sequence[OSError]) -> None:
    """Raises TraceError where a folder in which runs lie cannot be looked into: nobody
    knows then which run is the newest. refused: the errors of folders below the root.
    """
    for error in refused:
        place = Path(error.filename)
        if set(_OF_RUNS) & set(place.relative_to(root).parts):
            raise TraceError(
                str(place),
                f"cannot be looked into: {error.strerror}.",
                "Ask for permission to read the folder, or choose a run with --run.",
            ) from error


def _folders_with_traces(
    root: Path,
    within: Path | None,
    refused: list[OSError] | None,
) -> Iterator[tuple[Path, list[Path]]]:
    """Every folder below root with its traces. Of an address raises TraceError when it
    cannot be listed.
    """
    if isinstance(root, RemotePath):
        below: Iterable[Path] = root.files_below()
        traces = (file for file in below if file.name.endswith(_TRACE_ENDINGS))
        yield from listed((file.parent, file) for file in traces).items()
        return
    for folder, files in _folders_with_files(root, within, refused):
        if refused is not None:
            _note_unsearchable(folder, refused)
        yield folder, [folder / name for name in files if name.endswith(_TRACE_ENDINGS)]


def _note_unsearchable(folder: Path, refused: list[OSError]) -> None:
    try:
        check_searchable(folder)
    except OSError as error:
        refused.append(error)


def _folders_with_files(
    root: Path,
    within: Path | None,
    refused: list[OSError] | None = None,
) -> list[tuple[Path, list[str]]]:
    """Every folder below root with its files, symbolic links followed once, but into no
    folder of the system. refused: gets the error of each folder that cannot be listed.
    """
    onerror = None if refused is None else refused.append
    seen: set[tuple[int, int]] = set()
    system = _system_devices()
    found = []
    for place, subfolders, files in os.walk(root, onerror=onerror, followlinks=True):
        folder = Path(place)
        try:
            status = folder.stat()
        except OSError:  # gone since it was listed
            continue
        identity = (status.st_dev, status.st_ino)
        if identity in seen or status.st_dev in system:
            subfolders.clear()
            continue
        seen.add(identity)
        if within is not None:
            subfolders[:] = [
                name for name in subfolders if _stays(folder / name, within)
            ]
            files[:] = [name for name in files if _stays(folder / name, within)]
        if files:
            found.append((folder, files))
    return found


def _stays(path: Path, within: Path) -> bool:
    """Whether it is no link, or one that leads to what is below a folder."""
    try:
        return not path.is_symlink() or path.resolve().is_relative_to(within)
    except (OSError, RuntimeError):  # links in a circle
        return False


def _system_devices() -> set[int]:
    """The file systems on which the system shows itself. From /proc one comes
    everywhere, and many files there never end.
    """
    found = set()
    for folder in ("/proc", "/sys", "/dev"):
        with suppress(OSError):
            found.add(os.stat(folder).st_dev)  # noqa: PTH116
    return found - {os.stat("/").st_dev}  # noqa: PTH116


def _one_per_host(files: tuple[Path, ...]) -> tuple[Path, ...]:
    """Where a host's trace lies there packed and unpacked, the unpacked one."""
    by_host: dict[str, Path] = {}
    for file in files:
        host = host_of(file)
        if host not in by_host or not file.name.endswith(".gz"):
            by_host[host] = file
    return tuple(file for _, file in sorted(by_host.items()))


def _run_name(folder: Path, root: Path) -> str:
    """`<logdir>/train/plugins/profile/2026_01_02_03_04_05` ->
    `train/2026_01_02_03_04_05`.
    """
    if folder == root:
        return folder.absolute().name
    parts = list(folder.relative_to(root).parts)
    for index in range(len(parts) - 1):
        if parts[index : index + 2] == ["plugins", "profile"]:
            del parts[index : index + 2]
            break
    return "/".join(parts)


def _nothing_in(root: Path, within: Path | None) -> TraceError:
    names = _file_names(root, within)
    if not names:
        return TraceError(
            str(root),
            "is empty: it holds no `*.xplane.pb`.",
            _HOW_TO_RECORD,
        )
    outputs = sorted(filter(_TOOL_OUTPUTS.search, names))
    if outputs:
        return TraceError(
            str(root),
            f"holds what a profiler made of a trace ({outputs[0]}), but no "
            "`*.xplane.pb` to analyse.",
            _HOW_TO_RECORD,
        )
    files = "file" if len(names) == 1 else "files"
    return TraceError(
        str(root),
        f"holds {len(names):,} {files} but no `*.xplane.pb`.",
        f"Give a profiler logdir. {_HOW_TO_RECORD}",
    )


def _file_names(root: Path, within: Path | None) -> list[str]:
    if isinstance(root, RemotePath):
        return [file.name for file in root.files_below()]
    names: list[str] = []
    for _, files in _folders_with_files(root, within):
        names += files
    return names


# A trace that is no path: bytes, or an open file. It is read by way of a file of its
# own, which is gone afterwards.

Readable = str | PathLike[str] | bytes | bytearray | memoryview | IO[bytes]
"""A path to a logdir, run folder or trace, or the content of one trace."""


class Held(msgspec.Struct, frozen=True):
    """The content of a trace. name: of the open file, for messages and the report."""

    name: str
    data: bytes


def held(given: Readable) -> Path | Held:
    """A path, or the content. Raises UsageError for what is neither, and for a file
    that is open for text.
    """
    if isinstance(given, str | PathLike):
        return place_of(given if isinstance(given, str | Path) else Path(given))
    if isinstance(given, bytes | bytearray | memoryview):
        return Held("trace in memory", bytes(given))
    if not hasattr(given, "read"):
        raise UsageError(
            f"a {type(given).__name__} is no trace: give a path, bytes or a file "
            "that is open for reading."
        )
    data = given.read()
    if not isinstance(data, bytes):
        raise UsageError("the file is open for text. Open it with mode 'rb'.")
    name = getattr(given, "name", None)
    return Held(Path(name).name if isinstance(name, str) else "trace in memory", data)


@contextmanager
def run_in(
    source: Path | Held,
    run: str | None = None,
    host: str | None = None,
) -> Iterator[Run]:
    """The run to read, as choose_run; of content only as long as the context lasts.
    Raises TraceError, UsageError.
    """
    if isinstance(source, Path):
        yield choose_run([source], run, host)[0]
        return
    with temporary_folder() as folder:
        file = Path(folder) / "memory.xplane.pb"
        file.write_bytes(source.data)
        try:
            chosen, _ = choose_run([file], run, host)
            yield Run(source.name, Path(source.name), chosen.files)
        except TraceError as error:
            raise TraceError(
                error.place.replace(str(file), source.name),
                error.cause,
                error.remedy,
            ) from error
