"""The program's files as they were before this run: each that the program opens for
writing, renames or removes is kept first, and noted, so that the parent can put it
back.

What Python itself does to files is seen by an audit hook; what libraries do in C++ by
their functions: TensorFlow's file system, its checkpoints, HDF5.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable, Mapping
from typing import Any

from .program_parts import around

_FOLDER, _NOTES = "kept", "kept.jsonl"
"""In the folder of the run."""
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_LEFT_ALONE = ("/dev/", "/proc/", "/sys/")
_CACHE = f"{os.sep}__pycache__{os.sep}"
REPLACED, CHANGED, GROWN, MOVED = "replaced", "changed", "grown", "moved"
"""What is done to a path: written anew, changed in its place, written to at its end, or
given another name or none.
"""
_MOST_IN_FOLDER = 10_000
_FREE_BYTES = 1 << 30
"""That a copy leaves on the disk."""
_DATABASE = ("", "-wal", "-shm", "-journal")


class KeptFiles:
    """Notes each path once: that nothing was there, or what was."""

    def __init__(self, folder: str, strict: bool) -> None:
        """folder: of the run. strict: what cannot be kept is not changed either, and
        the program gets an error."""
        self._folder = os.path.realpath(folder)
        self._strict = strict
        self._known: set[str] = set()
        self._lock = threading.RLock()
        self._inside = threading.local()

    def start(self) -> None:
        """From now on, and for good: Python lets go of no audit hook."""
        os.makedirs(os.path.join(self._folder, _FOLDER), exist_ok=True)
        sys.addaudithook(self._audit)

    def after_import(self) -> list[tuple[str, Callable[[Any], None]]]:
        """By module, what is done once it is imported."""
        keeps = {
            "tensorflow.python.lib.io.file_io": self._files_of_tensorflow,
            "tensorflow.python.checkpoint.checkpoint": self._checkpoints,
            "tensorflow.python.saved_model.save": self._saved_models,
            "tensorflow.python.ops.summary_ops_v2": self._summaries,
            "h5py._hl.files": self._hdf5,
        }
        return list(keeps.items())

    def _audit(self, event: str, given: tuple[Any, ...]) -> None:
        keep = _EVENTS.get(event)
        if keep is None or getattr(self._inside, "now", False):
            return
        self.guarded(keep, given)

    def guarded(
        self,
        keep: Callable[[KeptFiles, tuple[Any, ...]], None],
        given: tuple[Any, ...],
    ) -> None:
        """Raises OSError where strict."""
        self._inside.now = True
        try:
            with self._lock:
                keep(self, given)
        except FileNotFoundError:  # gone meanwhile
            return
        except OSError:
            if self._strict:
                raise
        except Exception:  # of a path that is none: the program's own call says so
            return
        finally:
            self._inside.now = False

    def keep(
        self,
        given: Any,
        how: str,
        *,
        folder: int = -1,
    ) -> None:
        """Before something is done to a path. folder: a descriptor that it is relative
        to.
        """
        path = _absolute(given, folder, follow=how != MOVED)
        if not self._is_left_alone(path):
            self._keep(path, how)

    def _is_left_alone(self, path: str) -> bool:
        inside = path.startswith(os.path.join(self._folder, ""))
        return inside or path.startswith(_LEFT_ALONE) or _CACHE in path

    def _keep(self, path: str, how: str) -> None:
        try:
            status = os.lstat(path)
        except FileNotFoundError:
            if path not in self._known:
                self._note(path)
            return
        except OSError:  # the program's own call says what is wrong
            return

        kind = stat.S_IFMT(status.st_mode)
        if kind == stat.S_IFREG and os.access(path, os.W_OK):
            self._keep_file(path, status, how)
        elif path in self._known:
            return
        elif kind == stat.S_IFDIR and how == MOVED:
            self.keep_folder(path, MOVED)
        elif kind == stat.S_IFLNK:
            self._note(path, link=os.readlink(path))

    def keep_folder(self, path: str, how: str) -> None:
        """With all that is in it."""
        self._note(path, is_folder=True)
        count = 0
        for place, folders, names in os.walk(path):
            for name in (*folders, *names):
                count += 1
                if count > _MOST_IN_FOLDER:
                    raise OSError(f"{path} holds too many files to keep them")
                inner = os.path.join(place, name)
                if name in folders and not os.path.islink(inner):
                    self._note(inner, is_folder=True)
                else:
                    self.keep(inner, how)

    def _keep_file(
        self,
        path: str,
        status: os.stat_result,
        how: str,
    ) -> None:
        """By another link to it, or a copy of what is changed in its place."""
        linked = status.st_nlink > 1
        if path not in self._known:
            linked = self._linked_or_copied(path, status, how) or linked
        if not linked:
            return
        # the kept one is this very file, which is to stay as it is
        if how == REPLACED:
            os.unlink(path)
        elif how == CHANGED:
            _put_copy_in_place(path)

    def _linked_or_copied(
        self,
        path: str,
        status: os.stat_result,
        how: str,
    ) -> bool:
        """Whether it is a link."""
        name = f"{os.getpid()}-{len(self._known)}"
        kept = os.path.join(self._folder, _FOLDER, name)
        linked = False
        if how != CHANGED:
            with contextlib.suppress(OSError):  # on another disk, or no links there
                os.link(path, kept)
                linked = True
        if not linked:
            free = shutil.disk_usage(self._folder).free
            if free - status.st_size < _FREE_BYTES:
                raise OSError(errno.ENOSPC, "no room to keep the file as it is", path)
            shutil.copy2(path, kept)
        times = [status.st_atime_ns, status.st_mtime_ns]
        self._note(path, kept=kept, size=status.st_size, times=times)
        return linked

    def keep_names(self, given: Any) -> None:
        """Before a library adds files to a folder: the names that are there."""
        path = _absolute(given, -1, follow=True)
        if not os.path.isdir(path):
            self.keep(path, MOVED)
        elif f"{path}{os.sep}" not in self._known:
            self._known.add(f"{path}{os.sep}")
            self._note(path, names=os.listdir(path))

    def _note(self, path: str, **what: Any) -> None:
        self._known.add(path)
        line = json.dumps({"path": path, **what}) + "\n"
        notes = os.open(
            os.path.join(self._folder, _NOTES),
            os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0),
            0o600,
        )
        try:
            os.write(notes, line.encode("utf-8", "surrogatepass"))
        finally:
            os.close(notes)

    def _around(
        self,
        owner: Any,
        name: str,
        keep: Callable[..., None],
    ) -> None:
        """keep: what is done before the function is called, with what it is given."""

        def do(original: Any, *given: Any, **named: Any) -> Any:
            self.guarded(lambda _, given: keep(*given, **named), given)
            return original(*given, **named)

        if hasattr(owner, name):
            around(owner, name, do)

    def _files_of_tensorflow(self, module: Any) -> None:
        def open(_made: Any, name: Any, mode: str = "r", **_: Any) -> None:
            if mode[:1] != "r" or "+" in mode:
                self.keep(name, GROWN if mode[:1] == "a" else CHANGED)

        def remove(path: Any, **_: Any) -> None:
            self.keep(path, MOVED)

        def make(path: Any, **_: Any) -> None:
            _made(self, (path, -1))

        def move(src: Any, dst: Any, *_: Any, **__: Any) -> None:
            self.keep(src, MOVED)
            self.keep(dst, CHANGED)

        self._around(module.FileIO, "__init__", open)
        for name in ("delete_file_v2", "delete_recursively_v2"):
            self._around(module, name, remove)
        for name in ("rename_v2", "copy_v2"):
            self._around(module, name, move)
        self._around(module, "recursive_create_dir_v2", make)

    def _checkpoints(self, module: Any) -> None:
        def save(_saver: Any, file_prefix: Any, *_: Any, **__: Any) -> None:
            prefix = os.path.abspath(os.fspath(file_prefix))
            folder = os.path.dirname(prefix)
            self.keep_names(folder)
            for name in os.listdir(folder):
                if name.startswith(os.path.basename(prefix)):
                    self.keep(os.path.join(folder, name), CHANGED)

        self._around(module.TrackableSaver, "save", save)

    def _saved_models(self, module: Any) -> None:
        def save(_model: Any, export_dir: Any, *_: Any, **__: Any) -> None:
            if os.path.isdir(export_dir):
                self.keep_folder(os.path.realpath(export_dir), CHANGED)
            self.keep_names(export_dir)

        self._around(module, "save", save)

    def _hdf5(self, module: Any) -> None:
        def open(_made: Any, name: Any, mode: str = "r", *_: Any, **__: Any) -> None:
            if mode != "r":
                self.keep(name, REPLACED if mode == "w" else CHANGED)

        self._around(module.File, "__init__", open)

    def _summaries(self, module: Any) -> None:
        def create(logdir: Any, *_: Any, **__: Any) -> None:
            self.keep_names(logdir)

        self._around(module, "create_file_writer_v2", create)


def _absolute(given: Any, folder: int, *, follow: bool) -> str:
    """Raises TypeError and ValueError for what is no path of this machine."""
    text = os.fsdecode(given)
    if "://" in text or "\0" in text:
        raise ValueError(text)
    if folder >= 0:
        text = os.path.join(os.readlink(f"/proc/self/fd/{folder}"), text)
    if follow:
        return os.path.realpath(text)
    place, name = os.path.split(os.path.abspath(text))
    return os.path.join(os.path.realpath(place), name)


def _put_copy_in_place(path: str) -> None:
    copy = f"{path}.tfadvisor-copy"
    shutil.copy2(path, copy)
    os.replace(copy, path)


# What Python says before it does something, and which paths that is about.


def _open(kept: KeptFiles, given: tuple[Any, ...]) -> None:
    path, _, flags = given
    if isinstance(path, int) or not flags & _WRITING:
        return
    makes_anew = os.O_TRUNC | os.O_CREAT
    how = GROWN if flags & os.O_APPEND else CHANGED
    kept.keep(path, REPLACED if flags & makes_anew == makes_anew else how)


def _moved(kept: KeptFiles, given: tuple[Any, ...]) -> None:
    """`os.remove`, `os.rmdir`."""
    kept.keep(given[0], MOVED, folder=given[-1])


def _made(kept: KeptFiles, given: tuple[Any, ...]) -> None:
    """`os.mkdir`, of a folder that is not there."""
    path = _absolute(given[0], given[-1], follow=False)
    if not os.path.lexists(path):
        kept.keep(path, MOVED)


def _renamed(kept: KeptFiles, given: tuple[Any, ...]) -> None:
    kept.keep(given[0], MOVED, folder=given[2])
    kept.keep(given[1], MOVED, folder=given[3])


def _linked(kept: KeptFiles, given: tuple[Any, ...]) -> None:
    """`os.symlink`, `os.link`."""
    kept.keep(given[1], MOVED, folder=given[-1])


def _cut(kept: KeptFiles, given: tuple[Any, ...]) -> None:
    if not isinstance(given[0], int):
        kept.keep(given[0], CHANGED)


def _database(kept: KeptFiles, given: tuple[Any, ...]) -> None:
    name = os.fsdecode(given[0])
    if name not in ("", ":memory:") and not name.startswith("file:"):
        for ending in _DATABASE:
            kept.keep(f"{name}{ending}", CHANGED)


_EVENTS: Mapping[str, Callable[[KeptFiles, tuple[Any, ...]], None]] = {
    "open": _open,
    "os.remove": _moved,
    "os.rmdir": _moved,
    "os.mkdir": _made,
    "os.rename": _renamed,
    "os.symlink": _linked,
    "os.link": _linked,
    "os.truncate": _cut,
    "sqlite3.connect": _database,
}
