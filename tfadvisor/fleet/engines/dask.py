"""A Dask cluster: a few tasks a worker under way, what a killed worker had tried again elsewhere."""

from __future__ import annotations

import gc
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tfadvisor.errors import AdvisorError, UsageError
from tfadvisor.timeline.run.local_processes import ClusterError, name_of, work_called
from tfadvisor.timeline.run.one_host import Answer, Work
from tfadvisor.version import VERSION

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S = 10
_TASKS_A_WORKER = 6
"""Under way: what is not asked for yet takes no memory, neither here nor there."""
_RETRIES = 2
_LOSSES = 5
_GATHER_S = 60


@contextmanager
def dask_cluster(address: str) -> Iterator[DaskCluster]:
    """A cluster's workers, all with this tfadvisor. Raises ClusterError, UsageError without Dask or for another version."""
    try:
        from distributed import Client  # 0.5 s, and an extra
    except ImportError as error:
        raise UsageError(
            f"--scheduler needs Dask, which cannot be loaded ({error}): pip install 'tfadvisor[cluster]'"
        ) from error
    with _quiet():
        try:
            client = Client(address, timeout=_CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            raise ClusterError(
                f"{address}: no Dask scheduler answers there. Check the address, and that it runs."
            ) from error
        try:
            _check_versions(client, address)
            yield DaskCluster(client, address)
        finally:
            with suppress(Exception):
                client.close(timeout=2)


class DaskCluster:
    """A Client in use as an Engine."""

    def __init__(self, client: Client, address: str) -> None:
        """address: as the user knows it."""
        self._client, self._address = client, address

    def each(self, work: Work, tasks: Sequence[bytes]) -> Iterator[Answer]:
        """As Engine. Of a task whose workers were killed, again and again, the answer is None."""
        from distributed import as_completed

        most = max(len(self._client.nthreads()), 1) * _TASKS_A_WORKER
        waiting = list(range(len(tasks)))[::-1]
        lost = [0] * len(tasks)
        running: dict[Any, int] = {}
        completed = as_completed(loop=self._client.loop)
        while waiting or running:
            while waiting and len(running) < most:
                number = waiting.pop()
                future = self._client.submit(answer, name_of(work), tasks[number], pure=False, retries=_RETRIES)
                running[future] = number
                completed.add(future)
            future = next(completed)
            number = running.pop(future)
            value, killed = self._outcome(future)
            future.release()
            if value is not None or killed:
                yield Answer(number, value)
                continue
            lost[number] += 1
            if lost[number] > _LOSSES:
                raise ClusterError(
                    f"{self._address}: workers end again and again before they hand over what they have read."
                )
            waiting.append(number)

    def _outcome(self, future: Any) -> tuple[bytes | None, bool]:
        """(answer, whether the workers were killed that tried it); (None, False) where the answer was lost with the worker
        that had it. Raises what the work raised, ClusterError where the scheduler is gone.
        """
        from distributed.scheduler import KilledWorker

        if future.status == "finished":
            with suppress(Exception):
                return future.result(timeout=_GATHER_S), False
        error = future.exception() if future.status == "error" else None
        if isinstance(error, KilledWorker):
            return None, True
        if isinstance(error, AdvisorError):
            raise error
        if error is not None:
            raise ClusterError(f"{self._address}: a worker failed: {type(error).__name__}: {error}.") from error
        if self._client.status != "running":
            raise ClusterError(
                f"{self._address}: the connection to the Dask scheduler is lost. Start the scheduler again, and the command."
            )
        return None, False


def answer(work: str, task: bytes) -> bytes:
    """What a worker does. Nothing is collected meanwhile, which takes longer than a small host."""
    do, collects = work_called(work), gc.isenabled()
    gc.disable()
    try:
        return do(task)
    finally:
        if collects:
            gc.enable()


def version() -> str:
    """Of tfadvisor, on a worker."""
    return VERSION


def _check_versions(client: Client, address: str) -> None:
    """Raises ClusterError without a worker, UsageError for one with another version."""
    with suppress(Exception):  # a cluster may be about to start its workers
        client.wait_for_workers(1, timeout=_CONNECT_S)
    try:
        found: Mapping[str, str] = client.run(version)
    except Exception as error:
        raise UsageError(
            f"{address}: a worker cannot load tfadvisor {VERSION} ({type(error).__name__}: {error}). Install it on every worker."
        ) from error
    if not found:
        raise ClusterError(f"{address}: the scheduler has no workers. Start some.")
    others = sorted({one for one in found.values() if one != VERSION})
    if others:
        workers = sum(one != VERSION for one in found.values())
        raise UsageError(
            f"{address}: {workers} of {len(found)} workers have tfadvisor {', '.join(others)}, and this is {VERSION}. "
            "Install the same one everywhere."
        )


@contextmanager
def _quiet() -> Iterator[None]:
    """Dask's log says a lost connection in many lines; we say it in one."""
    names = [one for one in logging.root.manager.loggerDict if one.partition(".")[0] == "distributed"]
    levels = {
        logger: logger.level for logger in map(logging.getLogger, names)
    }  # Dask gives several a level of their own
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="distributed")
            yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)
