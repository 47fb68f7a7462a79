"""Nobody and nothing stays when this process ends, whatever ends it: a small process
waits for that and clears up after it.

It is run as a file and knows the standard library alone. What it reads are lines of
JSON: `["+", kind, *what]`, and "-" when it is no longer its business. Kinds: `remove` a
file or folder; `forget` a work tree: of which repository, which; `end` a program: its
process id, what the environment of its processes holds, after how many seconds it is
killed; `put back` what a program changed: the folder of its run, whether what it made
stays.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Iterator
    from typing import Any

_watched: dict[tuple[str | float, ...], None] = {}
_started: list[subprocess.Popen[bytes]] = []


def start() -> None:
    """Once; where the system has no signals, nothing."""
    if _started or os.name != "posix":
        return
    import subprocess

    null = subprocess.DEVNULL
    own_file = os.path.abspath(__file__)  # noqa: PTH100
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", own_file],
        stdin=subprocess.PIPE,
        stdout=null,
        stderr=null,
        cwd="/",
        start_new_session=True,
    )
    _started.append(process)
    for task in tuple(_watched):
        _tell("+", task)


@contextlib.contextmanager
def watched(*what: str | float) -> Iterator[None]:
    """What must not outlive this process, while this is inside: its kind and what
    belongs to that.
    """
    _watched[what] = None
    _tell("+", what)
    try:
        yield
    finally:
        _watched.pop(what, None)
        _tell("-", what)


def _tell(
    sign: str,
    what: tuple[str | float, ...],
) -> None:
    if _started and _started[0].stdin is not None:
        import json

        with contextlib.suppress(OSError, ValueError):
            _started[0].stdin.write(f"{sign}{json.dumps(what)}\n".encode())
            _started[0].stdin.flush()


def end_all(
    process: int,
    mark: str,
    grace_s: float = 0.0,
) -> None:
    """Ends a program, and all whose environment holds the mark, wherever they went.

    Without grace the program leads a group of its own, which ends with it.
    """
    if grace_s:
        _ask_to_end(process, mark, grace_s)
    else:
        with contextlib.suppress(OSError):
            os.killpg(process, signal.SIGKILL)

    for _ in range(3):  # some may be starting others now
        found = _marked(mark)
        for marked in found:
            _kill(marked, signal.SIGKILL)
        if not found:
            return


def _ask_to_end(
    process: int,
    mark: str,
    grace_s: float,
) -> None:
    """Where the system does not say who bears the mark, the program alone, which is
    killed when the time is over.
    """
    known = os.path.isdir("/proc/self")  # noqa: PTH112

    def alive() -> list[int]:
        if known:
            return _marked(mark)
        return [process] if _kill(process, 0) else []

    for marked in _marked(mark) if known else [process]:
        _kill(marked, signal.SIGTERM)
    until = time.monotonic() + grace_s
    while time.monotonic() < until and alive():
        time.sleep(0.05)
    if not known:
        _kill(process, signal.SIGKILL)


def put_back(folder: str, stays: float) -> None:
    """All files that a program changed, as `kept.jsonl` in the folder of its run has
    noted them, the first note of a path first. stays: whether what was not there
    before stays, else it goes. Raises nothing.
    """
    import json

    notes: dict[tuple[str, bool], dict[str, Any]] = {}
    with contextlib.suppress(OSError):
        for line in Path(folder, "kept.jsonl").read_bytes().splitlines():
            with contextlib.suppress(ValueError):  # the machine stopped meanwhile
                note = json.loads(line.decode("utf-8", "surrogatepass"))
                notes.setdefault((note["path"], "names" in note), note)

    for note in notes.values():
        with contextlib.suppress(OSError):
            _put_back(note)
    for note in () if stays else notes.values():
        path = note["path"]
        if note.keys() == {"path"}:
            remove(path)
        elif "names" in note and _is_folder(path):
            for name in set(os.listdir(path)).difference(note["names"]):  # noqa: PTH208
                remove(os.path.join(path, name))  # noqa: PTH118


def _put_back(note: dict[str, Any]) -> None:
    """What was there; nothing where nothing was."""
    import shutil

    path = Path(note["path"])
    if "is_folder" in note:
        path.mkdir(parents=True, exist_ok=True)
    if not {"kept", "link"} & note.keys():
        return

    path.parent.mkdir(parents=True, exist_ok=True)
    if _is_folder(note["path"]):
        shutil.rmtree(path)
    if "link" in note:
        path.unlink(missing_ok=True)
        path.symlink_to(note["link"])
        return
    kept = Path(note["kept"])
    os.truncate(kept, note["size"])  # appended to since
    os.utime(kept, ns=tuple(note["times"]))
    try:
        kept.replace(path)
    except OSError:  # on another disk
        shutil.copy2(kept, path)


def remove(name: str) -> None:
    """A file or a folder, also one that its owner may not write. Raises nothing."""
    import shutil

    def opened(
        _function: object,
        place: str,
        _error: object,
    ) -> None:
        with contextlib.suppress(OSError):
            for path in (os.path.dirname(place), place):  # noqa: PTH120
                if not os.path.islink(path):  # noqa: PTH114
                    os.chmod(path, 0o700)  # noqa: PTH101
            if _is_folder(place):
                shutil.rmtree(place, ignore_errors=True)
            else:
                os.unlink(place)  # noqa: PTH108

    with contextlib.suppress(OSError):
        if _is_folder(name):
            shutil.rmtree(name, onerror=opened)
        else:
            os.unlink(name)  # noqa: PTH108


def _is_folder(name: str) -> bool:
    """And no link to one."""
    return os.path.isdir(name) and not os.path.islink(name)  # noqa: PTH112, PTH114


def _kill(process: int, number: int) -> bool:
    """Whether it is there."""
    try:
        os.kill(process, number)
    except OSError:
        return False
    return True


def _marked(mark: str) -> list[int]:
    """Of this user, by /proc: nobody where there is none."""
    found = []
    wanted = f"={mark}\0".encode()
    if not os.path.isdir("/proc/self"):  # noqa: PTH112
        return []
    for name in os.listdir("/proc"):  # noqa: PTH208
        if name.isdecimal() and int(name) != os.getpid():
            with contextlib.suppress(OSError):
                if wanted in Path("/proc", name, "environ").read_bytes():
                    found.append(int(name))
    return found


def _clear_up(kind: str, *what: str) -> None:
    import subprocess

    if kind == "end":
        end_all(
            int(what[0]),
            what[1],
            float(what[2]),
        )
    elif kind == "put back":
        put_back(what[0], float(what[1]))
    elif kind == "remove":
        remove(what[0])
    elif kind == "forget":
        remove(what[1])
        null = subprocess.DEVNULL
        options = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"]
        with contextlib.suppress(OSError):
            subprocess.run(
                ["git", "-C", what[0], *options, "worktree", "prune"],
                stdin=null,
                stdout=null,
                stderr=null,
                check=False,
                timeout=60,
            )


def main() -> None:
    """Listens until whoever is watched is gone, and clears up: programs first, the last
    begun first.
    """
    import json

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    left: dict[str, None] = {}
    for line in sys.stdin.buffer:
        task = line[1:].decode().rstrip("\n")
        left.pop(task, None)
        if line[:1] == b"+":
            left[task] = None

    last_first = [json.loads(entry) for entry in reversed(left)]
    order = ("end", "put back", "forget", "remove")
    known = [entry for entry in last_first if entry[0] in order]
    for task in sorted(known, key=lambda entry: order.index(entry[0])):
        with contextlib.suppress(Exception):
            _clear_up(*task)


if __name__ == "__main__":
    main()
