"""Flags in the text of a fix, fitted to the version that will read them: a refused flag ends the process at its start."""

from __future__ import annotations

import re

import msgspec

_FLAG = re.compile(r"--(?:tf_)?xla_\w+(?:=[^\s\"'`;)]*)?")
_LIBRARIES = {"jax": "jaxlib", "tensorflow": "tensorflow"}


class Fitted(msgspec.Struct, frozen=True):
    """text: with the names that the version uses. refused: why a flag cannot be given at all, "" when all can.

    note: by what it was judged, "" when that is the very version, or when there is no flag. changes_nothing: whether that
    version sets every one of the flags so by default.
    """

    text: str
    refused: str
    note: str
    changes_nothing: bool = False


def fitted(text: str, framework: str | None, version: str | None) -> Fitted:
    """framework: as the report names it; flags of others than JAX and TensorFlow stay as they are."""
    library = _LIBRARIES.get(framework or "")
    if library is None or _FLAG.search(text) is None or "LIBTPU_INIT_ARGS" in text:
        return Fitted(text, "", "")
    from tfadvisor.advice.flags.catalogue import accepts  # reads the recording, which few reports need

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
            return f"--{known.name}" if known.value is None else f"--{known.name}={known.value}"
        if known.note:
            notes.append(f"flags {known.note}")
        return flag

    written = _FLAG.sub(write, text)
    return Fitted(written, "; ".join(dict.fromkeys(refused)), "; ".join(dict.fromkeys(notes)), not any(changes))
