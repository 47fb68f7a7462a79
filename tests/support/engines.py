"""Engines for tests: this process, in an order that a test chooses, with tasks lost
that it names.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Iterator, Sequence

from tfadvisor.timeline.run.one_host import TaskResult, Work


class Here:
    """Does the work in this process. seed: of the order. asked: the tasks that came."""

    def __init__(
        self,
        seed: int = 0,
        lost: Collection[int] = (),
        interrupted_after: int | None = None,
    ) -> None:
        self.asked: list[bytes] = []
        self._seed, self._lost, self._interrupted_after = seed, lost, interrupted_after

    def each(self, work: Work, tasks: Sequence[bytes]) -> Iterator[TaskResult]:
        self.asked += tasks
        order = list(range(len(tasks)))
        random.Random(self._seed).shuffle(order)
        for done, index in enumerate(order):
            if done == self._interrupted_after:
                raise KeyboardInterrupt
            yield TaskResult(index, None if index in self._lost else work(tasks[index]))
