"""What maps a plain function over tasks. A task and an answer are bytes, so another engine is a small adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Protocol

import msgspec

from tfadvisor.errors import AdvisorError

Work = Callable[[bytes], bytes]
"""A function of a module, so that another process can find it. It raises only for what is wrong with every task."""


class ClusterError(AdvisorError):
    """The cluster that was to read the input failed, or is none."""

    exit_code = 3


class Answer(msgspec.Struct, frozen=True):
    """What came of a task."""

    task: int
    """Its index."""
    value: bytes | None
    """None where the processes that worked on it were killed again and again."""


class Engine(Protocol):
    """Processes here, or a cluster."""

    def each(self, work: Work, tasks: Sequence[bytes]) -> Iterator[Answer]:
        """The answers as they come, in any order. Raises what the work raises, ClusterError for a cluster that fails."""
        ...


def name_of(work: Work) -> str:
    """`module:function`, as `work_called` finds it again."""
    return f"{work.__module__}:{work.__name__}"


def work_called(name: str) -> Work:
    """The function of the name."""
    module, _, function = name.partition(":")
    found: Work = getattr(import_module(module), function)
    return found
