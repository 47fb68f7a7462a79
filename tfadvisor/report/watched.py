"""Where the time of a program went in which no steps were found, in words."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import Path

import msgspec

from tfadvisor.causes.source_files import SourceFiles
from tfadvisor.causes.unrolled_loops import compiled_on, unrolled_loop
from tfadvisor.causes.watched_time import (
    COMPILES,
    IMPORTS,
    WatchedLine,
    WatchedPart,
    WatchedTime,
    watched_time,
)
from tfadvisor.files import read_small
from tfadvisor.printable import cut, one_line, printable
from tfadvisor.timeline.names.stack_frames import is_of_program
from tfadvisor.trace.noted_sources import NotedSource
from tfadvisor.trace.samples import Samples
from tfadvisor.units import duration

FEWEST_SECONDS = 1.0
"""Of samples, without which nothing is said."""
_WORTH_A_LINE, _MOST_PARTS = 0.03, 5
"""Of the time, and lines at most."""
_MOSTLY = 0.5
_LONG_SECONDS = 10.0
_LONGEST = 88
_MOST_FILES, _LARGEST = 200, 1_000_000
"""Of the program, and bytes of each."""
_ASK = (
    "Why does it compile for so long? Does the compiled function, or what it calls, go "
    "through a Python loop of many rounds, or through many layers alike one after "
    "another? Each round is traced and compiled on its own; jax.lax.scan or fori_loop, "
    "or in TensorFlow a loop over tf.range, does so once."
)


class WatchedWords(msgspec.Struct, frozen=True):
    """What is said of it."""

    most: str
    """`61 of 74 s: tracing and compiling train_step (train.py:57)`; "" where nothing
    takes most of the time."""
    compiles: bool
    """Whether that is compiling, or it compiles for long."""
    lines: tuple[str, ...]
    """A report, headline first; empty where too little was seen."""


def watched_words(samples: Samples) -> WatchedWords:
    """Of the main thread, from the program's start on. The program's files are read
    where they are, and never run.
    """
    time = watched_time(samples)
    if time.seconds < FEWEST_SECONDS:
        return WatchedWords("", False, ())
    chosen = next((part for part in time.parts if is_long(part, time)), None)
    first = chosen or next(iter(time.parts), None)
    most = ""
    if first is not None and (chosen or first.seconds >= _MOSTLY * time.seconds):
        most = (
            f"{_whole(first.seconds)} of {_whole(time.seconds)} s: {_part_words(first)}"
        )
    lines = [*_report(time)]
    if chosen is not None:
        lines += _to_change(chosen, samples)
    return WatchedWords(most, chosen is not None, tuple(lines))


def is_long(part: WatchedPart, time: WatchedTime) -> bool:
    """Whether it compiles one call for 10 s and more, or half of the time."""
    least = min(_LONG_SECONDS, _MOSTLY * time.seconds)
    return part.kind == COMPILES and part.seconds >= least


def _report(time: WatchedTime) -> Iterator[str]:
    yield (
        f"Where {duration(1000 * time.seconds)} went, by samples of the main thread "
        "from its start on"
    )
    shown = [
        part for part in time.parts if part.seconds >= _WORTH_A_LINE * time.seconds
    ][:_MOST_PARTS]
    for part in shown:
        yield f"  {duration(1000 * part.seconds):>7}  {_part_words(part)}"
        yield from (f"             {line}" for line in _more(part))
    rest = time.seconds - sum(part.seconds for part in shown)
    if rest >= _WORTH_A_LINE * time.seconds:
        yield f"  {duration(1000 * rest):>7}  other"


def _to_change(part: WatchedPart, samples: Samples) -> Iterator[str]:
    """Of what compiles for long."""
    files = _files_of(samples)
    parsed = files.read(part.line.place.file)
    names = {part.compiled} if part.compiled else set()
    if not names and parsed is not None:
        names = compiled_on(files.first(_MOST_FILES), parsed, part.line.place.line)
    loops = (unrolled_loop(files.first(_MOST_FILES), name) for name in sorted(names))
    loop = next(filter(None, loops), None)
    yield ""
    if loop is None:
        yield from _wrapped(_ASK)
        return
    yield from _wrapped(f"{loop.words}. {loop.change} {loop.cost}")
    for lines in (loop.before, loop.after):
        yield ""
        yield from (f"    {printable(line)}" for line in lines.split("\n"))


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(one_line(text), _LONGEST, break_on_hyphens=False)


def _files_of(samples: Samples) -> SourceFiles:
    """The program's, that samples met."""
    own = {file for file, _, _ in samples.frames if is_of_program(file)}
    found = []
    for file in sorted(own):
        try:
            digest = sha256(read_small(Path(file), _LARGEST)).hexdigest()
        except (OSError, ValueError):
            continue
        found.append(NotedSource(file, digest, rewritten=False))
    return SourceFiles(None, found)


def _part_words(part: WatchedPart) -> str:
    place = f"{part.line.place.file}:{part.line.place.line}"
    if part.kind == IMPORTS:
        return one_line(f"imports ({place})")
    if part.kind != COMPILES:
        return one_line(part.line.place.words)
    phases = [phase for phase, _ in part.phases if phase != "lowering"]
    does = " and ".join(sorted(phases, reverse=True)) or "compiling"
    what = part.compiled or f"what {place} calls"
    return one_line(f"{does} {what}" + (f" ({place})" if part.compiled else ""))


def _more(part: WatchedPart) -> Iterator[str]:
    """The line itself, and of what compiles what it does how long, and where."""
    text = linecache.getline(part.line.path, part.line.place.line).strip()
    if text:
        yield cut(one_line(text), _LONGEST)
    if len(part.phases) > 1:
        spent = (f"{phase} {duration(1000 * took)}" for phase, took in part.phases)
        yield ", ".join(spent)
    least = _WORTH_A_LINE * part.seconds
    traced = [line for line in part.traced if line.seconds >= least]
    if traced:
        yield one_line(f"traced there: {_line_words(traced)}")


def _line_words(lines: Sequence[WatchedLine]) -> str:
    return ", ".join(
        f"{line.place.words} {duration(1000 * line.seconds)}" for line in lines
    )


def _whole(seconds: float) -> str:
    return f"{seconds:.0f}"
