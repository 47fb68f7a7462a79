"""What tfadvisor writes, and what may be there when the writer is killed at any call or
the disk is full.

Run by `disk_faults.py` in a process whose file layer fails on request: python
disk_scenarios.py NAME killed|torn|full FOLDER prints how many calls there were to fail
at, and raises AssertionError where something is half.
"""

from __future__ import annotations

import ctypes
import errno
import gzip
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from support.made_runs import snapshot
from support.places import FIXTURES
from tfadvisor.act.record import keeping as keep
from tfadvisor.cli.main import guarded_main
from tfadvisor.comparison.baseline.store import (
    accept,
    add,
    leave_pending,
    pending,
    read_store,
)
from tfadvisor.comparison.ledger import Entry, append, read
from tfadvisor.fleet.table import write_table
from tfadvisor.serve.tensorboard.cache import PAGE, REPORT, SUMMARY, Cache

RUN = FIXTURES / "jax-loader"
_MOST = 10
_NEVER = 1 << 60
MODES = {"killed": 1, "torn": 2, "full": 3}
"""As in disk_faults.c."""


@dataclass(frozen=True)
class Scenario:
    """before: makes what is there. act: writes, and returns an exit code. sound: raises
    AssertionError for what is half.

    done: the same once `act` was let do it. before and sound know nothing of faults.
    """

    before: Callable[[Path], object]
    act: Callable[[Path], int]
    sound: Callable[[Path], object]
    done: Callable[[Path], object]


def drive(name: str, mode: str, folder: Path) -> int:
    """How many calls it makes. It was failed at one after the other; each time all is
    sound, and then it works.

    Of very many calls, as those for each column of a table, the first, the last and
    some between.
    """
    scenario = SCENARIOS[name]
    for place in (folder / "imports", folder / "unharmed"):
        place.mkdir()
        scenario.before(place)
    assert (
        scenario.act(folder / "imports") == 0
    )  # what it imports is there for all copies of this process
    code, calls, said = failed_at(
        _NEVER, MODES["killed"], lambda: scenario.act(folder / "unharmed")
    )
    assert code == 0, said
    scenario.done(folder / "unharmed")
    for number in failed_calls(calls):
        place = folder / f"{mode}-{number}"
        place.mkdir()
        scenario.before(place)
        code, _, said = failed_at(number, MODES[mode], partial(scenario.act, place))
        assert code == -9 or mode != "killed"
        if mode == "full":
            assert code in (0, 2, 3), (number, code, said)
            assert "bug in tfadvisor" not in said and "Traceback" not in said, said
            assert code == 0 or "No space left on device" in said, said
            assert not hidden(place), (number, hidden(place))
        scenario.sound(place)
        code, _, said = failed_at(_NEVER, MODES["killed"], partial(scenario.act, place))
        assert code == 0, said
        scenario.done(place)
        shutil.rmtree(place)
    return calls


def failed_calls(calls: int) -> list[int]:
    """Their numbers."""
    between = range(_MOST, calls - _MOST, max(calls // _MOST, 1))
    return sorted(
        {
            *range(1, min(calls, _MOST) + 1),
            *between,
            *range(max(calls - _MOST, 0) + 1, calls + 1),
        }
    )


def hidden(folder: Path) -> list[Path]:
    """Files under names that are for the time of writing."""
    return [
        one
        for one in folder.rglob(".*")
        if one.suffix not in ("", ".lock") and one.name != ".gitignore"
    ]


def failed_at(number: int, how: int, act: Callable[[], int]) -> tuple[int, int, str]:
    """Acts in a copy of this process. (exit code, -9 where it was killed; calls that it
    made; what it said).
    """
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        faults = ctypes.CDLL(None)
        os.dup2(writes, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        faults.faults_arm(number, how)
        try:
            code = act()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}".encode())
            code = 3
        sys.stderr.flush()
        calls = faults.faults_calls()
        faults.faults_arm(0, 0)
        os.write(2, f"\n{calls}".encode())
        os._exit(code)
    os.close(writes)
    with os.fdopen(reads, encoding="utf-8") as pipe:
        said, _, calls = pipe.read().rpartition("\n")
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code, number if code == -9 else int(calls), said


def command(*words: object) -> Callable[[Path], int]:
    """A command; `{}` in a word is the scenario's folder."""
    return lambda folder: guarded_main(
        [str(one).replace("{}", str(folder)) for one in words]
    )


def whole_or_none(
    name: str, whole: Callable[[bytes], bool], kept: bytes | None = None
) -> Callable[[Path], None]:
    """A file that is whole, or as it was before; None: not there."""

    def check(folder: Path) -> None:
        path = folder / name
        found = path.read_bytes() if path.exists() else None
        assert found == kept or (found is not None and whole(found)), name

    return check


# Baselines


def fingerprints(folder: Path) -> set[str]:
    contents = read_store(folder / "store")
    assert contents.unusable == ()
    return {kept.snapshot.fingerprint[0] for kept in contents.runs}


def run_of(letter: str, day: int) -> list[object]:
    return [
        snapshot(fingerprint=letter * 32, recorded_at=f"2026-01-0{day}T00:00:00+00:00")
    ]


def stored(*letters: str) -> Callable[[Path], None]:
    def before(folder: Path) -> None:
        for day, letter in enumerate(letters, start=1):
            add(folder / "store", run_of(letter, day), keep=9)  # type: ignore[arg-type]

    return before


def adds(folder: Path) -> int:
    add(folder / "store", run_of("b", 3), keep=1)  # type: ignore[arg-type]
    return 0


def accepts(folder: Path) -> int:
    accept(folder / "store", run_of("b", 3), 9, "why")  # type: ignore[arg-type]
    return 0


def leaves_pending(folder: Path) -> int:
    leave_pending(folder / "store", run_of("b", 3)[0])  # type: ignore[arg-type]
    return 0


def is_in(*allowed: str) -> Callable[[Path], None]:
    def check(folder: Path) -> None:
        assert "".join(sorted(fingerprints(folder))) in allowed

    return check


def pending_is(*allowed: str) -> Callable[[Path], None]:
    def check(folder: Path) -> None:
        files = list((folder / "store" / ".pending").glob("*.json"))
        found = pending(folder / "store", None)
        assert len(found) == len(files)
        assert "".join(one.fingerprint[0] for one in found) in allowed

    return check


# The ledger


def entry(rule: str) -> Entry:
    return Entry(
        form=1, at="2026-01-02T03:04:05+00:00", tool="1", trial="t", program=(), rule=rule, category="input", change="cache",
        identity="0", versions={}, device="cpu", predicted=None, ratio=0.6, interval=(0.5, 0.7), runs=(5, 5), outcome="better",
        check="same",
    )  # fmt: skip


def rules_are(*allowed: str) -> Callable[[Path], None]:
    def check(folder: Path) -> None:
        found = read(folder / "ledger.jsonl")
        assert found.unread == 0
        assert "".join(one.rule for one in found.entries) in allowed

    return check


def tries(folder: Path) -> int:
    append(folder / "ledger.jsonl", [entry("b"), entry("c")])
    return 0


# The tab's cache

KEY = "0" * 64
MADE = {REPORT: b"r" * 3000, SUMMARY: b"s" * 100, PAGE: b"p" * 200_000}


def makes_an_analysis(folder: Path) -> int:
    with Cache(folder / "cache").making(KEY) as made:
        for name, content in MADE.items():
            (made / name).write_bytes(content)
    return 0


def analysis_is_whole(there: Sequence[bool]) -> Callable[[Path], None]:
    """The next TensorBoard throws away what is half made."""

    def check(folder: Path) -> None:
        cache = Cache(folder / "cache")
        found = {name: cache.read(KEY, name) for name in MADE}
        assert found in ({}.fromkeys(MADE), MADE)
        assert cache.holds(KEY) in there
        assert not list((folder / "cache").glob(".making-*"))

    return check


# Patches in the user's program


def program(folder: Path) -> None:
    shutil.copy(FIXTURES / "tf-no-prefetch" / "program.py", folder / "program.py")
    git = ["git", "-C", str(folder), "-c", "user.name=t", "-c", "user.email=t@t"]
    for words in (
        ["init", "-q"],
        ["add", "program.py"],
        ["commit", "-q", "-m", "as it was"],
    ):
        subprocess.run([*git, *words], check=True)


def patches(folder: Path) -> int:
    code = guarded_main(
        ["fix", str(FIXTURES / "tf-no-prefetch"), "--source", str(folder), "--apply"]
    )
    return (
        0 if code == 4 or ".prefetch(" in (folder / "program.py").read_text() else code
    )


def is_patched(text: bytes) -> bool:
    return b".prefetch(" in text and text.endswith(PROGRAM[-40:])


PROGRAM = (FIXTURES / "tf-no-prefetch" / "program.py").read_bytes()


# Outputs


def is_page(text: bytes) -> bool:
    return text.rstrip().endswith(b"</html>")


def is_packed(data: bytes) -> bool:
    return len(gzip.decompress(data)) > 1000


def is_parquet(data: bytes) -> bool:
    return data[:4] == b"PAR1" == data[-4:]


def old(name: str) -> Callable[[Path], int]:
    return lambda folder: (folder / name).write_bytes(b"as it was")


def writes_a_fleet(folder: Path) -> int:
    write_table(folder / "fleet.parquet", {})
    return 0


RECORDED = b"trace" * 100_000


def moves(folder: Path) -> int:
    """To a folder that cannot be reached by a new name."""
    source = folder.parent / "recorded"
    source.write_bytes(RECORDED)

    class Elsewhere(type(source)):  # type: ignore[misc]
        def replace(self, target: object) -> None:
            raise OSError(errno.EXDEV, "Invalid cross-device link")

    keep._move(Elsewhere(source), folder / "h.xplane.pb")
    return 0


def nothing(_: Path) -> None:
    """There is nothing before."""


def output(name: str, whole: Callable[[bytes], bool], *words: object) -> Scenario:
    """A command that writes one file, over one that is there."""
    return Scenario(
        old(name),
        command(*words),
        whole_or_none(name, whole, b"as it was"),
        whole_or_none(name, whole, b""),
    )


SCENARIOS = {
    "a baseline that takes a run": Scenario(
        stored("a"), adds, is_in("a", "ab", "b"), is_in("ab", "b")
    ),
    "a first baseline": Scenario(nothing, adds, is_in("", "b"), is_in("b")),
    "a baseline that accepts": Scenario(
        stored("a"), accepts, is_in("a", "ab"), is_in("ab")
    ),
    "a baseline that loses a run": Scenario(
        stored("a", "b"),
        command("baseline", "prune", "--keep", "1", "--store", "{}/store"),
        is_in("ab", "b"),
        is_in("b"),
    ),
    "what the gate left to accept": Scenario(
        stored("a"), leaves_pending, pending_is("", "b"), pending_is("b")
    ),
    "the ledger": Scenario(
        lambda folder: append(folder / "ledger.jsonl", [entry("a")]),
        tries,
        rules_are("a", "abc"),
        rules_are("abc", "abcbc"),
    ),
    "the tab's cache": Scenario(
        nothing,
        makes_an_analysis,
        analysis_is_whole((True, False)),
        analysis_is_whole((True,)),
    ),
    "a patched program": Scenario(
        program,
        patches,
        whole_or_none("program.py", is_patched, PROGRAM),
        whole_or_none("program.py", is_patched, b""),
    ),
    "a page": output("report.html", is_page, "analyze", RUN, "-o", "{}/report.html"),
    "a report": output(
        "r.json",
        lambda text: text.endswith(b"}\n"),
        "analyze",
        RUN,
        "-o",
        "{}/r.json",
        "-f",
        "json",
    ),
    "a timeline": output(
        "t.pftrace.gz",
        is_packed,
        "export",
        RUN,
        "--to",
        "perfetto",
        "-o",
        "{}/t.pftrace.gz",
    ),
    "a recording from another disk": Scenario(
        nothing,
        moves,
        whole_or_none("h.xplane.pb", RECORDED.__eq__),
        whole_or_none("h.xplane.pb", RECORDED.__eq__, b""),
    ),
    "a fleet's table": Scenario(
        old("fleet.parquet"),
        writes_a_fleet,
        whole_or_none("fleet.parquet", is_parquet, b"as it was"),
        whole_or_none("fleet.parquet", is_parquet, b""),
    ),
}

if __name__ == "__main__":
    print(drive(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
