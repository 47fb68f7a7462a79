"""The face of a package: the names that others import from it, whichever module holds
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module


def face(package: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """The package's `__getattr__`: imports a module when one of its names is asked for
    first, so that a face costs no start-up time. homes: of each name its module, as the
    package sees it.
    """

    def found(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module = import_module(f"{package}.{homes[name]}")
        return getattr(module, name)

    return found
