"""What can go wrong, said the same way everywhere: what, where, what now."""

from __future__ import annotations

from collections.abc import Sequence


class AdvisorError(Exception):
    """Base of every error that a user can act on. The command prints it without a traceback."""

    exit_code = 3


class TraceError(AdvisorError):
    """The input cannot be read, or holds nothing to analyse.

    place: file, and byte offset where one is known. cause: what is wrong. remedy: what to do now.
    """

    exit_code = 3

    def __init__(self, place: str, cause: str, remedy: str) -> None:
        """All three parts are plain text; names from a trace are shown escaped by the printer."""
        super().__init__(place, cause, remedy)
        self.place = place
        self.cause = cause
        self.remedy = remedy

    def __str__(self) -> str:
        """One line."""
        return f"{self.place}: {self.cause} {self.remedy}"


class UsageError(AdvisorError):
    """The call's options are wrong: an unknown run, an unknown rule, a step range outside the trace."""

    exit_code = 2


class SeveralMistakes(UsageError):
    """Several mistakes in one input; prints one line per mistake."""

    def __init__(self, each: Sequence[UsageError]) -> None:
        """each: at least two, in the order in which they are printed."""
        super().__init__("\n".join(map(str, each)))
        self.each = tuple(each)


class RuleError(AdvisorError):
    """A rule file is broken. It is reported with file, line and field, and the other rules still run."""

    exit_code = 5

    def __init__(self, file: str, line: int, field: str, cause: str) -> None:
        """Line counts from 1; field is the dotted path inside the file, or empty for the whole file."""
        where = f"{file}:{line}" + (f": {field}" if field else "")
        super().__init__(f"{where}: {cause}")
        self.file = file
        self.line = line
        self.field = field
        self.cause = cause


class NothingToCompare(TraceError):
    """A side holds no step: the trace can be read, but there is too little in it."""

    exit_code = 4
