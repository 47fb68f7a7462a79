"""What a user gives as one text: flags and variables, taken apart as a shell and XLA
would, with near names for mistakes.

XLA's own reading (xla/parse_flags_from_env.cc), tried with jaxlib 0.9.2: words end at
white space, a value may be in quotes, a backslash means nothing, and reading ends for
good at the first word that does not begin with `-`.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from difflib import get_close_matches

import msgspec

from tfadvisor.advice.flags.advice import variables
from tfadvisor.advice.flags.recorded import Table, recording
from tfadvisor.errors import UsageError

LONGEST = 128 << 10
"""Bytes. Linux starts no process with a longer variable (MAX_ARG_STRLEN)."""
FLAG_VARIABLES = ("XLA_FLAGS", "TF_XLA_FLAGS", "LIBTPU_INIT_ARGS")
_ASSIGNMENT = re.compile(r"^([A-Za-z_][A-Za-z0-9_]*)(\+)?=(.*)", re.S)
_XLA_WORD = re.compile(
    r"""
    \s*(?:
        (?P<flag>-[^\s=]*)
        (?:=(?:'(?P<single>[^']*)'?|"(?P<double>[^"]*)"?|(?P<bare>\S*)))?
        | (?P<other>\S+)
    )""",
    re.VERBOSE,
)
_KEPT = {
    name: re.compile(rf"\$(?:{name}\b|\{{{name}\b[^}}]*\}})") for name in FLAG_VARIABLES
}
"""How a shell puts in what the variable held before."""
_BEFORE_ASSIGNMENTS = ("export", "env", "set")


class Setting(msgspec.Struct, frozen=True):
    """variable: the environment variable that holds it. name: of the flag without
    dashes, or of the variable itself.

    value: None for a flag without `=`. written: as the user gave it.
    """

    variable: str
    name: str
    value: str | None
    written: str

    @property
    def is_flag(self) -> bool:
        """Whether it is one flag of a variable that holds many."""
        return self.name != self.variable


class Unread(msgspec.Struct, frozen=True):
    """Words that nobody reads, and why. instead: what was probably meant. harmless:
    they are no setting, like a command.
    """

    words: str
    why: str
    instead: str
    harmless: bool


class Given(msgspec.Struct, frozen=True):
    """A text taken apart."""

    settings: tuple[Setting, ...]
    unread: tuple[Unread, ...]


def take_apart(text: str) -> Given:
    """Raises UsageError for a text that no shell could make variables of."""
    if len(text.encode("utf-8", "surrogatepass")) > LONGEST:
        raise UsageError(
            f"the text is longer than {LONGEST:,} bytes, and no environment variable "
            "can be."
        )
    settings: list[Setting] = []
    unread: list[Unread] = []
    for command in _commands(text):
        _read_command(command, settings, unread)
    return Given(tuple(settings), tuple(unread))


def _commands(text: str) -> Iterator[list[str]]:
    """The words of each command, split at `;`, `&` and line ends."""
    lexer = shlex.shlex(text.replace("\\\n", " "), posix=True, punctuation_chars=";&\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    words: list[str] = []
    try:
        for word in lexer:
            if word.strip(";&\n"):
                words.append(word)
            elif words:
                yield words
                words = []
    except ValueError as error:
        raise UsageError(
            "a quote is not closed. Quote the text as a shell needs it."
        ) from error
    if words:
        yield words


def _read_command(
    words: list[str],
    settings: list[Setting],
    unread: list[Unread],
) -> None:
    while words and words[0] in _BEFORE_ASSIGNMENTS:
        words = words[1:]
    before = ""
    for at, word in enumerate(words):
        assigned = _ASSIGNMENT.fullmatch(word)
        if assigned and assigned.group(1) in FLAG_VARIABLES:
            _read_flags(
                assigned.group(1),
                assigned.group(3),
                bool(assigned.group(2)),
                settings,
                unread,
            )
        elif assigned:
            settings.append(
                Setting(assigned.group(1), assigned.group(1), assigned.group(3), word)
            )
        elif word.startswith("-"):
            name, equals, value = word.partition("=")
            settings.append(
                Setting("", name.lstrip("-"), value if equals else None, word)
            )
            before = word
        else:
            rest = " ".join(words[at:])
            unread.append(
                _after_flags(rest, before)
                if before
                else Unread(
                    words=rest,
                    why="a command",
                    instead="",
                    harmless=True,
                )
            )
            break


def _read_flags(
    variable: str,
    text: str,
    adds: bool,
    settings: list[Setting],
    unread: list[Unread],
) -> None:
    """The flags inside the value of one variable. adds: whether it is given by `+=`."""
    kept = _KEPT[variable].sub(" ", text)
    if kept == text and not adds:
        _replace(variable, settings, unread)
    text = kept
    if text.strip() and not text.lstrip().startswith("-"):
        why = (
            f"{variable} does not begin with `--`, so it is taken for the name of a "
            "file"
        )
        unread.append(
            Unread(
                words=text.strip(),
                why=why,
                instead="",
                harmless=False,
            )
        )
        return
    last = ""
    for match in _XLA_WORD.finditer(text):
        if match.group("other") is not None:
            unread.append(_after_flags(text[match.start() :].strip(), last))
            return
        last = match.group().strip()
        value = next(
            (
                match.group(quoting)
                for quoting in ("single", "double", "bare")
                if match.group(quoting) is not None
            ),
            None,
        )
        settings.append(Setting(variable, match.group("flag").lstrip("-"), value, last))


def _replace(
    variable: str,
    settings: list[Setting],
    unread: list[Unread],
) -> None:
    """A second assignment takes the place of the first."""
    before = [setting for setting in settings if setting.variable == variable]
    if before:
        words = " ".join(setting.written for setting in before)
        unread.append(
            Unread(
                words=words,
                why=f"{variable} is set again further on, which replaces it",
                instead="",
                harmless=False,
            )
        )
        settings[:] = [setting for setting in settings if setting.variable != variable]


def _after_flags(words: str, before: str) -> Unread:
    """A value after a blank is the usual reason: the flag goes without it, and a bool
    is then true whatever follows.
    """
    instead = "" if "=" in before else f"{before}={words.split(maxsplit=1)[0]}"
    return Unread(
        words=words,
        why=f"XLA stops reading at the first word without `--`, here after {before}",
        instead=instead,
        harmless=False,
    )


# The known name that a wrong one was probably meant to be.

_MOST = 20
"""A text can hold ten thousand wrong names, and comparing each with all would take
minutes.
"""
_NEAR = 0.85
"""Similarity from which a name is suggested, 0 to 1: flags begin alike, so this is more
than for other names.
"""


class Suggestions:
    """Names near to others. After the twentieth question the answer is always "":
    nobody reads on there.
    """

    def __init__(self, table: Table, version: str) -> None:
        """table, version: whose flags are suggested, beside those of TF_XLA_FLAGS."""
        other = recording().table("TF_XLA_FLAGS", "tensorflow")
        self._flags = [*table.names(version), *other.names(other.versions[-1])]
        self._asked = 0

    def near(self, setting: Setting) -> str:
        """The nearest flag, or variable; "" when none is near."""
        name = (
            setting.name.replace("-", "_").lower()
            if setting.is_flag
            else setting.name.upper()
        )
        names = self._flags if setting.is_flag else list(variables())
        self._asked += 1
        if self._asked > _MOST or len(name) > 100:
            return ""
        return next(iter(get_close_matches(name, names, 1, _NEAR)), "")
