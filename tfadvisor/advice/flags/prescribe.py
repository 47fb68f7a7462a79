"""Fixes whose flags the run's version accepts, under the names that it uses: a refused
flag ends the process at its start.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import Fix

_FLAG = re.compile(r"--(?:tf_)?xla_\w+(?:=[^\s\"'`;)]*)?")
_LIBRARIES = {"jax": "jaxlib", "tensorflow": "tensorflow"}


class Fitted(msgspec.Struct, frozen=True):
    """text: with the names that the version uses. refused: why a flag cannot be given
    at all, "" when all can.

    note: by what it was judged, "" when that is the very version, or when there is no
    flag. changes_nothing: whether that version sets every one of the flags so by
    default.
    """

    text: str
    refused: str
    note: str
    changes_nothing: bool = False


def fitted(
    text: str,
    framework: str | None,
    version: str | None,
) -> Fitted:
    """framework: as the report names it; flags of others than JAX and TensorFlow stay
    as they are.
    """
    library = _LIBRARIES.get(framework or "")
    if library is None or _FLAG.search(text) is None or "LIBTPU_INIT_ARGS" in text:
        return Fitted(
            text=text,
            refused="",
            note="",
        )

    refused: list[str] = []
    notes: list[str] = []
    changes: list[bool] = []

    def write(match: re.Match[str]) -> str:
        flag = _fitted_flag(match.group(), version, library)
        if flag.refused:
            refused.append(flag.refused)
            return flag.text
        changes.append(not flag.changes_nothing)
        notes.extend(flag.notes)
        return flag.text

    written = _FLAG.sub(write, text)
    return Fitted(
        text=written,
        refused="; ".join(dict.fromkeys(refused)),
        note="; ".join(dict.fromkeys(notes)),
        changes_nothing=not any(changes),
    )


class _FittedFlag(NamedTuple):
    text: str
    refused: str = ""
    notes: tuple[str, ...] = ()
    changes_nothing: bool = False


def _fitted_flag(
    flag: str,
    version: str | None,
    library: str,
) -> _FittedFlag:
    """One flag, written as the version takes it."""
    from tfadvisor.advice.flags.acceptance import (
        accepts,
    )  # reads the recording, which few reports need

    name = flag.lstrip("-").partition("=")[0]
    known = accepts(flag, version, library)
    is_renamed = known.name != name
    if known.accepted is False and not is_renamed:
        return _FittedFlag(flag, refused=f"--{name} ({known.note})")
    if known.fault:
        return _FittedFlag(flag, refused=f"--{name} ({known.fault})")

    notes: list[str] = []
    if known.is_default:
        notes.append(f"--{name} is set so by default in that version")
    if known.note and not is_renamed:
        notes.append(f"flags {known.note}")
    text = flag
    if is_renamed:
        text = f"--{known.name}"
        text += "" if known.value is None else f"={known.value}"
    return _FittedFlag(text, "", tuple(notes), known.is_default)


class FittedFixes(msgspec.Struct, frozen=True):
    """left_out: a sentence about the flags for which every fix was left out, "" while
    one is left.
    """

    fixes: tuple[Fix, ...]
    left_out: str


def fit_flags(
    fixes: Sequence[Fix],
    framework: str | None,
    version: str | None,
) -> FittedFixes:
    """A flag that the version does not know would end the user's process, so a fix that
    needs one is left out.

    So is one whose flags are what a known version does anyway, unless there is no
    other: it helps only a user who had turned them off.
    """
    kept: list[Fix] = []
    anyway: list[Fix] = []
    refused: list[str] = []
    for fix in fixes:
        fitted_fix = _fitted_fix(fix, framework, version)
        if fitted_fix.refused:
            refused += fitted_fix.refused
        elif fitted_fix.changes_nothing:
            anyway.append(fitted_fix.fix)
        else:
            kept.append(fitted_fix.fix)

    left = (*kept, *anyway) if version is None or not kept else tuple(kept)
    if left or not refused:
        return FittedFixes(left, "")
    flags = "; ".join(dict.fromkeys(refused))
    return FittedFixes(left, f"The fix needs another version: {flags}.")


class _FittedFix(NamedTuple):
    fix: Fix
    refused: list[str]
    """Its flags that the version does not take, and why."""
    changes_nothing: bool
    """Whether all its flags are set so by default."""


def _fitted_fix(
    fix: Fix,
    framework: str | None,
    version: str | None,
) -> _FittedFix:
    do = fitted(fix.do, framework, version)
    snippet = fitted(fix.snippet, framework, version)
    env = {name: fitted(value, framework, version) for name, value in fix.env.items()}
    parts = [snippet, *env.values()]

    notes = dict.fromkeys(part.note for part in (do, *parts) if part.note)
    flags = [part for part in parts if "--" in part.text]
    changed = replace(
        fix,
        do=do.text,
        snippet=snippet.text,
        env={name: value.text for name, value in env.items()},
        valid_for="; ".join((fix.valid_for, *notes)),
    )
    return _FittedFix(
        changed,
        [part.refused for part in parts if part.refused],
        bool(flags) and all(flag.changes_nothing for flag in flags),
    )
