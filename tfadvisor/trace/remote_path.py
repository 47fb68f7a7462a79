"""An address as a Path that can be read: so every place that takes a path takes an
address as well.
"""

from __future__ import annotations

import errno
import fnmatch
import io
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path, PosixPath
from typing import IO, Any, NoReturn

from tfadvisor.errors import UsageError
from tfadvisor.trace.stores import WEB, StoreEntry, entry_of, objects_below

_ADDRESS = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*)://(.*)", re.S)
_COLLAPSED = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]*):(?:/(.*))?", re.S)
_FILE_ENDINGS = (".pb", ".pb.gz", ".json")


def is_address(text: str) -> bool:
    """Whether it names a place by scheme, as `s3://bucket/logdir` does."""
    return _ADDRESS.match(text) is not None


def was_address(path: Path) -> bool:
    """Whether a path that names nothing here was made from an address: of its two
    slashes a path keeps one.
    """
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]+:/", str(path)) is None:
        return False
    return not Path(path.parts[0]).exists()


def place_of(text: str | Path) -> Path:
    """A path of this machine, or an address. Raises UsageError for an address that
    holds a password.
    """
    if isinstance(text, Path):
        return text
    found = _ADDRESS.match(text)
    if found is None:
        return Path(text)
    scheme = found[1].lower()
    rest = found[2]
    if scheme in ("file", "local"):
        return Path(f"/{rest.lstrip('/')}")
    if re.match(r"[^/@]*:[^/@]*@", rest):
        raise UsageError(
            f"{found[1]}://…: an address with a password is not taken. Give it in "
            "fsspec's configuration."
        )
    if scheme == "hdfs" and rest.startswith("/"):
        rest = f"default{rest}"  # the name node of Hadoop's configuration
    query = ""
    if scheme in WEB:
        rest, mark, question = rest.partition("?")
        query = f"{mark}{question}"
    path = RemotePath(f"{scheme}:/{rest.lstrip('/')}")
    path.query = query
    return path


class RemotePath(PosixPath):
    """A Path whose reading methods ask the store, and whose writing methods refuse.

    str() leaves out a query, which may be a signature; `address` has it. Errors are
    OSErrors, as any Path's.
    """

    query = ""
    """With its question mark; of this object alone, no path made from it has it."""
    _entry: StoreEntry | None = None

    @property
    def address(self) -> str:
        """With what a server may want to see before it answers. For the driver; never
        shown.
        """
        return f"{self}{self.query}"

    @property
    def is_on_the_web(self) -> bool:
        """Whether a web server has it, which is not asked for what it may not have."""
        return self.parts[0].removesuffix(":") in WEB

    def entry(self) -> StoreEntry:
        """What the store says; asked once. Raises OSError, UsageError without a
        driver.
        """
        if self._entry is None or self._entry.size is None:
            self._entry = entry_of(self.address)
        return self._entry

    def files_below(self) -> list[RemotePath]:
        """Every object below this folder, by name. Raises as entry."""
        found = objects_below(self.address)
        return sorted(known(address, entry) for address, entry in found)

    def open_copy(self) -> io.BufferedReader:
        """The whole object as a file of this machine, fetched unless it is there
        already. Raises as entry.
        """
        from tfadvisor.trace.local_copies import open_copy  # no listing needs it

        return open_copy(str(self), self.address, self.entry())

    def __str__(self) -> str:
        """With the two slashes that a path would make one."""
        text = super().__str__()
        found = _COLLAPSED.fullmatch(text)
        if found is None:
            return text
        return f"{found[1]}://{found[2] or ''}"

    def __fspath__(self) -> str:
        """No file of this machine has this name."""
        return str(self)

    def __reduce__(self) -> Any:
        """What the store said goes along to other processes."""
        return known, (self.address, self._entry)

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Kind, size and time of the last change; of the rest nothing is known. Raises
        as entry.
        """
        entry = self.entry()
        times = [int(entry.modified)] * 3
        return os.stat_result((entry.mode(), 0, 0, 1, 0, 0, entry.size or 0, *times))

    def is_dir(self, **_: Any) -> bool:
        """Asked of the store only where the name does not tell: a web server knows no
        folders.
        """
        is_named_so = self.name.endswith(_FILE_ENDINGS)
        if self._entry is None and (self.is_on_the_web or is_named_so):
            return not is_named_so
        return stat.S_ISDIR(self._mode())

    def is_file(self, **_: Any) -> bool:
        """False also for what is not there."""
        return stat.S_ISREG(self._mode())

    def exists(self, **_: Any) -> bool:
        """Whether the store has it. Raises Refused and CutOff."""
        return self._mode() != 0

    def absolute(self) -> RemotePath:
        """Itself."""
        return self

    def resolve(self, strict: bool = False) -> RemotePath:
        """Itself."""
        return self

    def open(self, mode: str = "r", *_: Any, **settings: Any) -> IO[Any]:  # type: ignore[override]
        """A copy of the object, to be read. Raises as entry, and for any other mode."""
        import io

        if set(mode) - set("rbt"):
            self._refuse()
        file = self.open_copy()
        return file if "b" in mode else io.TextIOWrapper(file, **settings)

    def glob(self, pattern: str, **_: Any) -> Iterator[RemotePath]:  # type: ignore[override]
        """Objects below this folder whose rest of the path fits, `*` within one name.
        Raises as entry.
        """
        wanted = pattern.split("/")
        for file in self.files_below():
            names = file.parts[len(self.parts) :]
            if len(names) != len(wanted):
                continue
            if all(map(fnmatch.fnmatchcase, names, wanted)):
                yield file

    def mkdir(
        self,
        mode: int = 0o777,
        parents: bool = False,
        exist_ok: bool = False,
    ) -> NoReturn:
        """Raises OSError: nothing is written there."""
        self._refuse()

    def unlink(self, missing_ok: bool = False) -> NoReturn:
        """Raises OSError: nothing is written there."""
        self._refuse()

    def _mode(self) -> int:
        try:
            return self.entry().mode()
        except FileNotFoundError:
            return 0

    def _refuse(self) -> NoReturn:
        raise OSError(errno.EROFS, "tfadvisor only reads there", str(self))


def size_and_stamp(file: Path) -> tuple[int, object]:
    """Bytes of a file or object, and what changes with its content. Raises as entry."""
    if isinstance(file, RemotePath):
        entry = file.entry()
        return entry.size or 0, entry.tag
    status = os.stat(file)  # noqa: PTH116
    return status.st_size, status.st_mtime_ns


def known(address: str, entry: StoreEntry | None) -> RemotePath:
    """The path of an object that a store has listed already."""
    path = place_of(address)
    assert isinstance(path, RemotePath)
    path._entry = entry
    return path
