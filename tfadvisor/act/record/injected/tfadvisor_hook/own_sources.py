"""Which files the program's own code was read from, and what they hold."""

from __future__ import annotations

import hashlib
import os
import sys
import sysconfig
import time
from io import FileIO
from typing import Any

VERSION = 1
_BEGAN_NS = time.time_ns()
"""This module is imported with the framework, before anything is compiled."""
_LARGEST = 1_000_000
"""Bytes of a file that people write."""
_MOST = 500
_INSTALLED = (
    "site-packages",
    "dist-packages",
    "__autograph_generated_file",
    os.path.dirname(os.path.dirname(__file__)),
)
"""Parts of the paths of libraries, of what TensorFlow makes of functions, and of this
hook.
"""
_STANDARD = sysconfig.get_paths()["stdlib"]


def own_sources() -> dict[str, Any]:
    """Each file with its SHA-256, and whether it was written since the framework
    was imported: what ran may then be another text.
    """
    files: list[tuple[str, str, bool]] = []
    for name in sorted(_own_files(), key=_depth_and_name):
        try:
            status = os.stat(name)
            if status.st_size > _LARGEST or len(files) >= _MOST:
                continue
            with FileIO(
                name
            ) as file:  # a program may have put its own in place of open
                digest = hashlib.sha256(file.read()).hexdigest()
        except OSError:
            continue
        files.append((name, digest, status.st_mtime_ns > _BEGAN_NS))
    return {"version": VERSION, "files": files}


def _depth_and_name(file: str) -> tuple[int, str]:
    """Of too many files those near the program's own folder stay: a library that lies
    within it is deeper.
    """
    return file.count(os.sep), file


def _own_files() -> set[str]:
    """Absolute, of modules that are imported by now."""
    found = set()
    for module in list(sys.modules.values()):
        try:
            # no attribute is asked for: that would import what is lazy
            file = object.__getattribute__(module, "__dict__").get("__file__")
        except AttributeError:
            continue
        if isinstance(file, str) and file.endswith(".py") and is_own(file):
            found.add(os.path.abspath(file))
    return found


def is_own(file: str) -> bool:
    """Whether a file is the program's: no library's, and none of this hook."""
    if file.startswith(_STANDARD):
        return False
    return not any(part in file for part in _INSTALLED)
