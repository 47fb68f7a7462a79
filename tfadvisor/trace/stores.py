"""fsspec's drivers: which one an address needs, what a store says about an object, and
what its errors mean.
"""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from time import monotonic
from typing import IO, TYPE_CHECKING, Any

import msgspec

from tfadvisor.errors import TraceError, UsageError

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

    from fsspec import AbstractFileSystem

_DRIVERS = {
    "s3": "s3fs",
    "s3a": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "hf": "huggingface_hub",
    "hdfs": "pyarrow",
    "http": "aiohttp",
    "https": "aiohttp",
    "abfs": "adlfs",
    "az": "adlfs",
}
"""The package from PyPI that a scheme needs beside fsspec."""
WEB = ("http", "https")
"""Schemes whose servers list nothing but pages of links."""
_DEPTH = 8
"""How many folders deep a web server is followed: its links may never end."""
_MOST_FOLDERS = 1_000
_MOST_WITHOUT_FILE = 100
"""Folders without a file that a web server is asked for, and four more for each file:
a run lies that deep.
"""
_MOST_LINKS = 100_000
LARGEST_ANSWER = 8 << 20
"""Bytes that a web server is asked for at once, and so of a page of links."""
_PART = 1 << 18
"""Bytes that are fetched at once of an object of which little is read."""
SILENCE_S = 60.0
"""How long a web server may send nothing."""
_LONGEST_S = 600.0
"""How long a web server may take to say what it has, also where it never falls silent.
"""
_FILE_OR_LINKS = (
    "Give the address of a file that ends in `.xplane.pb`, or of a page of links to "
    "such."
)
_TAGS = (
    "ETag",
    "etag",
    "md5Hash",
    "generation",
    "blob_id",
    "Content-MD5",
    "Last-Modified",
    "LastModified",
    "mtime",
)
_TIMES = (
    "LastModified",
    "last_modified",
    "mtime",
    "modified",
    "updated",
    "created",
    "Last-Modified",
)


class StoreEntry(msgspec.Struct, frozen=True):
    """What a store says about an object or folder."""

    size: int | None
    """Bytes; None where the server does not tell before it sends."""
    tag: str | None
    """Changes with the content; None where the store has nothing of the kind."""
    modified: float
    """Seconds since the epoch, 0 where unknown."""
    folder: bool = False
    ranges: bool = True
    """Whether parts can be asked for."""

    def mode(self) -> int:
        """As of a file of this machine."""
        if self.folder:
            return stat.S_IFDIR | 0o555
        return stat.S_IFREG | 0o444


def driver(address: str) -> tuple[AbstractFileSystem, str]:
    """The driver for an address, and what the object is called there. Raises
    UsageError, naming what to install.
    """
    scheme = address.partition("://")[0]
    try:
        import fsspec  # 20 ms, and an extra
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise UsageError(
            f"{scheme}:// needs fsspec, which cannot be loaded ({error}): pip "
            "install 'tfadvisor[remote]'"
        ) from error
    if scheme not in fsspec.available_protocols():
        raise UsageError(
            f"{address.partition('?')[0]}: fsspec knows no {scheme}:// addresses."
        )
    _say_nothing()
    try:
        filesystem, name = url_to_fs(address, **_options(scheme, fsspec.config.conf))
    except ImportError as error:
        package = _DRIVERS.get(scheme)
        how = f": pip install {package}" if package else "."
        raise UsageError(
            f"{scheme}:// needs a driver that cannot be loaded ({error}){how}"
        ) from error
    except Exception as error:
        raise translated(error, address) from error
    return filesystem, str(name)


def _say_nothing() -> None:
    """Drivers log each of their attempts; the error that they raise in the end says it
    once. Who has set up logging gets it all the same.
    """
    import logging  # which fsspec has imported

    for name in (
        "gcsfs",
        "google",
        "s3fs",
        "botocore",
        "aiobotocore",
        "huggingface_hub",
        "adlfs",
        "azure",
        "fsspec",
    ):
        logger = logging.getLogger(name)
        if not logger.handlers:
            logger.addHandler(logging.NullHandler())


def entry_of(address: str) -> StoreEntry:
    """What the store says about an object now. Raises OSError as `faults` makes them,
    UsageError without a driver.
    """
    filesystem, name = driver(address)
    patience = {"timeout": _LONGEST_S} if _scheme(address) in WEB else {}
    try:
        filesystem.invalidate_cache()
        return _entry(filesystem.info(name, **patience))
    except Exception as error:
        raise translated(error, address) from error


def open_parts(address: str) -> IO[bytes]:
    """An object of which only the parts that are read are fetched. Raises as
    entry_of.
    """
    filesystem, name = driver(address)
    try:
        opened: IO[bytes] = filesystem.open(name, "rb", block_size=_PART)
    except Exception as error:
        raise translated(error, address) from error
    return opened


def _scheme(address: str) -> str:
    return address.partition(":")[0]


def objects_below(address: str) -> Iterator[tuple[str, StoreEntry]]:
    """(address, entry) of every object below a folder. Raises as entry_of; NotThere
    where there is no such folder.
    """
    filesystem, name = driver(address)
    scheme = _scheme(address)
    try:
        found = _found_below(filesystem, name, address)
    except Exception as error:
        cause = translated(error, address)
        if isinstance(cause, NotThere) and scheme in WEB:
            no_folder = "the server shows no folder there"
            cause = NotThere(address, no_folder, _FILE_OR_LINKS)
        raise cause from error
    for place, info in found.items():
        whole = place if "://" in place else f"{scheme}://{place.lstrip('/')}"
        yield _with_host(whole, address), _entry(info)


def _found_below(
    filesystem: AbstractFileSystem,
    name: str,
    address: str,
) -> Mapping[str, Mapping[str, Any]]:
    """As the driver names and describes them. Raises what it raises, and
    FileNotFoundError where there is no such folder.
    """
    is_web = _scheme(address) in WEB
    folder = f"{name.rstrip('/')}/" if is_web else name
    found: Mapping[str, Mapping[str, Any]]
    filesystem.invalidate_cache()
    if is_web:
        found = _found_on_the_web(filesystem, folder, address)
    else:
        found = filesystem.find(folder, detail=True)
    if not found and not filesystem.exists(folder):
        raise FileNotFoundError(folder)
    return found


def _with_host(found: str, asked: str) -> str:
    """HDFS leaves the name node out of what it finds."""
    if not asked.startswith("hdfs://") or found.startswith(asked):
        return found
    host = asked.removeprefix("hdfs://").partition("/")[0]
    return f"hdfs://{host}/{found.removeprefix('hdfs://').lstrip('/')}"


def _options(scheme: str, configured: Mapping[str, Any]) -> dict[str, Any]:
    """For the driver: a web server that falls silent is given up. The user's own
    configuration stands.
    """
    if scheme not in WEB:
        return {}
    if "client_kwargs" in configured.get(scheme, {}):
        return {"get_client": _bounded_client}
    import aiohttp

    times = aiohttp.ClientTimeout(
        total=None,
        sock_connect=30,
        sock_read=SILENCE_S,
    )
    return {"get_client": _bounded_client, "client_kwargs": {"timeout": times}}


async def _bounded_client(**settings: Any) -> Any:
    """A client of web servers that takes no more of an answer than one is asked for at
    once, unpacked, and stays with its server: another host may be one of this machine's
    own network.
    """
    import aiohttp

    class Bounded(aiohttp.ClientResponse):
        async def read(self) -> bytes:
            if self._body is None:
                pieces = []
                left = LARGEST_ANSWER
                async for piece in self.content.iter_chunked(1 << 16):
                    left -= len(piece)
                    if left < 0:
                        self.close()
                        raise Unreachable(
                            str(self.url),
                            f"the server sends more than {LARGEST_ANSWER:,} bytes at "
                            "once",
                        )
                    pieces.append(piece)
                self._body = b"".join(pieces)
            return self._body

    async def redirected(
        _session: Any,
        _context: Any,
        told: Any,
    ) -> None:
        answer = told.response
        aim = answer.url.join(
            type(answer.url)(
                answer.headers.get("Location") or answer.headers.get("URI") or ""
            )
        )
        if _leads_elsewhere(answer.url, aim):
            raise Unreachable(
                str(answer.url),
                f"the server sends to another one, {aim.host}",
                "Give the address there.",
            )

    class Staying(aiohttp.ThreadedResolver):
        async def resolve(self, host: str, *given: Any, **named: Any) -> Any:
            return _addresses_to_ask(host, await super().resolve(host, *given, **named))

    watched = aiohttp.TraceConfig()
    watched.on_request_redirect.append(redirected)
    settings.setdefault("connector", aiohttp.TCPConnector(resolver=Staying()))
    return aiohttp.ClientSession(
        response_class=Bounded,
        trace_configs=[watched],
        **settings,
    )


def _leads_elsewhere(url: Any, aim: Any) -> bool:
    """Whether a redirect, of one URL of yarl's to another, leaves its server, or its
    encryption.
    """
    other_port = aim.port != url.port and not aim.is_default_port()
    return (
        aim.host != url.host
        or other_port
        or (url.scheme, aim.scheme) == ("https", "http")
    )


_outside: set[str] = set()
"""Names that have led out of this machine's networks."""


def _addresses_to_ask(
    host: str,
    found: Sequence[Mapping[str, Any]],
) -> list[Mapping[str, Any]]:
    """Of those that a name leads to, as aiohttp has them: where there are some outside
    only these, from then on, since a server may give its name another address between
    two questions. Raises Unreachable.
    """
    outside = []
    near = []
    for address in found:
        meant = _meant(address["host"])
        if meant.is_global:
            outside.append(address)
        if not meant.is_link_local:
            near.append(address)
    if outside:
        _outside.add(host)
        return outside
    if found and not near:
        raise _leads_inside(host, "leads to this machine's own link")
    if found and host in _outside:
        raise _leads_inside(host, "now leads to this machine's own network")
    return near


def _meant(text: str) -> IPv4Address | IPv6Address:
    """An address; of one of IPv4 in the form of IPv6, that."""
    from ipaddress import ip_address

    address = ip_address(text.partition("%")[0])
    return getattr(address, "ipv4_mapped", None) or address


def _leads_inside(host: str, what: str) -> Unreachable:
    remedy = "Give the address itself if that is meant."
    return Unreachable(host, f"this name {what}", remedy)


def _found_on_the_web(
    filesystem: AbstractFileSystem,
    name: str,
    address: str,
) -> dict[str, Mapping[str, Any]]:
    """What pages of links lead to, from one folder down; only so far, since links may
    never end.
    """
    found: dict[str, Mapping[str, Any]] = {}
    folders = [(name, 1)]
    looked_at = fruitless = 0
    ends = monotonic() + _LONGEST_S
    while folders:
        folder, depth = folders.pop()
        looked_at += 1
        too_many = looked_at > _MOST_FOLDERS or len(found) > _MOST_LINKS
        if too_many or fruitless > _MOST_WITHOUT_FILE + 4 * len(found):
            raise Unreachable(
                address,
                f"its links lead to more than {looked_at - 1:,} folders",
                "Name one folder of it.",
            )
        left = max(ends - monotonic(), 0.01)
        holds_files = False
        for link in filesystem.ls(folder, detail=True, timeout=left):
            if link["type"] != "directory":
                found[link["name"]] = link
                holds_files = True
            elif depth < _DEPTH:
                folders.append((link["name"], depth + 1))
        fruitless += not holds_files
    return found


def _entry(info: Mapping[str, Any]) -> StoreEntry:
    size = info.get("size")
    tags = [str(info[key]) for key in _TAGS if info.get(key)]
    times = map(_seconds, map(info.get, _TIMES))
    return StoreEntry(
        size=None if size is None else int(size),
        tag=tags[0].strip('"') if tags else None,
        modified=next(filter(None, times), 0.0),
        folder=info.get("type") == "directory",
        ranges=info.get("partial", True) is not False,
    )


def _seconds(time: object) -> float:
    """Since the epoch, of whatever a driver calls a time; 0 for what is none."""
    if isinstance(time, int | float):
        return float(time)
    moment = _moment(time) if isinstance(time, str) else time
    if not isinstance(moment, datetime):
        return 0.0
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return moment.timestamp()


def _moment(text: str) -> datetime | None:
    """What a text says, as ISO 8601 writes it or as a mail does; None for others."""
    with suppress(ValueError):
        return datetime.fromisoformat(text.replace("Z", "+00:00"))
    # 12 ms, and few stores tell a time so.
    from email.utils import parsedate_to_datetime

    with suppress(ValueError):
        return parsedate_to_datetime(text)
    return None


# What a store, a server or a driver answers instead of bytes, as the errors that files
# of this machine raise.

_CREDENTIALS = {
    "s3": "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, to what "
    "may read the bucket.",
    "gs": "Run `gcloud auth application-default login`, or set "
    "GOOGLE_APPLICATION_CREDENTIALS.",
    "hf": "Run `hf auth login`, or set HF_TOKEN to a token that may read it.",
    "hdfs": "Run `kinit`, or ask for read permission.",
}
_AS = {"s3a": "s3", "gcs": "gs"}
_OTHER_CREDENTIALS = (
    "Ask for read permission, or give the login in fsspec's configuration "
    "(~/.config/fsspec)."
)
_NO_CREDENTIALS = (
    "NoCredentials",
    "PartialCredentials",
    "DefaultCredentials",
    "CredentialRetrieval",
    "RefreshError",
)
_CONNECTION = (
    "ClientConnect",
    "ServerDisconnected",
    "ClientPayload",
    "ClientOSError",
    "EndpointConnection",
    "ConnectTimeout",
)


class Unreachable(TraceError, OSError):
    """The object cannot be had now; it says nothing about a trace. An OSError too, as
    any Path raises.
    """

    number = errno.EIO
    usual_remedy = "Check the network and the address, and try again."

    def __init__(
        self,
        address: str,
        cause: str,
        remedy: str = "",
    ) -> None:
        """cause: a sentence's second part, without its full stop."""
        OSError.__init__(self, self.number, cause, address)
        self.place = address
        self.cause = f"cannot be read: {cause}."
        self.remedy = remedy or self.usual_remedy

    def __reduce__(self) -> tuple[type[Unreachable], tuple[str, str, str]]:
        """For other processes."""
        return type(self), (self.place, str(self.strerror), self.remedy)


class NotThere(Unreachable, FileNotFoundError):
    """No such object, folder or bucket."""

    number = errno.ENOENT
    usual_remedy = "Check the address."


class StoreRefused(Unreachable, PermissionError):
    """The credentials are missing, wrong or not enough."""

    number = errno.EACCES


class CutOff(Unreachable, ConnectionError):
    """The connection failed, the server fell silent, or the object ended early. Another
    try may do.
    """

    number = errno.ECONNABORTED


def translated(error: BaseException, address: str) -> Unreachable:
    """The error of a driver as one of this module, with the driver's own words where it
    is of no known kind.
    """
    chain = list(_chain(error))
    for cause in chain:
        if isinstance(cause, Unreachable):
            return cause
    statuses = [_status(cause) for cause in chain]
    status = next((number for number in statuses if number is not None), None)
    return (
        _as_refused(chain, status, address)
        or _as_cut_off(chain, status, address)
        or _as_not_there(chain, status, address)
        or Unreachable(address, _words(error))
    )


def _as_refused(
    chain: Sequence[BaseException],
    status: int | None,
    address: str,
) -> StoreRefused | None:
    scheme = _scheme(address)
    remedy = _CREDENTIALS.get(_AS.get(scheme, scheme), _OTHER_CREDENTIALS)
    if any(type(cause).__name__.startswith(_NO_CREDENTIALS) for cause in chain):
        nothing = "there are no credentials that the driver can use"
        return StoreRefused(address, nothing, remedy)
    if status in (401, 403):
        answered = f"the store refuses to show it (it answered {status})"
        return StoreRefused(address, answered, remedy)
    if any(isinstance(cause, PermissionError) for cause in chain):
        return StoreRefused(address, "the store refuses to show it", remedy)
    return None


def _as_cut_off(
    chain: Sequence[BaseException],
    status: int | None,
    address: str,
) -> CutOff | None:
    for cause in chain:
        name = type(cause).__name__
        if isinstance(cause, TimeoutError) or "Timeout" in name:
            return CutOff(address, "the server fell silent, or never comes to an end")
        if isinstance(cause, ConnectionError) or name.startswith(_CONNECTION):
            return CutOff(address, f"the connection failed ({_words(cause)})")
    if status is not None and status >= 500:
        return CutOff(address, f"the server answered {status}")
    return None


def _as_not_there(
    chain: Sequence[BaseException],
    status: int | None,
    address: str,
) -> NotThere | None:
    absent = any(isinstance(cause, FileNotFoundError) for cause in chain)
    if absent or status in (404, 410):
        return NotThere(address, "there is no such object")
    return None


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _status(error: BaseException) -> int | None:
    """The number of an HTTP answer; drivers keep it under several names."""
    response = getattr(error, "response", None)
    if isinstance(response, dict):  # of botocore
        response = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    for found in (
        getattr(response, "status_code", response),
        error.__dict__.get("status"),
        error.__dict__.get("code"),
    ):
        if isinstance(found, int) and 400 <= found < 600:
            return found
    return None


def _words(error: BaseException) -> str:
    """`TypeName: message` on one line, without the part of an address that may be a
    signature.
    """
    words = []
    for word in str(error).split():
        words.append(word.partition("?")[0] if "://" in word else word)
    message = " ".join(words)[:300]
    return f"{type(error).__name__}: {message}".rstrip(": ")
