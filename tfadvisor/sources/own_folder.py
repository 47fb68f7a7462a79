"""Whether a folder is this user's alone. What lies in any other may have been put there by another user."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_ROOT = 0
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def is_ours(folder: Path) -> bool:
    """Whether nobody else owns it, can write it, or can put another folder in its place. Raises OSError.

    Always where files have no owners. A folder above that a group can write is trusted, since many users are a group of
    their own; one that everybody can write only if its owner alone may rename what lies there, as in /tmp.
    """
    if os.name != "posix":
        return True
    real = folder.resolve(strict=True)
    status = real.stat()
    if status.st_uid != os.getuid() or status.st_mode & _OTHERS_WRITE:
        return False
    return all(_keeps_names(one.stat()) for one in real.parents)


def _keeps_names(status: os.stat_result) -> bool:
    closed = not status.st_mode & stat.S_IWOTH or bool(status.st_mode & stat.S_ISVTX)
    return closed and status.st_uid in (_ROOT, os.getuid())
