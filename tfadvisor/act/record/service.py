"""Records jobs that run already, through their profiler servers: look, then record their steps."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec

from tfadvisor.act.record.conduct import Recorded, Wanted, record_fully
from tfadvisor.act.record.window import Refused, Window, read_window
from tfadvisor.analysis import Options
from tfadvisor.errors import TraceError, UsageError
from tfadvisor.files import temporary_folder
from tfadvisor.trace.bounds import FIXED_32, FIXED_64, SIZED, VARINT

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


# Asks profiler services for a window: by gRPC, else through the client that xprof or TensorFlow brings along.

_ANSWER_SECONDS = 120.0
_WORDS = {
    "UNAVAILABLE": "nothing answers there",
    "DEADLINE_EXCEEDED": "it did not answer in time",
    "UNIMPLEMENTED": "something answers there, but it is no profiler service",
    "ALREADY_EXISTS": "something else records it just now",
    "FAILED_PRECONDITION": "something else records it just now",
}

Client = Callable[[Sequence[str], Path, float, bool], dict[str, str]]
"""(addresses, folder, seconds, python_tracer) → why an address gave nothing. Traces land in the folder, one an address."""


def client() -> Client:
    """The first that is installed. Raises UsageError without any."""
    if find_spec("grpc") is not None:
        return by_grpc
    if find_spec("xprof") is not None:
        return by_xprof
    if find_spec("tensorflow") is not None:
        return by_tensorflow
    raise UsageError("a capture needs gRPC, xprof or TensorFlow: pip install 'tfadvisor[capture]'")


def file_name(address: str) -> str:
    """`host:1234` → `host_1234.xplane.pb`, as the profiler's own client names it."""
    return f"{address.replace(':', '_').replace('/', '_')}.xplane.pb"


def by_grpc(addresses: Sequence[str], folder: Path, seconds: float, python_tracer: bool) -> dict[str, str]:
    """All at once. The trace comes with the answer, or lies where an old server on this file system has written it."""
    import grpc

    unlimited = [("grpc.max_receive_message_length", -1)]
    channels = {address: grpc.insecure_channel(address, options=unlimited) for address in addresses}
    session = folder.name
    waiting: dict[str, Any] = {}
    failed: dict[str, str] = {}
    for address, channel in channels.items():
        name = file_name(address).removesuffix(".xplane.pb")
        request = ProfileRequest(seconds, python_tracer, str(folder.parent.absolute()), session, name)
        waiting[address] = channel.unary_unary(METHOD, None, None).future(
            request.encoded(), timeout=seconds + _ANSWER_SECONDS
        )
    for address, answer in waiting.items():
        try:
            failed.update(_stored(address, answer.result(), folder, session))
        except grpc.RpcError as error:
            code = error.code().name
            failed[address] = f"{_WORDS.get(code, code)} ({' '.join(str(error.details()).split())})"
    for channel in channels.values():
        channel.close()
    return failed


def _stored(address: str, message: bytes, folder: Path, session: str) -> dict[str, str]:
    """Writes the trace of an answer; why there is none, by address."""
    try:
        answer = decoded(message)
    except ValueError as error:
        return {address: f"its answer cannot be read: {error}"}
    target = folder / file_name(address)
    if answer.xspace is not None:
        target.write_bytes(answer.xspace)
        return {}
    written = folder.parent / "plugins" / "profile" / session / target.name
    for place in (written, folder.parent / session / target.name):
        if place.exists():
            place.replace(target)
            return {}
    return {
        address: "it recorded nothing" if answer.empty else "it keeps its trace on its own disk, which is not this one"
    }


def by_xprof(addresses: Sequence[str], folder: Path, seconds: float, python_tracer: bool) -> dict[str, str]:
    """As xprof's capture button."""
    from xprof.convert import _pywrap_profiler_plugin as plugin

    options = {"host_tracer_level": 2, "device_tracer_level": 1, "python_tracer_level": int(python_tracer)}
    return _through_a_logdir(
        addresses,
        folder,
        lambda logdir: plugin.trace(",".join(addresses), logdir, "", True, round(seconds * 1000), 1, options),
    )


def by_tensorflow(addresses: Sequence[str], folder: Path, seconds: float, python_tracer: bool) -> dict[str, str]:
    """As tf.profiler.experimental.client."""
    from tensorflow.python.profiler import profiler_client, profiler_v2

    options = profiler_v2.ProfilerOptions(2, int(python_tracer), 1)
    where = ",".join(f"grpc://{address}" for address in addresses)
    return _through_a_logdir(
        addresses,
        folder,
        lambda logdir: profiler_client.trace(
            where, logdir, round(seconds * 1000), num_tracing_attempts=1, options=options
        ),
    )


def _through_a_logdir(addresses: Sequence[str], folder: Path, trace: Callable[[str], object]) -> dict[str, str]:
    """Clients that write a logdir, and tell only whether something was wrong."""
    logdir = folder / "logdir"
    try:
        trace(str(logdir.absolute()))
    except Exception as error:
        return dict.fromkeys(addresses, " ".join(str(error).split()))
    found = sorted(logdir.rglob("*.xplane.pb"))
    for trace_file in found:
        trace_file.replace(folder / trace_file.name)
    there = {one.name for one in found}
    return (
        {}
        if len(there) == len(addresses)
        else {address: "it recorded nothing" for address in addresses if file_name(address) not in there}
    )


# ProfileRequest and ProfileResponse of tsl/profiler/protobuf/profiler_service.proto: the fields that a capture needs.


METHOD = "/tensorflow.ProfilerService/Profile"


class ProfileRequest(msgspec.Struct, frozen=True):
    """One window on one host."""

    seconds: float
    python_tracer: bool
    repository_root: str
    """Where a server older than `emit_xspace` writes its trace: a logdir as it sees it."""
    session_id: str
    host_name: str

    def encoded(self) -> bytes:
        """In protobuf's wire format."""
        milliseconds = round(self.seconds * 1000)
        levels = {2: 2, 3: 1, 4: int(self.python_tracer), 5: 1, 7: 1, 9: milliseconds}
        options = b"".join(_number(field, value) for field, value in levels.items())
        return b"".join(
            (
                _number(1, milliseconds),
                _bytes(4, options),
                _bytes(5, self.repository_root.encode()),
                _bytes(6, self.session_id.encode()),
                _bytes(7, self.host_name.encode()),
                _number(9, 1),
            )
        )


class ProfileResponse(msgspec.Struct, frozen=True):
    """xspace: the trace, None from a server that has written it where it was told to."""

    xspace: bytes | None
    empty: bool


def decoded(message: bytes) -> ProfileResponse:
    """Raises ValueError for what is no protobuf message."""
    xspace: bytes | None = None
    empty = False
    place = 0
    while place < len(message):
        key, place = _varint(message, place)
        field, kind = key >> 3, key & 7
        if kind == SIZED:
            size, place = _varint(message, place)
            if place + size > len(message):
                raise ValueError("the message is cut short")
            if field == 8:
                xspace = message[place : place + size]
            place += size
        elif kind == VARINT:
            value, place = _varint(message, place)
            empty = empty or (field == 7 and value != 0)
        elif kind in (FIXED_64, FIXED_32):
            place += 8 if kind == FIXED_64 else 4
        else:
            raise ValueError(f"no field has the wire type {kind}")
    return ProfileResponse(xspace, empty)


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while place < len(message):
        byte = message[place]
        place += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, place
        shift += 7
    raise ValueError("the message is cut short")


def _encoded_varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _number(field: int, value: int) -> bytes:
    return _encoded_varint(field << 3 | VARINT) + _encoded_varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _encoded_varint(field << 3 | SIZED) + _encoded_varint(len(value)) + value
