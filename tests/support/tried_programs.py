"""Programs on an invented clock: they take the time that they say, and no test waits
for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

from tfadvisor.act.repair.unified_diff import unified

COMMAND = Path(sys.executable).parent / "tfadvisor"
FAKES = Path(__file__).parents[1] / "system" / "act" / "trial" / "fake_frameworks"
INVENTED = """
    import time

    now = [100.0]
    time.perf_counter = lambda: now[0]


    def work(milliseconds):
        now[0] += milliseconds / 1000
"""
TRAIN = """
    import sys
    from invented import work


    def load(number):
        work(12)
        return number


    def train(steps):
        for number in range(steps):
            batch = load(number)
            work(8)
            loss = 1.0 / (batch + 1)


    if __name__ == "__main__":
        train(int(sys.argv[1]))
"""


class Place:
    """A folder with a program, where the command runs."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.env = {
            name: value
            for name, value in os.environ.items()
            if name not in ("COLUMNS", "XLA_FLAGS")
        }
        self.env["PYTHONPATH"] = os.pathsep.join(
            [str(FAKES), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        self.write("invented.py", INVENTED)
        self.write("train.py", TRAIN)

    def write(self, name: str, text: str) -> Path:
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"))
        return file

    def patch(self, name: str, old: str, new: str, file: str = "train.py") -> None:
        """A diff that changes a text of a file, wherever it stands."""
        text = (self.folder / file).read_text()
        assert old in text
        (self.folder / name).write_text(unified(file, text, text.replace(old, new)))

    def start(self, *arguments: object) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(COMMAND), *map(str, arguments)],
            cwd=self.folder,
            env=self.env,
            text=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def run(self, *arguments: object) -> tuple[int, str, str]:
        """(exit code, stdout, stderr)."""
        running = self.start(*arguments)
        out, err = running.communicate(timeout=120)
        return running.returncode, out, err

    def tried(self, *arguments: object) -> dict[str, Any]:
        """The result as JSON."""
        _, out, err = self.run("try", "--format", "json", *arguments)
        assert out, err
        result: dict[str, Any] = json.loads(out)
        return result
