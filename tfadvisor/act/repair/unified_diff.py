"""A change of a file as a unified diff that `git apply` and `patch -p1` take."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from pathlib import Path

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NO_END = "\n\\ No newline at end of file\n"


def unified(
    name: str,
    old: str,
    new: str,
) -> str:
    """Lines end where `\\n` stands and nowhere else, so that a `\\r` before it stays in
    its line.
    """
    tab = "\t" if " " in name else ""
    before, after = f"a/{name}{tab}", f"b/{name}{tab}"
    old_lines, new_lines = _LINE.findall(old), _LINE.findall(new)
    lines = difflib.unified_diff(
        old_lines,
        new_lines,
        before,
        after,
    )
    return "".join(map(_whole, lines))


def _whole(line: str) -> str:
    return line if line.endswith("\n") else line + _NO_END


def differ_below(root: Path) -> Callable[[str, str, str], str]:
    """`unified` for files below a folder: named from where the command runs, where `git
    apply` looks for them.
    """
    here = Path.cwd().resolve()
    if not root.is_relative_to(here):
        return unified
    prefix = root.relative_to(here).as_posix()
    if prefix == ".":
        return unified
    return lambda name, old, new: unified(f"{prefix}/{name}", old, new)
