"""The command as a process of its own, and which processes of a test are left when it
is over.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

COMMAND = Path(sys.executable).parent / "tfadvisor"
WITHOUT_POWERS = (
    ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    if os.getuid() == 0
    else []
)
"""Before a call: as root without the power to read and write what nobody may."""
MARK = "TFADVISOR_TEST_MARK"
IN_PROCESSES = (
    "import sys; from tfadvisor.cli.entry import run; import "
    "tfadvisor.timeline.run.read_hosts as hosts; "
    "hosts._WORTH_PROCESSES = 0; hosts.free_memory = lambda: 1 << 40; import os; "
    "os.cpu_count = lambda: 3; run()"
)
"""The command, which reads any run of several hosts in processes."""


class Marked:
    """Starts processes whose children, and theirs, can be found."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex

    def start(
        self, arguments: Sequence[object], **settings: Any
    ) -> subprocess.Popen[bytes]:
        """As Popen, with a mark that is inherited."""
        env = {**settings.pop("env", os.environ), MARK: self.mark}
        return subprocess.Popen([str(one) for one in arguments], env=env, **settings)

    def alive(self) -> list[int]:
        """Process ids of those that run."""
        return sorted(self._alive())

    def left(self, patience_s: float = 5.0) -> list[int]:
        """Those that still run after a while; empty as soon as there is none."""
        end = time.monotonic() + patience_s
        while (found := self.alive()) and time.monotonic() < end:
            time.sleep(0.02)
        return found

    def _alive(self) -> Iterator[int]:
        wanted = f"{MARK}={self.mark}".encode()
        for entry in os.scandir("/proc"):
            if not entry.name.isdecimal():
                continue
            try:
                mine = wanted in Path(entry.path, "environ").read_bytes().split(b"\0")
                state = (
                    Path(entry.path, "stat").read_text().rpartition(")")[2].split()[0]
                )
                if mine and state not in "ZX":
                    yield int(entry.name)
            except OSError:
                continue


@contextmanager
def marked() -> Iterator[Marked]:
    """Kills what a failed test leaves: only processes with the mark of this test."""
    group = Marked()
    try:
        yield group
    finally:
        for process in group.alive():
            try:
                os.kill(process, 9)
            except ProcessLookupError:
                continue
