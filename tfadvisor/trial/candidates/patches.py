"""Patches as candidates: diffs in files, codemods by name."""

from __future__ import annotations

import ast
import os
from collections.abc import Sequence
from pathlib import Path

from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.files import read_small_text
from tfadvisor.repair.choosing import Candidate as Placed
from tfadvisor.repair.hits import Place
from tfadvisor.repair.plan import hits_of
from tfadvisor.repair.registry import CODEMODS
from tfadvisor.repair.sources import Sources
from tfadvisor.report.codemods import LAUNCH_LINE
from tfadvisor.trial.candidates.candidate import Candidate
from tfadvisor.trial.candidates.unified import patched, read_diff
from tfadvisor.trial.running.program import source_of

_LARGEST_BYTES = 5_000_000


def from_diff(file: Path) -> Candidate:
    """A file that `tfadvisor fix` or `git diff` wrote. Raises UsageError."""
    where = f"--patch {file}"
    try:
        text = read_small_text(file, _LARGEST_BYTES)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: cannot be read: {getattr(error, 'strerror', None) or error}.") from error
    texts: dict[str, str] = {}
    for one in read_diff(text, where):
        real = _found(one.name, where)
        texts[real] = patched(texts.get(real) or source_of(Path(real)), one.hunks, f"{where}: {one.name}")
        _check_parses(texts[real], f"{where}: {one.name}")
    return Candidate(name=str(file), texts=texts, change="patch")


def check_codemods(names: Sequence[str]) -> None:
    """Raises UsageError for what is none."""
    known = [one for one in CODEMODS if one != LAUNCH_LINE]
    for name in names:
        if name not in known:
            raise UsageError(
                f"--patch {name}: no file, no rule and no codemod.{did_you_mean(name, known)} docs/fix.md lists the codemods."
            )


def from_codemod(name: str, sources: Sources) -> Candidate:
    """A codemod that applies in exactly one place of the program. Raises UsageError."""
    found = [Placed(one.name, hit) for one in sources.files for hit in hits_of(name, one.text, Place())]
    if len(found) != 1:
        places = "".join(f"\n    {one}" for one in found)
        why = (
            f"could be made in several places; make a diff of one:{places}" if found else "fits nowhere in the program."
        )
        raise UsageError(f"--patch {name}: {why}")
    real = str(next(one.path for one in sources.files if one.name == found[0].file))
    return Candidate(name=name, texts={real: found[0].hit.source}, change=name, effect=CODEMODS[name].changes)


def _found(name: str, where: str) -> str:
    """The real path of a file that a diff names: from here, or without its first folder, as `patch -p1` would."""
    for tried in (name, name.partition("/")[2]):
        if tried and Path(tried).is_file():
            if not tried.endswith(".py"):
                raise UsageError(f"{where}: {tried} is no Python file, and only those lie in an overlay.")
            return os.path.realpath(tried)
    raise UsageError(f"{where}: {name} is not there. Run the command where `git apply` would find it.")


def _check_parses(text: str, where: str) -> None:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{where}: what the patch makes cannot be parsed: {error}.") from error
