"""Whose code runs: the program's own, this hook's, or a library's."""

from __future__ import annotations

import os
import sysconfig
from types import CodeType, FrameType
from typing import Any

_HERE = os.path.dirname(__file__)
_INSTALLED = (
    "site-packages",
    "dist-packages",
    "__autograph_generated_file",
    "<frozen",
    _HERE,
)
_STANDARD = sysconfig.get_paths()["stdlib"]


def is_ours(code: CodeType) -> bool:
    """Whether it is of this hook."""
    return code.co_filename.startswith(_HERE)


def is_own(code: CodeType) -> bool:
    """Whether it is of the program's own files."""
    file = code.co_filename
    if file.startswith(_STANDARD):
        return False
    return not any(part in file for part in _INSTALLED)


def where(frame: FrameType) -> list[Any]:
    """File, line and function; instructions that Python adds are of no line, and count
    as of the function's first.
    """
    code = frame.f_code
    return [code.co_filename, frame.f_lineno or code.co_firstlineno, code.co_name]
