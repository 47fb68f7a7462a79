"""Records the terminal session of docs/session: record a slow program, patch it, prove
the gain.

    pip install '.[docs,fix]' jax && python docs/record_session.py

Runs each command of COMMANDS in a terminal of its own, in a repository made for it, and
writes what it printed: as an asciicast (docs/pictures/session.cast, pauses cut to two
seconds) and as a picture of the whole (docs/pictures/session.svg). Let the machine rest
meanwhile: the last command measures.
"""

from __future__ import annotations

import json
import os
import pty
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Mapping
from fcntl import ioctl
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pyte
from pyte.screens import Char
from rich.console import Console
from rich.style import Style
from rich.text import Text

DOCS = Path(__file__).parent
PROGRAM, PICTURES = DOCS / "session" / "train.py", DOCS / "pictures"
COMMANDS = (
    "tfadvisor run --out logdir -- python train.py",
    "tfadvisor fix logdir --source .",
    "tfadvisor try --from logdir/ --budget 3m -- python train.py",
)
WIDTH, HEIGHT = 110, 40
LONGEST_PAUSE_S = 2.0
ENDS_WELL = (0, 1)
"""Exit codes that are an answer."""


class Piece(NamedTuple):
    """Something that was printed, and when."""

    at_s: float
    text: str


def main() -> int:
    """Writes both files."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "digits"
        folder.mkdir()
        shutil.copy(PROGRAM, folder)
        as_repository(folder)
        pieces = list(session(folder))
    PICTURES.joinpath("session.cast").write_text(as_cast(pieces), "utf-8")
    PICTURES.joinpath("session.svg").write_text(as_picture(pieces), "utf-8")
    return 0


def as_repository(folder: Path) -> None:
    """What `fix` and `try` are used in: a work tree without changes."""
    for words in (
        ("init", "-q"),
        ("add", "-A"),
        (
            "-c",
            "user.name=you",
            "-c",
            "user.email=you@example.org",
            "commit",
            "-qm",
            "start",
        ),
    ):
        subprocess.run(["git", *words], cwd=folder, check=True)


def session(folder: Path) -> Iterator[Piece]:
    """All commands, one after the other, on one clock. Raises SystemExit where one
    fails.
    """
    now = 0.0
    for command in COMMANDS:
        yield Piece(now, f"\x1b[1;32m$\x1b[0m \x1b[1m{command}\x1b[0m\r\n")
        begun = now + 1.0
        last = 0.0
        for at_s, text in printed(command, folder):
            begun -= max(0.0, at_s - last - LONGEST_PAUSE_S)
            last = at_s
            now = begun + at_s
            yield Piece(now, text.replace(str(folder), "~/digits"))
        now += LONGEST_PAUSE_S
        yield Piece(now, "\r\n")


def printed(command: str, folder: Path) -> Iterator[Piece]:
    """What the command prints to a terminal, with seconds from its start."""
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ.update(
            PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            TERM="xterm-256color",
        )
        os.environ.pop("NO_COLOR", None)
        os.execvp("sh", ["sh", "-c", command])
    ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", HEIGHT, WIDTH, 0, 0))
    begun = time.monotonic()
    while data := _read(terminal):
        yield Piece(time.monotonic() - begun, data.decode("utf-8", "replace"))
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if status not in ENDS_WELL:
        raise SystemExit(f"{command} ended with {status}")


def _read(terminal: int) -> bytes:
    """What is there within a tenth of a second of the first byte, so that characters
    are whole; nothing at the end.
    """
    found = b""
    try:
        while data := os.read(terminal, 65536):
            found += data
            if not select.select([terminal], [], [], 0.1)[0]:
                break
    except OSError:  # Linux: the other end is closed
        pass
    return found


def as_cast(pieces: list[Piece]) -> str:
    """The second version of asciicast: a head, and a line for each piece."""
    head = {
        "version": 2,
        "width": WIDTH,
        "height": HEIGHT,
        "title": "A slow program, its patch, and the proof",
    }
    lines = [
        json.dumps(head),
        *(json.dumps([round(piece.at_s, 3), "o", piece.text]) for piece in pieces),
    ]
    return "\n".join(lines) + "\n"


def as_picture(pieces: list[Piece]) -> str:
    """What stands in the terminal at the end, with all that was scrolled away."""
    screen = pyte.Screen(WIDTH, 400)
    stream = pyte.Stream(screen)
    for piece in pieces:
        stream.feed(piece.text)
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    rows = [_styled(screen.buffer[row]) for row in range(screen.cursor.y)]
    console.print(Text("\n").join(rows))
    return console.export_svg(title="tfadvisor", unique_id="session")


def _styled(row: Mapping[int, Char]) -> Text:
    text = Text(no_wrap=True)
    for column in range(WIDTH):
        cell = row[column]
        style = Style(
            color=_colour(cell.fg),
            bgcolor=_colour(cell.bg),
            bold=cell.bold,
            reverse=cell.reverse,
        )
        text.append(cell.data, style)
    text.rstrip()
    return text


def _colour(name: str) -> str | None:
    """pyte says `brightred`, `brown` and `ff8700`, rich says otherwise."""
    if name == "default":
        return None
    if len(name) == 6 and all(letter in "0123456789abcdef" for letter in name):
        return f"#{name}"
    name = name.replace("brown", "yellow")
    return name.replace("bright", "bright_")


if __name__ == "__main__":
    sys.exit(main())
