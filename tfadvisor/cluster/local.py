"""Processes of this machine. One that is killed is replaced, and its task tried once more."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from queue import SimpleQueue
from threading import Thread

from tfadvisor.cluster.engine import Answer, Work, name_of
from tfadvisor.processes import Worker

_TRIES = 2
_WORKER = "tfadvisor.cluster.local_worker"


class LocalProcesses:
    """Some processes, started when there is work and ended with it."""

    def __init__(self, working: int) -> None:
        """working: how many work at once."""
        self._working = working

    def each(self, work: Work, tasks: Sequence[bytes]) -> Iterator[Answer]:
        """As Engine. A thread waits for each process, so that this one can be interrupted."""
        waiting = deque(enumerate(tasks))
        ended: SimpleQueue[Answer | Exception] = SimpleQueue()
        workers = [_Replaced() for _ in range(min(self._working, len(tasks)))]
        try:
            for worker in workers:
                Thread(target=_drive, args=(worker, name_of(work), waiting, ended), daemon=True).start()
            for _ in tasks:
                answer = ended.get()
                if isinstance(answer, Exception):
                    raise answer
                yield answer
        finally:
            waiting.clear()
            for worker in workers:
                worker.end()


class _Replaced:
    """A worker, and after it was killed the next one."""

    def __init__(self) -> None:
        self._worker = Worker(_WORKER)
        self._ended = False

    def ask(self, task: object) -> bytes | None:
        """None where each of several processes was killed."""
        for _ in range(_TRIES):
            try:
                answer = self._worker.ask(task)
            except (EOFError, OSError, ValueError):  # killed, or its pipes are closed
                if self._ended:
                    return None
                self._worker.end()
                self._worker = Worker(_WORKER)
            else:
                assert isinstance(answer, bytes)
                return answer
        return None

    def end(self) -> None:
        self._ended = True
        self._worker.end()


def _drive(
    worker: _Replaced, work: str, waiting: deque[tuple[int, bytes]], ended: SimpleQueue[Answer | Exception]
) -> None:
    while True:
        try:
            index, task = waiting.popleft()
        except IndexError:
            return
        try:
            ended.put(Answer(index, worker.ask((work, task))))
        except Exception as error:
            ended.put(error)
