"""What the program's source shows to be compiled again and again on a line: a compiled
function that is made anew, an object that a compiled method is static in, the body of
an uncompiled loop.
"""

from __future__ import annotations

import msgspec

from tfadvisor.causes.made_anew import MadeAnew
from tfadvisor.patterns import pattern

_OF_VALUES = pattern(r"static_arg|filter_jit|nnx\.jit|tf\.function")
"""Compilers and options of these that take what is no array as a part of the program.
"""


class CompiledAgain(msgspec.Struct, frozen=True):
    """What is compiled again, since something is made anew."""

    words: str
    """The begin of a sentence: what is made anew, and where."""
    before: str
    """Lines of the program that do it."""
    once: str
    """Code that makes it once."""
    reads: tuple[str, ...] = ()
    """What it reads that may have another value in another call."""
    of_several: bool = False
    """Whether several compiled functions are made so."""
    takes_values: bool = False
    """Whether its compiler compiles it for values that it is given as well."""


def of_a_maker(made: MadeAnew) -> CompiledAgain:
    """A function that another one makes in each call."""
    return CompiledAgain(
        made.words,
        made.before,
        made.once,
        made.reads,
        of_several=bool(made.others),
        takes_values=bool(_OF_VALUES.search(made.before)),
    )
