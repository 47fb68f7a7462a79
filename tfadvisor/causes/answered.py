"""Questions about a program's source that nobody foresaw what it answers: what fails is
noted, and is no fault of the metric that asked.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, wraps
from inspect import isfunction
from typing import Protocol, TypeVar

from tfadvisor.errors import AdvisorError, SourceUnread


class _Asked(Protocol):
    unread: list[str]


A = TypeVar("A", bound=_Asked)


def notes_failures(asked: type[A]) -> type[A]:
    """Of a class the same, whose public methods raise SourceUnread for all errors but
    those of memory, and note each.
    """
    for name, method in [*vars(asked).items()]:
        if name.startswith("_"):
            continue
        if isfunction(method):
            setattr(asked, name, _noting(method))
        elif isinstance(method, cached_property):
            method.func = _noting(method.func)
    return asked


def _noting(method: Callable[..., object]) -> Callable[..., object]:
    @wraps(method)
    def answer(asked: _Asked, *given: object, **named: object) -> object:
        try:
            return method(asked, *given, **named)
        except (AdvisorError, SourceUnread, MemoryError):
            raise
        except Exception as error:
            why = (
                "the program's source could not be read whole: "
                f"{type(error).__name__} in {method.__name__}"
            )
            note = f"{why[0].upper()}{why[1:]}. What rests on it is left out."
            if note not in asked.unread:
                asked.unread.append(note)
            raise SourceUnread(why) from error

    return answer
