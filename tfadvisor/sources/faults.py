"""What a store, a server or a driver answers instead of bytes, as the errors that files of this machine raise."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence

from tfadvisor.errors import TraceError

_CREDENTIALS = {
    "s3": "Set AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, to what may read the bucket.",
    "gs": "Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS.",
    "hf": "Run `hf auth login`, or set HF_TOKEN to a token that may read it.",
    "hdfs": "Run `kinit`, or ask for read permission.",
}
_AS = {"s3a": "s3", "gcs": "gs"}
_OTHER_CREDENTIALS = "Ask for read permission, or give the login in fsspec's configuration (~/.config/fsspec)."
_NO_CREDENTIALS = ("NoCredentials", "PartialCredentials", "DefaultCredentials", "CredentialRetrieval", "RefreshError")
_CONNECTION = (
    "ClientConnect",
    "ServerDisconnected",
    "ClientPayload",
    "ClientOSError",
    "EndpointConnection",
    "ConnectTimeout",
)
_TIMEOUT = ("Timeout",)


class Unreachable(TraceError, OSError):
    """The object cannot be had now; it says nothing about a trace. An OSError too, as any Path raises."""

    number = errno.EIO
    usual_remedy = "Check the network and the address, and try again."

    def __init__(self, address: str, cause: str, remedy: str = "") -> None:
        """cause: a sentence's second part, without its full stop."""
        OSError.__init__(self, self.number, cause, address)
        self.place, self.cause, self.remedy = address, f"cannot be read: {cause}.", remedy or self.usual_remedy

    def __reduce__(self) -> tuple[type[Unreachable], tuple[str, str, str]]:
        """For other processes."""
        return type(self), (self.place, str(self.strerror), self.remedy)


class NotThere(Unreachable, FileNotFoundError):
    """No such object, folder or bucket."""

    number = errno.ENOENT
    usual_remedy = "Check the address."


class Refused(Unreachable, PermissionError):
    """The credentials are missing, wrong or not enough."""

    number = errno.EACCES


class CutOff(Unreachable, ConnectionError):
    """The connection failed, the server fell silent, or the object ended early. Another try may do."""

    number = errno.ECONNABORTED


def translated(error: BaseException, address: str) -> Unreachable:
    """The error of a driver as one of this module, with the driver's own words where it is of no known kind."""
    chain = list(_chain(error))
    told = next((one for one in chain if isinstance(one, Unreachable)), None)
    if told is not None:
        return told
    status = next((found for one in chain if (found := _status(one)) is not None), None)
    return (
        _as_refused(chain, status, address)
        or _as_cut_off(chain, status, address)
        or _as_not_there(chain, status, address)
        or Unreachable(address, _words(error))
    )


def _as_refused(chain: Sequence[BaseException], status: int | None, address: str) -> Refused | None:
    scheme = address.partition(":")[0]
    remedy = _CREDENTIALS.get(_AS.get(scheme, scheme), _OTHER_CREDENTIALS)
    if any(type(one).__name__.startswith(_NO_CREDENTIALS) for one in chain):
        return Refused(address, "there are no credentials that the driver can use", remedy)
    if status in (401, 403):
        return Refused(address, f"the store refuses to show it (it answered {status})", remedy)
    if any(isinstance(one, PermissionError) for one in chain):
        return Refused(address, "the store refuses to show it", remedy)
    return None


def _as_cut_off(chain: Sequence[BaseException], status: int | None, address: str) -> CutOff | None:
    for one in chain:
        if isinstance(one, TimeoutError) or "Timeout" in type(one).__name__:
            return CutOff(address, "the server fell silent")
        if type(one).__name__.startswith(_CONNECTION) or isinstance(one, ConnectionError):
            return CutOff(address, f"the connection failed ({_words(one)})")
    return CutOff(address, f"the server answered {status}") if status is not None and status >= 500 else None


def _as_not_there(chain: Sequence[BaseException], status: int | None, address: str) -> NotThere | None:
    missing = status in (404, 410) or any(isinstance(one, FileNotFoundError) for one in chain)
    return NotThere(address, "there is no such object") if missing else None


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
    for found in (getattr(response, "status_code", response), error.__dict__.get("status"), error.__dict__.get("code")):
        if isinstance(found, int) and not isinstance(found, bool) and 400 <= found < 600:
            return found
    return None


def _words(error: BaseException) -> str:
    """`TypeName: message` on one line, without the part of an address that may be a signature."""
    message = " ".join(str(error).split())
    words = [one.partition("?")[0] if "://" in one else one for one in message.split(" ")]
    return f"{type(error).__name__}: {' '.join(words)[:300]}".rstrip(": ")
