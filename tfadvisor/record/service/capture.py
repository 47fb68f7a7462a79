"""Records jobs that run already: look, then record their steps, as with a program that is started."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tfadvisor.analysis import Options
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.files import temporary_folder
from tfadvisor.record.conduct import Recorded, Wanted, record_fully
from tfadvisor.record.service.clients import Client
from tfadvisor.record.window import Refused, Window, read_window

_FIRST_LOOK_SECONDS = 1.0
_LOOKS = 7
_ADDRESS = re.compile(r"^(?:grpc://)?(\[[0-9a-fA-F:]+\]|[^\s:/,]+):(\d{1,5})$")


def address_of(text: str) -> str:
    """`host:port`, also from `grpc://host:port`. Raises UsageError for anything else."""
    match = _ADDRESS.match(text)
    if match is None or not 0 < int(match.group(2)) < 1 << 16:
        raise UsageError(
            f"{text} is no address. Give HOST:PORT, the port as the job's profiler server was started with."
        )
    return f"{match.group(1)}:{match.group(2)}"


@contextmanager
def captured(
    addresses: Sequence[str], wanted: Wanted, options: Options, ask: Client, tell: Callable[[str], None]
) -> Iterator[Recorded]:
    """The recording of jobs. tell: called with an address that gave nothing while others did.

    Raises TraceError when none gives a trace, or no steps repeat in it.
    """
    with temporary_folder() as folder:
        service = _Service(addresses, Path(folder), options, ask, tell)
        time.sleep(wanted.after_seconds or 0.0)
        yield record_fully(service.record, _steady_look(service), wanted)


class _Service:
    """Windows of the same jobs."""

    def __init__(
        self, addresses: Sequence[str], folder: Path, options: Options, ask: Client, tell: Callable[[str], None]
    ) -> None:
        self.addresses, self._folder, self._options = list(addresses), folder, options
        self._ask, self._tell = ask, tell
        self._number = 0

    def record(self, seconds: float, *, python_tracer: bool) -> Window | Refused:
        """As Recorder. A job that gives nothing is asked no more."""
        self._number += 1
        folder = self._folder / f"window-{self._number}"
        folder.mkdir()
        opened = time.time()
        failed = self._ask(self.addresses, folder, seconds, python_tracer)
        if len(failed) == len(self.addresses):
            return Refused("; ".join(f"{address}: {why}" for address, why in failed.items()))
        for address, why in failed.items():
            self._tell(f"{address} is left out: {why}.")
            self.addresses.remove(address)
        return read_window(folder, self._options, python_tracer=python_tracer, opened=opened, closed=opened + seconds)


def _steady_look(service: _Service) -> Window:
    """Looks longer each time, until steps repeat. Raises TraceError when they never do."""
    best: Window | None = None
    for attempt in range(_LOOKS):
        look = service.record(_FIRST_LOOK_SECONDS * 2**attempt, python_tracer=False)
        if isinstance(look, Refused) and look.why is None:
            continue
        if isinstance(look, Refused):
            raise TraceError(
                ", ".join(service.addresses),
                f"no trace came: {look.why}.",
                "Start the job with `jax.profiler.start_server(PORT)` or `tf.profiler.experimental.server.start(PORT)`.",
            )
        if look.pace is not None:
            best = look
            if look.pace.steady:
                return look
    if best is None:
        raise TraceError(
            ", ".join(service.addresses), "no steps repeat in two minutes of it.", "Capture again while the job trains."
        )
    return best
