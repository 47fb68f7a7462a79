"""Frozen records: dataclasses whose definition costs nothing.

`dataclasses.dataclass(frozen=True)` writes and compiles six functions for each class, 0.4 ms at every start of the
command; for the seventy records of this package that is a fifth of the time in which a small trace is analysed. Records
share one constructor instead. Type checkers see frozen dataclasses.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    @dataclass_transform(frozen_default=True)
    def record(cls: type[T]) -> type[T]:
        """Makes a class with annotated fields a frozen record."""

else:

    def record(cls):
        """Makes a class with annotated fields a frozen record: constructor, equality, hash and repr by its fields."""
        cls.__record_fields__ = names = tuple(cls.__annotations__)
        cls.__record_defaults__ = {name: cls.__dict__[name] for name in names if name in cls.__dict__}
        cls.__init__, cls.__repr__ = _init, _repr
        cls.__eq__, cls.__hash__ = _eq, _hash
        cls.__setattr__ = cls.__delattr__ = _refuse
        return cls


def fields_of(one: object) -> tuple[str, ...]:
    """Names of a record's fields in order; empty for anything else."""
    return getattr(type(one), "__record_fields__", ())


def replace(one: T, **changes: Any) -> T:
    """A copy of a record with some fields changed."""
    return type(one)(**{**{name: getattr(one, name) for name in fields_of(one)}, **changes})


def _init(self: Any, *values: Any, **named: Any) -> None:
    names = self.__record_fields__
    given = named
    if values:
        given = dict(zip(names, values, strict=False))
        if len(values) > len(names) or given.keys() & named.keys():
            raise TypeError(f"{type(self).__name__} takes its {len(names)} fields once each")
        given.update(named)
    if len(given) != len(names):
        given = {**self.__record_defaults__, **given}
    if given.keys() != set(names):
        wrong = sorted(given.keys() ^ set(names))
        raise TypeError(f"{type(self).__name__}: missing or unknown fields {', '.join(wrong)}")
    self.__dict__.update(given)


def _values(one: Any) -> tuple[Any, ...]:
    return tuple(one.__dict__[name] for name in one.__record_fields__)


def _repr(self: Any) -> str:
    inside = ", ".join(f"{name}={self.__dict__[name]!r}" for name in self.__record_fields__)
    return f"{type(self).__name__}({inside})"


def _eq(self: Any, other: object) -> bool:
    return type(other) is type(self) and _values(self) == _values(other)


def _hash(self: Any) -> int:
    return hash((type(self), _values(self)))


def _refuse(self: Any, *_: object) -> None:
    raise AttributeError(f"{type(self).__name__} is frozen")
