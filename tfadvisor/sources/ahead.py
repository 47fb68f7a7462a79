"""Copies fetched while earlier files are read, so that a run of many hosts does not wait for each."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path

from tfadvisor.sources.remote_path import RemotePath

_AT_ONCE = 8


def fetched_ahead(files: Sequence[Path]) -> Iterator[Path]:
    """The files in their order, each once its copy is here. What cannot be fetched comes too: reading it says why."""
    remote = [file for file in files if isinstance(file, RemotePath)]
    if len(remote) < 2 or not _keeps_copies():
        yield from files
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(_AT_ONCE, "tfadvisor-fetch") as pool:
        waiting: deque[Future[None]] = deque(pool.submit(_fetch, file) for file in remote[:_AT_ONCE])
        rest = iter(remote[_AT_ONCE:])
        try:
            for file in files:
                if isinstance(file, RemotePath):
                    waiting.popleft().result()
                    waiting.extend(pool.submit(_fetch, one) for one in [next(rest, None)] if one is not None)
                yield file
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def _fetch(file: RemotePath) -> None:
    with contextlib.suppress(Exception):
        file.open_copy().close()


def _keeps_copies() -> bool:
    from tfadvisor.sources.copies import keeps_copies

    return keeps_copies()
