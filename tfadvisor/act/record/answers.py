"""What processes answer to an order: waited for, and whose trace is called what."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence

import msgspec

from tfadvisor.act.record.board import Board, Process

_POLL_SECONDS = 0.05
_LAST_WORDS_SECONDS = 5.0


class GivenOrder(msgspec.Struct, frozen=True):
    """An order that was given."""

    number: str
    """As answers are numbered."""
    asked: frozenset[str]
    """Names of the processes that it was given to."""
    seconds: float
    """How long they need for it at least."""

    def is_settled_by(self, process: Process) -> bool:
        """Whether a process has answered, or will no more."""
        return self.number in process.windows or process.left or bool(process.error)


def answers_to(
    order: GivenOrder,
    board: Board,
    has_ended: Callable[[], bool],
    patience: float,
) -> list[Process]:
    """Those of the asked that answered in time. has_ended: whether the program is over.
    patience: seconds that they may take longer than the order's.
    """
    until = time.monotonic() + order.seconds + patience
    ended = False
    while True:
        known = board.processes()
        processes = [process for process in known if process.name in order.asked]
        settled = all(map(order.is_settled_by, processes))
        if settled or time.monotonic() > until:
            return [process for process in processes if order.number in process.windows]

        if has_ended() and not ended:
            ended = True
            until = time.monotonic() + _LAST_WORDS_SECONDS
        time.sleep(_POLL_SECONDS)


def names_of(processes: Sequence[Process]) -> dict[str, str]:
    """What each process's trace is called: its host, numbered by process where several
    share it.
    """
    sharing = Counter(peer.host for peer in processes)
    numbers: Counter[str] = Counter()
    names = {}
    for process in sorted(processes, key=lambda peer: (peer.host, peer.pid)):
        host = process.host
        names[process.name] = f"{host}-{numbers[host]}" if sharing[host] > 1 else host
        numbers[host] += 1
    return names
