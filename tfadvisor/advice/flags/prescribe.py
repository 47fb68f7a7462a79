"""Fixes whose flags the run's version accepts, under the names that it uses: a refused
flag ends the process at its start.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

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


def fitted(text: str, framework: str | None, version: str | None) -> Fitted:
    """framework: as the report names it; flags of others than JAX and TensorFlow stay
    as they are.
    """
    library = _LIBRARIES.get(framework or "")
    if library is None or _FLAG.search(text) is None or "LIBTPU_INIT_ARGS" in text:
        return Fitted(text, "", "")
    from tfadvisor.advice.flags.catalogue import (
        accepts,
    )  # reads the recording, which few reports need

    refused: list[str] = []
    notes: list[str] = []
    changes: list[bool] = []

    def write(match: re.Match[str]) -> str:
        flag = match.group()
        name = flag.lstrip("-").partition("=")[0]
        known = accepts(flag, version, library)
        if known.accepted is False and known.name == name:
            refused.append(f"--{name} ({known.note})")
            return flag
        changes.append(not known.is_default)
        if known.is_default:
            notes.append(f"--{name} is set so by default in that version")
        if known.name != name:
            return (
                f"--{known.name}"
                if known.value is None
                else f"--{known.name}={known.value}"
            )
        if known.note:
            notes.append(f"flags {known.note}")
        return flag

    written = _FLAG.sub(write, text)
    return Fitted(
        written,
        "; ".join(dict.fromkeys(refused)),
        "; ".join(dict.fromkeys(notes)),
        not any(changes),
    )


class FittedFixes(msgspec.Struct, frozen=True):
    """left_out: a sentence about the flags for which every fix was left out, "" while
    one is left.
    """

    fixes: tuple[Fix, ...]
    left_out: str


def fit_flags(
    fixes: Sequence[Fix], framework: str | None, version: str | None
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
        texts = [
            fitted(text, framework, version)
            for text in (fix.do, fix.snippet, *fix.env.values())
        ]
        do, *parts = texts
        reasons = [one.refused for one in parts if one.refused]
        if reasons:
            refused += reasons
            continue
        changed = replace(
            fix,
            do=do.text,
            snippet=parts[0].text,
            env={name: one.text for name, one in zip(fix.env, parts[1:], strict=True)},
            valid_for="; ".join(
                [fix.valid_for, *dict.fromkeys(one.note for one in texts if one.note)]
            ),
        )
        flags = [one for one in parts if "--" in one.text]
        (
            anyway if flags and all(one.changes_nothing for one in flags) else kept
        ).append(changed)
    fixes = (*kept, *anyway) if version is None or not kept else tuple(kept)
    left_out = f"The fix needs another version: {'; '.join(dict.fromkeys(refused))}."
    return FittedFixes(fixes, "" if fixes or not refused else left_out)
