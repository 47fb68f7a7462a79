"""What can go wrong, said the same way everywhere: what, where, what now."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

_NO_MEMORY = (
    "not enough memory for this trace. Choose one host with --host, or use a machine "
    "with more memory."
)
_WORDS_OF_NO_MEMORY = (
    "cannot allocate memory",
    "failed to map segment",
    "can't start new thread",
    "out of memory",
)
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
"""Of errors that the machine or the installation is to blame for, not tfadvisor."""


class AdvisorError(Exception):
    """Base of every error that a user can act on. The command prints it without a
    traceback.
    """

    exit_code = 3


class TraceError(AdvisorError):
    """The input cannot be read, or holds nothing to analyse.

    place: file, and byte offset where one is known. cause: what is wrong. remedy: what
    to do now.
    """

    exit_code = 3

    def __init__(
        self,
        place: str,
        cause: str,
        remedy: str,
    ) -> None:
        """All three parts are plain text; names from a trace are shown escaped by the
        printer.
        """
        super().__init__(place, cause, remedy)
        self.place = place
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        """One line."""
        return f"{self.place}: {self.cause} {self.remedy}"


class UsageError(AdvisorError):
    """The call's options are wrong: an unknown run, an unknown rule, a step range
    outside the trace.
    """

    exit_code = 2


class SourceUnread(Exception):
    """A question about the program's source failed; the message says which, as the end
    of a sentence.
    """


@contextmanager
def written(place: str) -> Iterator[None]:
    """Raises UsageError where what is inside cannot be written. place: with the option
    that names it.
    """
    try:
        yield
    except OSError as error:
        raise UsageError(
            f"{place}: cannot be written: {error.strerror or error}."
        ) from error


class SeveralMistakes(UsageError):
    """Several mistakes in one input; prints one line per mistake."""

    def __init__(self, each: Sequence[UsageError]) -> None:
        """each: at least two, in the order in which they are printed."""
        super().__init__("\n".join(map(str, each)))
        self.each = tuple(each)


class RuleError(AdvisorError):
    """A rule file is broken. It is reported with file, line and field, and the other
    rules still run.
    """

    exit_code = 5

    def __init__(
        self,
        file: str,
        line: int,
        field: str,
        cause: str,
    ) -> None:
        """Line counts from 1; field is the dotted path inside the file, or empty for
        the whole file.
        """
        where = f"{file}:{line}"
        if field:
            where += f": {field}"
        super().__init__(f"{where}: {cause}")
        self.file = file
        self.line = line
        self.field = field
        self.cause = cause


class NothingToCompare(TraceError):
    """A side holds no step: the trace can be read, but there is too little in it."""

    exit_code = 4


_LONGEST_CHAIN = 20


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error and those that led to it, the last ones first; of thousands, as too deep
    a recursion leaves, only some.
    """
    seen: BaseException | None = error
    for _ in range(_LONGEST_CHAIN):
        if seen is None:
            return
        yield seen
        seen = seen.__cause__ or seen.__context__


def fault_of_environment(error: BaseException) -> str | None:
    """What to say of an error that the machine or the installation is to blame for;
    None for any other.
    """
    if any(_lacks_memory(seen) for seen in _chain(error)):
        return _NO_MEMORY
    if isinstance(error, OSError) and error.errno in _OF_THE_SYSTEM:
        place = f"{error.filename}: " if error.filename else ""
        return (
            f"{place}{error.strerror or error}. The system refused; nothing is wrong "
            "with the trace."
        )
    if isinstance(error, ModuleNotFoundError):
        missing = error.name or ""
        if not missing.startswith("tfadvisor"):
            return (
                f"the package {error.name} is not installed. Install tfadvisor again: "
                "pip install --force-reinstall tfadvisor"
            )
    return None


def _lacks_memory(error: BaseException) -> bool:
    if isinstance(error, MemoryError):
        return True
    said = str(error).lower()
    return any(words in said for words in _WORDS_OF_NO_MEMORY)
