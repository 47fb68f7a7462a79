"""Records jobs that run already, through their profiler servers: look, then record
their steps.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from google.protobuf.message import DecodeError

from tfadvisor.act.record.choosing import RecordedRun, RecordRequest, record_steps
from tfadvisor.act.record.window import NoWindow, RecordedWindow, read_window
from tfadvisor.analysis import Options
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.files import temporary_folder
from tfadvisor.trace.messages import Table, classes_of

_FIRST_LOOK_SECONDS = 1.0
_LOOKS = 7
_ADDRESS = re.compile(r"^(?:grpc://)?(\[[0-9a-fA-F:]+\]|[^\s:/,]+):(\d{1,5})$")


def address_of(text: str) -> str:
    """`host:port`, also from `grpc://host:port`. Raises UsageError for anything
    else.
    """
    match = _ADDRESS.match(text)
    if match is None or not 0 < int(match.group(2)) < 1 << 16:
        raise UsageError(
            f"{text} is no address. Give HOST:PORT, the port as the job's profiler "
            "server was started with."
        )
    return f"{match.group(1)}:{match.group(2)}"


@contextmanager
def attached(
    addresses: Sequence[str],
    wanted: RecordRequest,
    options: Options,
    ask: Client,
    tell: Callable[[str], None],
) -> Iterator[RecordedRun]:
    """The recording of jobs. tell: called with an address that gave nothing while
    others did.

    Raises TraceError when none gives a trace, or no steps repeat in it.
    """
    with temporary_folder() as folder:
        service = _Service(
            addresses,
            Path(folder),
            options,
            ask,
            tell,
        )
        time.sleep(wanted.after_seconds or 0.0)
        yield record_steps(service.record, _steady_look(service), wanted)


class _Service:
    """Windows of the same jobs."""

    def __init__(
        self,
        addresses: Sequence[str],
        folder: Path,
        options: Options,
        ask: Client,
        tell: Callable[[str], None],
    ) -> None:
        self.addresses, self._folder, self._options = list(addresses), folder, options
        self._ask, self._tell = ask, tell
        self._number = 0

    def record(
        self, seconds: float, *, python_tracer: bool
    ) -> RecordedWindow | NoWindow:
        """As OpensWindows. A job that gives nothing is asked no more."""
        self._number += 1
        folder = self._folder / f"window-{self._number}"
        folder.mkdir()
        opened = time.time()
        failed = self._ask(
            self.addresses,
            folder,
            seconds,
            python_tracer,
        )
        if len(failed) == len(self.addresses):
            return NoWindow(
                "; ".join(f"{address}: {why}" for address, why in failed.items())
            )
        for address, why in failed.items():
            self._tell(f"{address} is left out: {why}.")
            self.addresses.remove(address)
        return read_window(
            folder,
            self._options,
            python_tracer=python_tracer,
            opened=opened,
            closed=opened + seconds,
        )


def _steady_look(service: _Service) -> RecordedWindow:
    """Looks longer each time, until steps repeat. Raises TraceError when they
    never do.
    """
    best: RecordedWindow | None = None
    for attempt in range(_LOOKS):
        look = service.record(
            _FIRST_LOOK_SECONDS * 2**attempt,
            python_tracer=False,
        )
        if isinstance(look, NoWindow) and look.why is None:
            continue
        if isinstance(look, NoWindow):
            raise TraceError(
                ", ".join(service.addresses),
                f"no trace came: {look.why}.",
                "Start the job with `jax.profiler.start_server(PORT)` or "
                "`tf.profiler.experimental.server.start(PORT)`.",
            )
        if look.pace is not None:
            best = look
            if look.pace.steady:
                return look
    if best is None:
        raise TraceError(
            ", ".join(service.addresses),
            "no steps repeat in two minutes of it.",
            "Attach again while the job trains.",
        )
    return best


# Asks profiler services for a window, by gRPC.

_ANSWER_SECONDS = 120.0
_WORDS = {
    "UNAVAILABLE": "nothing answers there",
    "DEADLINE_EXCEEDED": "it did not answer in time",
    "UNIMPLEMENTED": "something answers there, but it is no profiler service",
    "ALREADY_EXISTS": "something else records it just now",
    "FAILED_PRECONDITION": "something else records it just now",
}
_METHOD = "/tensorflow.ProfilerService/Profile"
_MESSAGES: Table = {
    "ProfileRequest": (
        ("duration_ms", 1, "u", ""),
        ("opts", 4, "ProfileOptions", ""),
        ("session_id", 6, "b", ""),
        ("host_name", 7, "b", ""),
        ("emit_xspace", 9, "u", ""),
    ),
    "ProfileOptions": (
        ("host_tracer_level", 2, "u", ""),
        ("device_tracer_level", 3, "u", ""),
        ("python_tracer_level", 4, "u", ""),
        ("version", 5, "u", ""),
        ("enable_hlo_proto", 7, "u", ""),
        ("duration_ms", 9, "u", ""),
    ),
    "ProfileResponse": (("xspace", 8, "b", "oneof trace"),),
}
"""Of tsl/profiler/protobuf/profiler_service.proto: what a recording needs of it."""
_CLASSES = classes_of(_MESSAGES)

Client = Callable[[Sequence[str], Path, float, bool], dict[str, str]]
"""(addresses, folder, seconds, python_tracer) → why an address gave nothing. Traces
land in the folder, one an address.
"""


def client() -> Client:
    """Raises UsageError without gRPC."""
    if find_spec("grpc") is None:
        raise UsageError("--attach needs gRPC: pip install 'tfadvisor[attach]'")
    return by_grpc


def file_name(address: str) -> str:
    """`host:1234` → `host_1234.xplane.pb`, as the profiler's own client names it."""
    return f"{address.replace(':', '_').replace('/', '_')}.xplane.pb"


def by_grpc(
    addresses: Sequence[str],
    folder: Path,
    seconds: float,
    python_tracer: bool,
) -> dict[str, str]:
    """All at once. The trace comes with the answer."""
    import grpc

    unlimited = [("grpc.max_receive_message_length", -1)]
    channels = {
        address: grpc.insecure_channel(address, options=unlimited)
        for address in addresses
    }
    waiting: dict[str, Any] = {}
    failed: dict[str, str] = {}
    for address, channel in channels.items():
        name = file_name(address).removesuffix(".xplane.pb")
        request = request_of(
            seconds,
            python_tracer,
            folder.name,
            name,
        )
        waiting[address] = channel.unary_unary(_METHOD, None, None).future(
            request, timeout=seconds + _ANSWER_SECONDS
        )
    for address, answer in waiting.items():
        try:
            failed.update(_stored(address, answer.result(), folder))
        except grpc.RpcError as error:
            code = error.code().name
            failed[address] = (
                f"{_WORDS.get(code, code)} ({' '.join(str(error.details()).split())})"
            )
    for channel in channels.values():
        channel.close()
    return failed


def _stored(
    address: str,
    message: bytes,
    folder: Path,
) -> dict[str, str]:
    """Writes the trace of an answer; why there is none, by address."""
    try:
        trace = trace_in(message)
    except ValueError as error:
        return {address: f"its answer cannot be read: {error}"}
    if trace is None:
        return {address: "it recorded nothing, or keeps its trace on its own disk"}
    (folder / file_name(address)).write_bytes(trace)
    return {}


def request_of(
    seconds: float,
    python_tracer: bool,
    session: str,
    name: str,
) -> bytes:
    """Asks a host for one window."""
    milliseconds = round(seconds * 1000)
    options = _CLASSES["ProfileOptions"](
        host_tracer_level=2,
        device_tracer_level=1,
        python_tracer_level=int(python_tracer),
        version=1,
        enable_hlo_proto=1,
        duration_ms=milliseconds,
    )
    request = _CLASSES["ProfileRequest"](
        duration_ms=milliseconds,
        opts=options,
        session_id=session.encode(),
        host_name=name.encode(),
        emit_xspace=1,
    )
    return bytes(request.SerializeToString())


def trace_in(message: bytes) -> bytes | None:
    """What a host answered; None where it has recorded nothing, or is so old that it
    sends no traces.

    Raises ValueError for what is no such message.
    """
    answer = _CLASSES["ProfileResponse"]()
    try:
        answer.ParseFromString(message)
    except DecodeError as error:
        raise ValueError(str(error)) from error
    return answer.xspace if answer.HasField("xspace") else None
