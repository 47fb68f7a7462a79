"""One process that fuzzes one target for a while and prints what it found as one line
of JSON. `run.py` starts it.

python fuzz/engine.py TARGET --seconds S [--seed N] [--guided]

Without --guided it mutates seeds, the corpus and what the target accepted, and where
the extension is built with `-fsanitize-coverage=trace-pc` (see sanitize.sh) it keeps
what reaches new edges of the compiled code. With --guided Atheris looks at the edges of
the Python code and chooses.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import hashlib
import io
import json
import math
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from targets import Target

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
_LONGEST_S, _LONGEST_WAIT_S = 5, 600
_MOST_KB = 200 << 10


class Hang(BaseException):
    """An execution took longer than any may."""


class Large(Exception):
    """An execution took more memory than any may."""


def main() -> int:
    """0 when nothing was found."""
    asked = argparse.ArgumentParser()
    asked.add_argument("target")
    asked.add_argument("--seconds", type=float, default=60)
    asked.add_argument("--executions", type=int, default=1 << 62)
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--guided", action="store_true")
    given = asked.parse_args()
    return guided(given) if given.guided else by_chance(given)


def by_chance(given: argparse.Namespace) -> int:
    """Our own loop."""
    from targets import TARGETS

    target, chance = TARGETS[given.target], random.Random(given.seed)
    seeds = [*target.seeds(), *corpus(given.target)]
    pool, found, edges, watch = list(seeds), {}, Edges(), Watch()
    executions, accepted, longest = 0, 0, 2 * max(map(len, seeds))
    end = time.monotonic() + given.seconds
    with (
        Path(os.devnull).open("w") as nowhere,
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
    ):
        for data in _inputs(target, seeds, pool, chance):
            if executions >= given.executions or time.monotonic() > end:
                break
            edges_before = edges.count()
            took = execute(target.check, data, found, watch)
            executions += 1
            accepted += took
            if len(data) < longest and (
                edges.count() > edges_before or (took and chance.random() < 0.01)
            ):
                pool.append(data)
                del pool[len(seeds) : -300]
    watch.stop()
    counts = {
        "executions": executions,
        "accepted": accepted,
        "slowest_s": round(watch.slowest_s, 3),
    }
    told = {
        "target": given.target,
        **counts,
        "edges": edges.count(),
        "faults": keep(given.target, found),
    }
    sys.__stdout__.write(json.dumps(told) + "\n")
    return 1 if found else 0


class Watch:
    """Raises Hang in an execution that has taken too much of the CPU, or waited too
    long, and Large after one that took too much memory. Seconds are the process's own,
    so that a busy machine makes no hang."""

    def __init__(self) -> None:
        """Looks once a second, so that an execution costs no call of its own to set a
        clock.
        """
        self.slowest_s, self._began, self._peak_kb = 0.0, math.inf, _peak_kb()
        signal.signal(signal.SIGPROF, self._look)
        signal.signal(signal.SIGALRM, _hang)
        signal.setitimer(signal.ITIMER_PROF, 1, 1)

    def stop(self) -> None:
        """No more looks."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.alarm(0)

    def begin(self) -> None:
        """Before an execution."""
        self._began = time.process_time()

    def end(self, size: int) -> None:
        """After one of so many bytes. Raises Large."""
        self.slowest_s, self._began = (
            max(self.slowest_s, time.process_time() - self._began),
            math.inf,
        )
        before, self._peak_kb = self._peak_kb, _peak_kb()
        if self._peak_kb - before > _MOST_KB + 20 * size / 1024:
            raise Large(f"{(self._peak_kb - before) / 1024:.0f} MB for {size:,} bytes")

    def _look(self, _number: int, _frame: FrameType | None) -> None:
        if time.process_time() - self._began > _LONGEST_S:
            _hang(0, None)
        signal.alarm(0 if self._began == math.inf else _LONGEST_WAIT_S)


def _peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def execute(
    check: Callable[[bytes], bool],
    data: bytes,
    found: dict[str, tuple[str, bytes]],
    watch: Watch | None = None,
) -> bool:
    """Whether the target accepted the bytes. What it may not raise goes into found, by
    where it was raised.
    """
    if watch is not None:
        watch.begin()
    try:
        took = check(data)
        if watch is not None:
            watch.end(len(data))
        return took
    except (Exception, Hang) as error:
        at = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{type(error).__name__} at {Path(at.filename).name}:{at.lineno}"
        if where not in found or len(data) < len(found[where][1]):
            found[where] = (f"{where}: {error}"[:300], data)
        return False


def corpus(target: str) -> list[bytes]:
    """What was kept of earlier runs: inputs that once broke something."""
    return [one.read_bytes() for one in sorted((HERE / "corpus" / target).glob("*"))]


def keep(target: str, found: dict[str, tuple[str, bytes]]) -> list[str]:
    """Writes what broke the target into the corpus; returns what was raised."""
    for _, data in found.values():
        folder = HERE / "corpus" / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)
    return sorted(words for words, _ in found.values())


def _inputs(
    target: Target, seeds: Sequence[bytes], pool: list[bytes], chance: random.Random
) -> Iterator[bytes]:
    from mutate import flipped, mutated

    change = mutated if target.binary else _as_text
    yield from seeds
    while True:
        data = change(chance.choice(pool), seeds, chance)
        yield data
        for _ in range(target.neighbours):
            yield flipped(data, chance)


def _as_text(data: bytes, others: Sequence[bytes], chance: random.Random) -> bytes:
    """Lines and characters changed."""
    from mutate import _SPLICES, _as_bytes

    lines = data.splitlines(keepends=True) or [b""]
    for _ in range(chance.choice((1, 1, 2, 4))):
        at, how = chance.randrange(len(lines)), chance.randrange(6)
        if how == 0:
            lines[at : at + 1] = []
        elif how == 1:
            lines[at:at] = [lines[at]]
        elif how == 2:
            lines[at] = chance.choice(
                chance.choice(others).splitlines(keepends=True) or [b""]
            )
        elif how == 3:
            words = lines[at].split(b" ")
            words[chance.randrange(len(words))] = chance.choice(
                (*_SPLICES, b"[" * 500, b"{", b"!!python/object:x", b"&a *a")
            )
            lines[at] = b" ".join(words)
        else:
            lines[at] = _as_bytes(lines[at], chance)
        lines = lines or [b""]
    return b"".join(lines)


class Edges:
    """How many edges of the compiled code were reached, where it was built to count
    them.
    """

    def __init__(self) -> None:
        """Looks for the library that sanitize.sh preloads."""
        self._library = (
            ctypes.CDLL(None) if os.environ.get("TFADVISOR_FUZZ_EDGES") else None
        )

    def count(self) -> int:
        """0 where nothing counts."""
        return int(self._library.tfadvisor_edges()) if self._library is not None else 0


def guided(given: argparse.Namespace) -> int:
    """Atheris's loop; libFuzzer prints how many it executed when it ends."""
    import atheris

    with atheris.instrument_imports(include=["tfadvisor"]):
        from targets import TARGETS

        target = TARGETS[given.target]
        seeds = target.seeds()
        target.check(seeds[0])  # imports what it needs
    from mutate import mutated

    folder = Path(
        os.environ.get("TMPDIR", "/tmp"), f"tfadvisor-fuzz-{given.target}-{os.getpid()}"
    )
    folder.mkdir()
    for index, data in enumerate([*seeds, *corpus(given.target)]):
        (folder / f"seed-{index}").write_bytes(data)
    change = mutated if target.binary else _as_text

    def check(data: bytes) -> None:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            target.check(data)

    def mutator(data: bytes, most: int, seed: int) -> bytes:
        return change(data, seeds, random.Random(seed))[:most]

    limits = [
        f"-max_total_time={max(int(given.seconds), 1)}",
        f"-timeout={_LONGEST_S}",
        "-rss_limit_mb=4096",
        "-max_len=65536",
    ]
    (HERE / "corpus" / given.target).mkdir(parents=True, exist_ok=True)
    kept = f"-artifact_prefix={HERE / 'corpus' / given.target}/"
    arguments = [
        sys.argv[0],
        *limits,
        kept,
        "-print_final_stats=1",
        f"-seed={given.seed + 1}",
        str(folder),
    ]
    atheris.Setup(arguments, check, custom_mutator=mutator)
    atheris.Fuzz()
    return 0


def _hang(_number: int, _frame: FrameType | None) -> None:
    raise Hang(f"longer than {_LONGEST_S} s")


if __name__ == "__main__":
    sys.exit(main())
