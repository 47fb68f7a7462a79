"""Where a command writes: standard output or a file, never into what it reads; messages
on standard error.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from tfadvisor.errors import UsageError, written
from tfadvisor.files import replace_file
from tfadvisor.html_fragments import as_ascii
from tfadvisor.printable import in_one_message, without_commands
from tfadvisor.report.forms import Form
from tfadvisor.text_page import screen_of
from tfadvisor.trace.remote_path import was_address

if TYPE_CHECKING:
    from tfadvisor.report import Report


class ReportPlace(msgspec.Struct, frozen=True):
    """Where a report goes, and in which form."""

    form: Form
    output: Path | None
    """None: standard output."""
    details: bool
    """Whether a form for eyes shows everything."""

    @property
    def is_screen(self) -> bool:
        """Whether it is read as it comes."""
        return self.form.on_screen and self.output is None

    @property
    def settings(self) -> dict[str, bool]:
        """What the form's writer takes beside the report."""
        return {"details": self.details} if self.form.on_screen else {}


def check_outside(output: Path, paths: Sequence[Path], option: str) -> None:
    """Raises UsageError when a file would be written into what is analysed, or to an
    address.
    """
    if was_address(output):
        raise UsageError(
            f"{option} {output}: an address is only read from. Give a file of this "
            "machine."
        )
    target = output.resolve()
    for path in paths:
        folder = path.resolve()
        if target == folder or (folder in target.parents and folder.is_dir()):
            raise UsageError(
                f"{option} {output} lies in {path}, and nothing is written into what "
                "is analysed. Give another place."
            )


def check_page_has_a_file(form: Form, output: Path | None, example: str) -> None:
    """Raises UsageError when a page for a browser would be written to a terminal."""
    if form.drawn and output is None and sys.stdout.isatty():
        raise UsageError(
            f"--format {form.name} is a page for a browser. Give a file to write it "
            f"to: -o {example}.{form.name}"
        )


def write_form(form: Form, subject: Any, output: Path | None, **settings: Any) -> None:
    """A report, comparison or verdict in a form, to a file or to standard output.
    settings: for forms on a screen.
    """
    if output is not None:
        write_output(output, form.write(subject, **settings), "--output")
        note(f"wrote {output} ({form.name}).")
    else:
        write_out(
            form.write(subject, screen_of(sys.stdout), **settings),
            page=form.drawn,
            json=form.is_json,
        )


def write_output(output: Path, text: str, option: str) -> None:
    """To a file, whole or not at all."""
    with written(f"{option} {output}"):
        replace_file(output, text)


def write_out(text: str, *, page: bool = False, json: bool = False) -> None:
    """To standard output, in ASCII where that takes no UTF-8. page: it says itself that
    it is UTF-8, and so it stays.

    Nothing in it is a command to a CI system that reads the log.
    """
    text = (
        text if page else without_commands(text, "\\u{:04x}" if json else "\\x{:02x}")
    )
    if screen_of(sys.stdout).ascii_only:
        if page:
            sys.stdout.flush()
            sys.stdout.buffer.write(text.encode())
            return
        text = as_ascii(text)
    sys.stdout.write(text)


def write_json(data: Any) -> None:
    """Plain data, to standard output."""
    from json import dumps  # most commands need none of it

    write_out(dumps(data, indent=2) + "\n", json=True)


def note(message: str) -> None:
    """A line on stderr."""
    sys.stderr.write(f"tfadvisor: {in_one_message(message)}\n")


def note_broken(report: Report) -> None:
    """The rules and metrics that failed."""
    for broken in report.broken:
        note(f"{broken.name}: {broken.error}")
