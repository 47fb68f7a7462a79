"""Errors that are not tfadvisor's: no memory, no room, too many files, an installation in which something is missing."""

from __future__ import annotations

import errno
from collections.abc import Iterator

_NO_MEMORY = "not enough memory for this trace. Choose one host with --host, or use a machine with more memory."
_WORDS_OF_NO_MEMORY = ("cannot allocate memory", "failed to map segment", "can't start new thread", "out of memory")
"""What the dynamic loader, the thread library and NumPy say."""
_OF_THE_SYSTEM = {
    errno.ENOMEM,
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EMFILE,
    errno.ENFILE,
    errno.EIO,
    errno.EROFS,
    errno.EAGAIN,
    errno.EACCES,
    errno.EPERM,
    errno.ESTALE,
}


_LONGEST_CHAIN = 20


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those that led to it, the last ones first; of thousands, as too deep a recursion leaves, only some."""
    seen: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or seen.__context__


def fault_of_environment(error: BaseException) -> str | None:
    """What to say of an error that the machine or the installation is to blame for; None for any other."""
    for seen in _chain(error):
        if isinstance(seen, MemoryError) or any(words in str(seen).lower() for words in _WORDS_OF_NO_MEMORY):
            return _NO_MEMORY
    if isinstance(error, OSError) and error.errno in _OF_THE_SYSTEM:
        place = f"{error.filename}: " if error.filename else ""
        return f"{place}{error.strerror or error}. The system refused; nothing is wrong with the trace."
    if isinstance(error, ModuleNotFoundError) and not (error.name or "").startswith("tfadvisor"):
        return f"the package {error.name} is not installed. Install tfadvisor again: pip install --force-reinstall tfadvisor"
    return None
