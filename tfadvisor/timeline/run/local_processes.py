"""Processes of this machine. One that is killed is replaced, and its task tried once
more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from importlib import import_module
from queue import SimpleQueue
from threading import Thread

from tfadvisor.memory_limits import keep_freed
from tfadvisor.processes import Replaced, Worker, answer_tasks
from tfadvisor.timeline.run.one_host import TaskResult, Work

_WORKER = __name__


class LocalProcesses:
    """Some processes, started when there is work and ended with it."""

    def __init__(self, working: int) -> None:
        """working: how many work at once."""
        self._working = working

    def each(self, work: Work, tasks: Sequence[bytes]) -> Iterator[TaskResult]:
        """As Engine. A thread waits for each process, so that this one can be
        interrupted.
        """
        waiting = deque(enumerate(tasks))
        ended: SimpleQueue[TaskResult | Exception] = SimpleQueue()
        workers = [
            Replaced(lambda: Worker(_WORKER))
            for _ in range(min(self._working, len(tasks)))
        ]
        try:
            for worker in workers:
                Thread(
                    target=_drive,
                    args=(worker, name_of(work), waiting, ended),
                    daemon=True,
                ).start()
            for _ in tasks:
                answer = ended.get()
                if isinstance(answer, Exception):
                    raise answer
                yield answer
        finally:
            waiting.clear()
            for worker in workers:
                worker.end()


def _drive(
    worker: Replaced,
    work: str,
    waiting: deque[tuple[int, bytes]],
    ended: SimpleQueue[TaskResult | Exception],
) -> None:
    while True:
        try:
            index, task = waiting.popleft()
        except IndexError:
            return
        try:
            answer = worker.ask((work, task))
            assert isinstance(answer, bytes)
            ended.put(TaskResult(index, answer))
        except EOFError:
            ended.put(TaskResult(index, None))
        except Exception as error:
            ended.put(error)


# Names of functions that another process can find.


def name_of(work: Work) -> str:
    """`module:function`, as `work_called` finds it again."""
    return f"{work.__module__}:{work.__name__}"


def work_called(name: str) -> Work:
    """The function of the name."""
    module, _, function = name.partition(":")
    found: Work = getattr(import_module(module), function)
    return found


# The process that does the work: a function's name and a task in, its answer out.


def main() -> None:
    """Works until whoever asked is gone."""
    keep_freed()
    answer_tasks(_answer)


def _answer(asked: tuple[str, bytes]) -> bytes:
    name, task = asked
    return work_called(name)(task)
