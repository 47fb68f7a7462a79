"""A Dask cluster: tasks in bundles, a few bundles a worker under way, what a killed worker had tried again elsewhere."""

from __future__ import annotations

import gc
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import msgspec

from tfadvisor.errors import AdvisorError, UsageError
from tfadvisor.fleet.engines.local import ClusterError, name_of, work_called
from tfadvisor.timeline.run.one_host import Answer, Work
from tfadvisor.version import VERSION

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S = 10
_LARGEST_BUNDLE = 20
"""Tasks: what a cluster charges for each call is shared by so many."""
_BUNDLES_A_WORKER = 3
"""Under way: what is not asked for yet takes no memory, neither here nor there."""
_RETRIES = 2
_LOSSES = 5
_GATHER_S = 60


class _Bundle(msgspec.Struct, frozen=True):
    """Tasks that are handed out together. lost: how often their answers were lost with a worker."""

    tasks: Sequence[int]
    lost: int = 0


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
        """As Engine. Of a bundle whose workers were killed, each task is tried by itself."""
        from distributed import as_completed

        workers = max(len(self._client.nthreads()), 1)
        bundles = _bundles(len(tasks), workers)
        running: dict[Any, _Bundle] = {}
        completed = as_completed(loop=self._client.loop)
        while bundles or running:
            while bundles and len(running) < workers * _BUNDLES_A_WORKER:
                bundle = bundles.pop()
                asked = [tasks[one] for one in bundle.tasks]
                future = self._client.submit(answers, name_of(work), asked, pure=False, retries=_RETRIES)
                running[future] = bundle
                completed.add(future)
            future = next(completed)
            bundle = running.pop(future)
            values, killed = self._outcome(future)
            future.release()
            if values is not None:
                yield from map(Answer, bundle.tasks, values)
            elif not killed:
                bundles.append(self._tried_again(bundle))
            elif len(bundle.tasks) > 1:
                bundles.extend(_Bundle((one,)) for one in bundle.tasks)
            else:
                yield Answer(bundle.tasks[0], None)

    def _outcome(self, future: Any) -> tuple[Sequence[bytes] | None, bool]:
        """(answers, whether the workers were killed that tried it); (None, False) where the answers were lost with the worker
        that had them. Raises what the work raised, ClusterError where the scheduler is gone.
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

    def _tried_again(self, bundle: _Bundle) -> _Bundle:
        if bundle.lost >= _LOSSES:
            raise ClusterError(
                f"{self._address}: workers end again and again before they hand over what they have read."
            )
        return _Bundle(bundle.tasks, bundle.lost + 1)


def answers(work: str, tasks: Sequence[bytes]) -> list[bytes]:
    """What a worker does: a bundle. Nothing is collected meanwhile, which takes longer than a small host."""
    do, collects = work_called(work), gc.isenabled()
    gc.disable()
    try:
        return [do(task) for task in tasks]
    finally:
        if collects:
            gc.enable()


def version() -> str:
    """Of tfadvisor, on a worker."""
    return VERSION


def _bundles(tasks: int, workers: int) -> list[_Bundle]:
    """Of about as many tasks each, the first tasks last; small enough that every worker has several."""
    size = max(min(tasks // (workers * 4), _LARGEST_BUNDLE), 1)
    return [_Bundle(range(first, min(first + size, tasks))) for first in range(0, tasks, size)][::-1]


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
