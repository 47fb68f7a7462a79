"""What maps a plain function over tasks. A task and an answer are bytes, so another engine is a small adapter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import msgspec

Work = Callable[[bytes], bytes]
"""A function of a module, so that another process can find it. It raises only for what is wrong with every task."""


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
