"""A Dask cluster: tasks in bundles, a few bundles a worker under way, what a killed worker had tried again elsewhere."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from tfadvisor.cluster.engine import Answer, ClusterError, Work, name_of, work_called
from tfadvisor.errors import AdvisorError, UsageError
from tfadvisor.version import VERSION

if TYPE_CHECKING:
    from distributed import Client

_CONNECT_S = 10
_LARGEST_BUNDLE = 20
"""Tasks: what a cluster charges for each call is shared by so many."""
_BUNDLES_A_WORKER = 3
"""Under way: what is not asked for yet takes no memory, neither here nor there."""
_RETRIES = 2


@contextmanager
def dask_cluster(address: str) -> Iterator[DaskCluster]:
    """A cluster's workers, all with this tfadvisor. Raises ClusterError, UsageError without Dask or for another version."""
    try:
        from distributed import Client  # noqa: PLC0415  (0.5 s, and an extra)
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
        from distributed import as_completed  # noqa: PLC0415

        workers = max(len(self._client.nthreads()), 1)
        bundles = _bundles(len(tasks), workers)
        running: dict[Any, Sequence[int]] = {}
        completed = as_completed(loop=self._client.loop)

        def begin() -> None:
            while bundles and len(running) < workers * _BUNDLES_A_WORKER:
                indices = bundles.pop()
                future = self._client.submit(
                    answers, name_of(work), [tasks[one] for one in indices], pure=False, retries=_RETRIES
                )
                running[future] = indices
                completed.add(future)

        begin()
        while running:
            future = next(completed)
            indices = running.pop(future)
            values = self._values(future, len(indices))
            if values is None and len(indices) > 1:
                bundles.extend([one] for one in indices)
            else:
                for index, value in zip(indices, values if values is not None else (None,), strict=True):
                    yield Answer(index, value)
            future.release()
            begin()

    def _values(self, future: Any, number: int) -> Sequence[bytes] | None:
        """None where workers were killed. Raises what the work raised, ClusterError where the scheduler is gone."""
        from distributed.scheduler import KilledWorker  # noqa: PLC0415

        if future.status == "finished":
            with suppress(Exception):
                values: Sequence[bytes] = future.result(timeout=60)
                return values
        if future.status != "error":
            raise ClusterError(
                f"{self._address}: the connection to the Dask scheduler is lost. What was read until then is kept where the "
                "command keeps it; start the scheduler, and the command again."
            )
        error = future.exception()
        if isinstance(error, KilledWorker):
            return None
        if isinstance(error, AdvisorError):
            raise error
        raise ClusterError(f"{self._address}: a worker failed: {type(error).__name__}: {error}.") from error


def answers(work: str, tasks: Sequence[bytes]) -> list[bytes]:
    """What a worker does: a bundle."""
    do = work_called(work)
    return [do(task) for task in tasks]


def version() -> str:
    """Of tfadvisor, on a worker."""
    return VERSION


def _bundles(tasks: int, workers: int) -> list[Sequence[int]]:
    """Of about as many tasks each, the first tasks last; small enough that every worker has several."""
    size = max(min(tasks // (workers * 4), _LARGEST_BUNDLE), 1)
    bundles: list[Sequence[int]] = [range(first, min(first + size, tasks)) for first in range(0, tasks, size)]
    return bundles[::-1]


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
    logger = logging.getLogger("distributed")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="distributed")
            yield
    finally:
        logger.setLevel(level)
