"""Does anything stay when an analysis is killed at any moment? Kills many, counts what
is left, and asks the tab again.

python benchmarks/kill_at_random.py hosts|tab|first [--runs 200] [--seconds 3600]
[--seed 1] [--publish]

hosts: runs of five hosts, read by three processes, a page written. A quarter is killed in the first 0.1 s, the others at any
moment until the work is done; what ends before its signal comes is no run. tab: TensorBoard. A quarter is killed in the first
0.1 s; the others first show the run at which the one before was killed, then are killed while they analyse another one.
first: the installed command gets SIGINT at any moment of its first second, while two busy processes a core take the machine.
--publish adds the counts to tests/system/robustness/README.md.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from marked_part import put

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.logdirs import add_run
from support.processes import IN_PROCESSES, Marked, marked
from support.trace_builder import trace

TAB = """
import sys
from tensorboard import program
from tensorboard.plugins.core.core_plugin import CorePluginLoader
from tfadvisor.serve.tensorboard.loader import AdvisorLoader
board = program.TensorBoard(plugins=[CorePluginLoader(), AdvisorLoader()])
board.configure(logdir=sys.argv[1], host="127.0.0.1", port=0, load_fast="false")
sys.exit(board.main())
"""
COUNTS = Path(__file__).with_name("kills.json")
PAGE = Path(__file__).parents[1] / "tests" / "system" / "robustness" / "README.md"
HEAD = (
    "| killed | by | runs | in the first 0.1 s | one line, 130 or 143 | in Python's "
    "own start | answers again | "
    "processes and files left |"
)
_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_OVER = "over before"
_WORDS = {
    signal.SIGTERM: (143, b"tfadvisor: terminated\n"),
    signal.SIGINT: (130, b"tfadvisor: interrupted\n"),
}
_FIRST = (
    "one line, 130", "before Python heeds signals", "while Python starts", "while its script imports `re`", "ended otherwise",
)  # fmt: skip
_EARLY_S = 0.1
_PATIENCE_S = 60


def main(arguments: Sequence[str]) -> int:
    """1 when anything was left, or the tab did not answer."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("hosts", "tab", "first"))
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument(
        "--seconds",
        type=float,
        default=3600.0,
        help="no new run is started after so long",
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--publish", action="store_true")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as place:
        ends = time.monotonic() + asked.seconds
        kills = {"hosts": HostKills, "tab": TabKills, "first": FirstKills}[asked.what](
            Path(place)
        )
        found = killed(kills, asked.runs, ends, random.Random(asked.seed))
    for name, counts in found.items():
        print(asked.what, name, dict(counts))
    if asked.publish:
        publish(asked.what, found)
    faults = [
        counts["left"] + counts["ended otherwise"] + counts["silent"]
        for counts in found.values()
    ]
    return 1 if any(faults) else 0


def killed(
    kills: HostKills | TabKills | FirstKills,
    runs: int,
    ends: float,
    chance: random.Random,
) -> dict[str, Counter[str]]:
    """By signal, how many there were of each column. ends: on the monotonic clock, when
    no other is started.
    """
    found = {one.name: Counter[str]() for one in kills.signals}
    done = 0
    while done < runs and time.monotonic() < ends:
        number = chance.choice(kills.signals)
        early = chance.random() < kills.early
        with marked() as group:
            process, said = kills.start(group, early)
            moment = chance.uniform(0, _EARLY_S if early else kills.lasts_s)
            early = moment < _EARLY_S
            time.sleep(moment)
            in_time = process.poll() is None
            process.send_signal(number)
            process.wait(_PATIENCE_S)
            left = [*group.left(), *kills.files_left()]
            if left:
                print("left:", left, number.name, f"{moment:.3f} s", file=sys.stderr)
            ending = (
                kills.ending(process.returncode, said(), number) if in_time else _OVER
            )
            if ending != _OVER or left:
                done += 1
                found[number.name] += Counter(
                    {
                        "killed": 1,
                        "in the first 0.1 s": early,
                        "left": len(left),
                        ending: 1,
                    }
                )
        kills.clean()
    kills.finish(found)
    return found


class HostKills:
    """`tfadvisor analyze` of five hosts, which writes a page."""

    signals, early = _SIGNALS, 0.25

    def __init__(self, folder: Path) -> None:
        """Runs one to its end, to know how long that takes."""
        self._folder = folder
        self._run = five_hosts(folder / "run")
        self._out = folder / "out"
        self._call = [
            sys.executable,
            "-c",
            IN_PROCESSES,
            "analyze",
            self._run,
            "-o",
            self._out / "report.html",
        ]
        self._env = {
            **os.environ,
            "TMPDIR": str(self._out),
            "XDG_CACHE_HOME": str(self._out),
        }
        self._out.mkdir()
        began = time.monotonic()
        with marked() as group:
            process, said = self.start(group)
            if process.wait(_PATIENCE_S):
                raise RuntimeError(said().decode())
        self.lasts_s = time.monotonic() - began
        self.clean()

    def start(
        self, group: Marked, _early: bool = False
    ) -> tuple[subprocess.Popen[bytes], Callable[[], bytes]]:
        """The process, and what it said on standard error."""
        said = (self._folder / "said").open("w+b")
        process = group.start(
            self._call, stdout=subprocess.DEVNULL, stderr=said, env=self._env
        )

        def told() -> bytes:
            with said:
                said.seek(0)
                return said.read()

        return process, told

    def files_left(self) -> list[str]:
        """All but the report, and that is whole."""
        report = self._out / "report.html"
        half = (
            ["half a report"]
            if report.exists() and not report.read_bytes().rstrip().endswith(b"</html>")
            else []
        )
        return half + [one.name for one in self._out.iterdir() if one != report]

    def ending(self, code: int, said: bytes, number: signal.Signals) -> str:
        """How it ended, as a column."""
        if number == signal.SIGKILL:
            return "ended by KILL"
        if (code, said) == _WORDS[number]:
            return "one line, 130"
        if (code, said) == (0, b""):
            return _OVER
        if code == -number or b"/tfadvisor/" not in said:
            return "in Python's own start"
        print(number.name, code, said.decode(), file=sys.stderr)
        return "ended otherwise"

    def finish(self, found: dict[str, Counter[str]]) -> None:
        """Nothing is asked of a command again."""

    def clean(self) -> None:
        """For the next."""
        for one in self._out.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()


class FirstKills(HostKills):
    """The installed command as a shell starts it, on a loaded machine, for its first
    second.
    """

    signals, early = (signal.SIGINT,), 0.0

    def __init__(self, folder: Path) -> None:
        """Loads the machine until this process ends."""
        self._command = Path(sys.executable).with_name("tfadvisor")
        super().__init__(folder)
        self.lasts_s = 1.0
        busy = [
            sys.executable,
            "-c",
            f"import os\nwhile os.getppid() == {os.getpid()}: sum(range(10**6))",
        ]
        self._busy = [subprocess.Popen(busy) for _ in range(2 * (os.cpu_count() or 1))]

    def start(
        self, group: Marked, early: bool = False
    ) -> tuple[subprocess.Popen[bytes], Callable[[], bytes]]:
        """As HostKills; one that is over within the second is no run."""
        self._call = [
            self._command,
            "analyze",
            self._run,
            "-o",
            self._out / "report.html",
        ]
        return super().start(group, early)

    def ending(self, code: int, said: bytes, number: signal.Signals) -> str:
        """Where it was when it did not end in its own words."""
        if code == -number and not said:
            return "before Python heeds signals"
        if b"init_import_site" in said or b"<frozen site>" in said:
            return "while Python starts"
        if b"Traceback" in said and b"/tfadvisor/" not in said:
            return "while its script imports `re`"
        return super().ending(code, said, number)

    def finish(self, found: dict[str, Counter[str]]) -> None:
        """Frees the machine."""
        for one in self._busy:
            one.kill()
            one.wait()


class TabKills:
    """TensorBoard with the tab. Each that comes to serve first shows the run at which
    the one before it was killed.
    """

    signals, early = _SIGNALS, 0.25

    def __init__(self, folder: Path) -> None:
        """Asks for a first run, to know how long that takes."""
        self._folder, self._cache = folder, folder / "cache"
        self._temporary = folder / "temporary"
        self._temporary.mkdir()
        self._env = {
            **os.environ,
            "TMPDIR": str(self._temporary),
            "TFADVISOR_CACHE": str(self._cache),
        }
        self._number, self._silent = 0, 0
        self._next_run()
        with marked() as group:
            process = self._started(group)
            address = _address_of(process)
            began = time.monotonic()
            if not self._shows(address):
                raise RuntimeError("the tab does not answer")
            self.lasts_s = time.monotonic() - began

    def start(
        self, group: Marked, early: bool
    ) -> tuple[subprocess.Popen[bytes], Callable[[], bytes]]:
        """early: as soon as the process is there. Else it serves, has answered, and was
        asked for another run's page.
        """
        process = self._started(group)
        if early:
            return process, lambda: b""
        address = _address_of(process)
        self._silent += not self._shows(address)
        self._next_run()
        asking = threading.Thread(
            target=lambda: _asked(address, f"page?run={self._run}"), daemon=True
        )
        asking.start()

        def told() -> bytes:
            asking.join(_PATIENCE_S)
            return b""

        return process, told

    def files_left(self) -> list[str]:
        """Of temporary files of ours; what is being made in the cache goes when the
        next one starts.
        """
        return [
            one.name
            for one in self._temporary.iterdir()
            if one.name != ".tensorboard-info"
        ]

    def ending(self, _code: int, _said: bytes, _number: signal.Signals) -> str:
        """TensorBoard ends in its own words."""
        return "ended by TensorBoard"

    def clean(self) -> None:
        """The cache stays as it was left."""

    def finish(self, found: dict[str, Counter[str]]) -> None:
        """Shows the last run as well. Which signal it was after which one did not
        answer is not known: the first is blamed.
        """
        with marked() as group:
            self._silent += not self._shows(_address_of(self._started(group)))
        for counts in found.values():
            counts["answered again"] = max(counts["killed"] - self._silent, 0)
            counts["silent"] = self._silent

    def _started(self, group: Marked) -> subprocess.Popen[bytes]:
        call = [sys.executable, "-c", TAB, self._folder / "logdir"]
        return group.start(
            call, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=self._env
        )

    def _next_run(self) -> None:
        self._number += 1
        self._run = f"run-{self._number}"
        add_run(self._folder / "logdir", self._run)

    def _shows(self, address: str) -> bool:
        """Whether the report of the last run is whole, and nothing half made lies in
        the cache.
        """
        answer = _asked(address, f"report?run={self._run}")
        return "schema_version" in answer and not list(
            self._cache.glob("tensorboard/.*")
        )


def _address_of(process: subprocess.Popen[bytes]) -> str:
    """Of the tab, as soon as it serves; "" where it ended before."""
    assert process.stderr is not None
    for line in process.stderr:
        if found := re.search(rb"http://[^ ]+", line):
            return f"{found[0].decode().rstrip('/')}/data/plugin/tfadvisor/"
    return ""


def _asked(address: str, what: str) -> dict[str, Any]:
    """The JSON that the tab answers; empty where it ended before it did."""
    with (
        suppress(OSError, ValueError),
        urllib.request.urlopen(address + what, timeout=_PATIENCE_S) as answer,
    ):
        content: dict[str, Any] = json.load(answer)
        return content
    return {}


def five_hosts(folder: Path) -> Path:
    """0.5 s of analysis."""
    builder = trace()
    for number in range(5):
        builder.host(f"host-{number}").steps(300, period=100)
        for at in range(0, 30_000, 10):
            builder.kernel("GPU:0", "gemm", at + 2, at + 9, launched=(at, at + 1))
    return builder.write(folder)


def publish(what: str, found: dict[str, Counter[str]]) -> None:
    """Adds to the counts so far, and writes the page's table. Others may do so at the
    same time.
    """
    with PAGE.open(encoding="utf-8") as page:
        fcntl.flock(page, fcntl.LOCK_EX)
        so_far: dict[str, dict[str, int]] = (
            json.loads(COUNTS.read_text(encoding="utf-8")) if COUNTS.exists() else {}
        )
        for name, counts in found.items():
            so_far[f"{what} {name}"] = dict(
                Counter(so_far.get(f"{what} {name}", {})) + counts
            )
        COUNTS.write_text(
            json.dumps(so_far, indent=2, sort_keys=True) + "\n", encoding="utf-8"
        )
        first = so_far.get("first SIGINT", {})
        if first:
            cells = [first["killed"], *(first.get(one, 0) for one in _FIRST)]
            lines = [
                f"| signals | {' | '.join(_FIRST)} |",
                "|" + "--:|" * len(cells),
                f"| {' | '.join(map(str, cells))} |",
            ]
            put(PAGE, "first second", "\n" + "\n".join(lines) + "\n\n")
        rows = [
            _cells(name, Counter(counts))
            for name, counts in sorted(so_far.items())
            if "first" not in name
        ]
        lines = [
            HEAD,
            "|---|---|" + "--:|" * 6,
            *(f"| {' | '.join(row)} |" for row in rows),
        ]
        put(PAGE, "kills", "\n" + "\n".join(lines) + "\n\n")


def _cells(name: str, counts: Counter[str]) -> list[str]:
    """One row; what a signal or a server cannot say is a dash."""
    what, _, by = name.partition(" ")
    hosts, told = what == "hosts", what == "hosts" and by != "SIGKILL"
    return [
        "a run of five hosts" if hosts else "TensorBoard with the tab",
        by.removeprefix("SIG"),
        str(counts["killed"]),
        str(counts["in the first 0.1 s"]),
        str(counts["one line, 130"]) if told else "–",
        str(counts["in Python's own start"]) if told else "–",
        "–" if hosts else str(counts["answered again"]),
        str(counts["left"]),
    ]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
