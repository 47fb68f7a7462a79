"""Processes that work for this one and end with it, whatever ends it: each watches a
pipe, and Linux kills it as well.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import IO, Any, NamedTuple, NoReturn

_START = (
    "import sys; sys.path[:] = {paths!r}; from tfadvisor.processes import "
    "follow_parent; follow_parent({parent}); "
    "from {module} import main; main()"
)
"""Modules come from where ours do, whatever the working directory holds."""
_KILL_WITH_PARENT = 1
"""PR_SET_PDEATHSIG of <sys/prctl.h>."""
_LENGTH = 8
"""Bytes before each message: how many follow."""
_ENDING = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGALRM")
"""Signals that end a process, by their names: not each system has all."""


def start(
    module: str,
    stderr: IO[bytes] | None = None,
) -> subprocess.Popen[bytes]:
    """A process that runs `main` of a module, with pipes to its standard input and from
    its output.

    Ctrl+C in a terminal is for this process alone, which ends the other. Linux ties the
    other's life to the calling thread.
    """
    program = _START.format(
        paths=sys.path,
        parent=os.getpid(),
        module=module,
    )
    return subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        start_new_session=True,
    )


def follow_parent(parent: int) -> None:
    """Makes Linux kill this process when its parent ends; it ends at once where that is
    over already.

    parent: its process id. Where the system has no such service, the pipe on standard
    input is all that tells.
    """
    if sys.platform == "linux":
        import ctypes  # 10 ms

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(
                _KILL_WITH_PARENT,
                int(signal.SIGKILL),
                0,
                0,
                0,
            )
    if os.name == "posix" and os.getppid() != parent:
        os._exit(1)


def lives(process: int) -> bool:
    """Whether this machine has a process of this number, whoever's it is."""
    try:
        os.kill(process, 0)
    except OSError as error:
        return not isinstance(error, ProcessLookupError)
    return True


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """What must be done whole: signals that would end this process come when it is.
    Other threads never get any.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    came: list[int] = []

    def keep(number: int, _frame: object) -> None:
        came.append(number)

    before = {}
    for number in _ending_signals():
        before[number] = signal.signal(number, keep)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
        for number in came:
            signal.raise_signal(number)


def _ending_signals() -> Iterator[int]:
    for name in _ENDING:
        number = getattr(signal, name, None)
        if number is not None:
            yield number


class _Copy(NamedTuple):
    """A copy of this process, with what a worker needs of subprocess.Popen."""

    process: int
    stdin: IO[bytes]
    stdout: IO[bytes]

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.process, signal.SIGKILL)

    def wait(self) -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.process, 0)


def _has_one_thread() -> bool:
    """Whether a copy of this process would be whole; False where the system does not
    say.
    """
    try:
        return len(os.listdir("/proc/self/task")) == 1  # noqa: PTH208
    except OSError:
        return False


def _copy(module: str) -> _Copy:
    """As `start`, without a new interpreter: what this process has imported, compiled
    and worked out is there.
    """
    parent = os.getpid()
    asked, tasks = os.pipe()
    answers, answered = os.pipe()
    process = os.fork()
    if not process:
        _run_as_copy(module, parent, asked, answered)
    os.close(asked)
    os.close(answered)
    return _Copy(process, os.fdopen(tasks, "wb"), os.fdopen(answers, "rb"))


def _run_as_copy(module: str, parent: int, asked: int, answered: int) -> NoReturn:
    """Runs `main` with the pipes in place of standard input and output, and nothing
    else of the parent's open, no signal heeded as it does.
    """
    try:
        os.setsid()
        for number in _ending_signals():
            signal.signal(number, signal.SIG_DFL)
        os.dup2(asked, 0)
        os.dup2(answered, 1)
        for name in os.listdir("/proc/self/fd"):  # noqa: PTH208
            if int(name) > 2:
                with contextlib.suppress(OSError):  # what listed them
                    os.close(int(name))
        follow_parent(parent)
        import_module(module).main()
    finally:
        os._exit(1)


class Worker:
    """A process that answers tasks one by one, in the module's `main` by
    `answer_tasks`.
    """

    def __init__(self, module: str) -> None:
        """Starts it: a copy of this process where that has no other thread."""
        self._process = _copy(module) if _has_one_thread() else start(module)

    def ask(self, task: object) -> object:
        """The answer to a task, waited for. Raises what the task raised, EOFError when
        the process ended instead.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            _send(self._process.stdin, task)
        except BrokenPipeError as error:
            raise EOFError from error
        raised, answer = _receive(self._process.stdout)
        if raised:
            raise answer
        return answer

    def end(self) -> None:
        """Kills the process, whatever it does, and waits until it is gone."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # what could not be written any more
                    pipe.close()


class Replaced:
    """A worker and, after it was killed, the next one: a task that has nothing to do
    with it is not lost.
    """

    def __init__(
        self,
        worker: Callable[[], Worker],
        tries: int = 2,
    ) -> None:
        """worker: starts one. tries: how many may be killed at one task."""
        self._start = worker
        self._tries = tries
        self._lock = threading.Lock()
        self._ended = False
        self._worker = worker()

    def ask(self, task: object) -> object:
        """As Worker; EOFError when each of several was killed."""
        for _ in range(self._tries - 1):
            try:
                return self._worker.ask(task)
            except EOFError:
                with self._lock:
                    if self._ended:
                        raise
                    self._worker.end()
                    self._worker = self._start()
        return self._worker.ask(task)

    def end(self) -> None:
        """As Worker; no other is started any more."""
        with self._lock:
            self._ended = True
            self._worker.end()


def answer_tasks(answer: Callable[[Any], object]) -> None:
    """The worker's side: answers what it is asked until it is told to end, or whoever
    asked is gone. Never returns.
    """
    import queue

    asked = os.fdopen(0, "rb", closefd=False)
    # What libraries print must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    tasks: queue.SimpleQueue[object] = queue.SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(BaseException):
            while True:
                tasks.put(_receive(asked))
        os._exit(0)

    threading.Thread(target=listen, daemon=True).start()
    while True:
        task = tasks.get()
        try:
            told = (False, answer(task))
        except Exception as error:
            told = (True, error)
        _send(answers, told)


def _send(
    pipe: IO[bytes],
    message: object,
) -> None:
    data = pickle.dumps(message)
    pipe.write(len(data).to_bytes(_LENGTH, "little"))
    pipe.write(data)
    pipe.flush()


def _receive(pipe: IO[bytes]) -> Any:
    """The next message. Raises EOFError when the other side ended before it was
    whole.
    """
    head = pipe.read(_LENGTH)
    length = int.from_bytes(head, "little")
    data = pipe.read(length)
    if len(head) < _LENGTH or len(data) < length:
        raise EOFError
    return pickle.loads(data)
