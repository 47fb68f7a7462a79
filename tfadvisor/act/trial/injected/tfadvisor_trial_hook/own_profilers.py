"""Profilers that the program starts itself stay off: what they cost differs from arm to
arm.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any


def after_import() -> dict[str, Callable[[Any], None]]:
    """By module, how its profiler is switched off."""
    return {
        "jax._src.profiler": _jax,
        "tensorflow.python.profiler.profiler_v2": _tensorflow,
    }


def _nothing(
    *_given: Any,
    **_named: Any,
) -> None:
    return None


@contextlib.contextmanager
def _for_nothing(
    *_given: Any,
    **_named: Any,
) -> Iterator[None]:
    yield


def _jax(module: Any) -> None:
    module.start_trace = module.stop_trace = _nothing
    module.trace = _for_nothing


def _tensorflow(module: Any) -> None:
    module.start = module.stop = _nothing
    module.Profile.__enter__ = module.Profile.__exit__ = _nothing
