"""Which host thread drives the steps."""

from __future__ import annotations

from tfadvisor.timeline.host.dispatches import dispatches
from tfadvisor.timeline.host.threads import Threads


def driving_thread(threads: Threads) -> int:
    """The thread that dispatches most programs and ops, -1 when none dispatches any. For traces without markers."""
    best, most = -1, 0
    for thread in threads.threads:
        if not thread.is_pipeline:
            calls = dispatches(threads, thread)
            total = int((threads.end[calls] - threads.start[calls]).sum())
            if total > most:
                best, most = thread.index, total
    return best
