"""The thread in the recorded process: tells what it sees, records when it is asked to,
leaves when all is done.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import sys
import threading
import time
from _thread import start_new_thread
from typing import Any

from .compilations import Compilations
from .giving_way import GROWTH_BYTES, GivingWay, Memory
from .letters import read_letter, write_letter
from .machine_counters import VERSION, available_bytes, reading, settings
from .main_thread import Errand, all_sleep
from .own_ops import own_ops
from .own_sources import own_sources
from .rounds import LOOK_SECONDS, RoundCounter
from .tracers import holds_gpu, tracer_for, uses_cuda

FRAMEWORKS = ("jax", "tensorflow")
"""In the order in which a process with both is recorded: JAX programs often read their
input with TensorFlow.
"""
EVERY_SECONDS = 0.05
_READING_SECONDS = 5.0
_PARENT_EVERY = 100  # rounds, 5 s
_PROBE_SECONDS = 0.03
_OWN_PROFILER = "the program began to record itself"
_SLEEP_SECONDS = 2.0
"""For which it is waited for a moment when all threads of the program sleep."""
_NO_MOMENT = (
    "its main thread came to no line between two steps, nor did all of its threads "
    "sleep, and CUDA's profiler may harm a program that it starts in the midst of "
    "launches"
)
_FAILED = "the profiler failed, as it says above; it is not started again"
_WITHOUT_GPU = (
    "recording failed in CUPTI, CUDA's profiler; it is not started again. The program "
    "goes on, and may be harmed"
)
_MORE_GROWTH = 4
"""Times, each time that it was the program's own: the trace was small."""
_LITTLE_BYTES, _MOST_BYTES = 1 << 20, 6 << 20
"""Of a trace: from a short window that holds less nothing is to be feared, and a first
one shall hold no more.
"""


class Recorder:
    """What one process knows: itself, its framework, its compilations, the order that
    it follows.
    """

    def __init__(
        self,
        folder: str,
        *,
        forked: bool,
    ) -> None:
        """folder: where orders and answers lie. forked: the process began as a copy of
        one that had a framework.
        """
        self.folder = folder
        self.pid = os.getpid()
        self.name = f"{socket.gethostname()}-{self.pid}-{time.time_ns()}"
        self.compilations = Compilations()
        self.leaving = threading.Event()
        self.finished = threading.Event()
        self.way: GivingWay | None = None
        self.state: dict[str, Any] = {
            "name": self.name,
            "pid": self.pid,
            "host": socket.gethostname(),
            "forked": forked,
            "frameworks": {},
            "compiled": 0,
            "last_compiled": None,
            "windows": {},
            "left": False,
        }
        self.written: dict[str, Any] = {}
        self.done = 0
        self.ordered = 0
        """When the last order came, as the system has it."""
        self.settled_ns = 0
        """When it had compiled what was needed before the first window, ns since the
        epoch.
        """
        self.broken = ""
        """Why no profiler is started any more."""
        self.rounds = RoundCounter()
        self.own_bytes = 0
        """The most that the process held while no profiler did, since its rounds were
        counted first.
        """
        self.growth_bytes = GROWTH_BYTES
        """By how much the process may grow beyond that in a window, as far as the
        machine has it.
        """
        self.errand: Errand | None = None
        self.at_work: list[tuple[int, int]] = []
        """From when to when a profiler was, ns since the epoch."""

    def follow(self) -> None:
        """The thread. Every failure inside is told to the parent and ends it."""
        try:
            atexit.register(self.leave)
            rounds = 0
            while not self.leaving.wait(EVERY_SECONDS):
                rounds += 1
                if rounds % _PARENT_EVERY == 0 and not self.parent_lives():
                    break
                self.look()
                if not self.obey(self.new_order()):
                    break
                self.tell()
            self.state["left"] = True
            self.tell()
        except Exception as error:
            self.fail(error)
        finally:
            self.compilations.close()
            self.finished.set()

    def look(self) -> None:
        """Which frameworks are imported by now, and how often and when they
        compiled.
        """
        for name in FRAMEWORKS:
            module = sys.modules.get(name)
            is_new = module is not None and name not in self.state["frameworks"]
            if is_new and _is_ready(module):
                self.compilations.watch(name)
                version = str(getattr(module, "__version__", ""))
                known = {"version": version, "ready": time.time()}
                self.state["frameworks"][name] = known
        self.compilations.look()
        self.state["compiled"] = self.compilations.count
        self.state["last_compiled"] = self.compilations.last

    def tell(self) -> None:
        """Writes what has changed since the last time, with a time for how long nothing
        has.
        """
        if self.state["frameworks"] and self.state != self.written:
            write_letter(self.file(f"process-{self.name}.json"), self.state)
            self.written = dict(self.state)
            self.written["windows"] = dict(self.state["windows"])
            self.written["frameworks"] = dict(self.state["frameworks"])

    def file(self, name: str) -> str:
        """Where orders and answers lie."""
        return os.path.join(self.folder, name)

    def new_order(self) -> dict[str, Any] | None:
        """None where there is none since the last one. A file is opened only then:
        programs watch over what is opened in them.
        """
        file = self.file("order.json")
        try:
            changed = os.stat(file).st_mtime_ns
        except OSError:
            return None
        if changed == self.ordered:
            return None
        self.ordered = changed
        return read_letter(file)

    def obey(self, order: dict[str, Any] | None) -> bool:
        """Does what is new in the order. False when there is nothing more to do."""
        if order is None:
            return os.path.isdir(self.folder)
        if order.get("end"):
            if order["end"] == "stop":
                os.kill(self.pid, signal.SIGTERM)
            return False
        if order["number"] > self.done and self.name in order["processes"]:
            self.done = order["number"]
            do = self.count if order.get("only_rounds") else self.record
            self.state["windows"][str(self.done)] = do(order)
        return True

    def count(self, order: dict[str, Any]) -> dict[str, Any]:
        """How long a round of the main thread's loop takes while nothing is
        recorded, and how much memory it needs: a batch may come and go in each.
        """
        self.rounds = RoundCounter()
        until = time.monotonic() + order["least_seconds"]
        with Memory(self.own_bytes) as memory:
            loop = self.rounds.count(order["seconds"], self.leaving, memory.look)
            while time.monotonic() < until and not self.leaving.wait(LOOK_SECONDS):
                memory.look()
        self.own_bytes = memory.most_bytes
        return {"loop": loop}

    def record(self, order: dict[str, Any]) -> dict[str, Any]:
        """One window: how long it was open, or why it could not be."""
        framework = self.framework()
        if self.broken:
            return {"framework": framework, "error": self.broken, "last": True}
        try:
            window = self.window(framework, order)
        except Exception as error:
            window = {"error": self.broken or f"{type(error).__name__}: {error}"}
        return {"framework": framework, "last": bool(self.broken), **window}

    def framework(self) -> str:
        """What is recorded. JAX without a device computes nothing: Keras imports it
        wherever it is installed.
        """
        for name in FRAMEWORKS:
            if self.compilations.of(name):
                return name
        imported = self.state["frameworks"]
        return next(name for name in reversed(FRAMEWORKS) if name in imported)

    def window(
        self,
        framework: str,
        order: dict[str, Any],
    ) -> dict[str, Any]:
        """Opens one, closes it, and leaves its files."""
        name = f"window-{order['number']}-{self.name}"
        file = self.file(f"{name}.xplane.pb")
        looked, tracer = time.time(), tracer_for(framework, file)
        # It has compiled what it needs by now, or compiles all the time.
        compiled = self.compilations.last or looked
        self.settled_ns = self.settled_ns or int(compiled * 1e9)
        with GivingWay() as self.way:
            seconds = order["seconds"]
            if order.get("first"):
                seconds = min(seconds, self.bearable(framework, file))
            if self.way.given:
                return {"error": _OWN_PROFILER}

            # A program that ends meanwhile forgets its modules.
            sources = own_sources()
            begun, before, after = time.time(), reading(), {}
            closes, is_read = threading.Event(), threading.Event()

            def read() -> None:
                closes.wait()
                after.update(reading())
                is_read.set()

            # Meanwhile: on a machine that others load it takes half a second, in which
            # a million events may come. A program that ends starts no thread any more.
            start_new_thread(read, ())
            try:
                session = self.called(framework, tracer.starting(order))
                written = {"begun": begun, **self.open_for(seconds, tracer)}
            finally:
                closes.set()
            written["closed"] = time.time()
            self.stop(framework, tracer, session, file)
            if written["cut"] and os.path.getsize(file) <= _MOST_BYTES:
                written["cut"] = "program"
                self.growth_bytes *= _MORE_GROWTH
            written.update(file=os.path.basename(file), stopped=time.time())
            is_read.wait(_READING_SECONDS)
        if self.way.given:
            return {"error": _OWN_PROFILER}
        ops = own_ops() if framework == "tensorflow" else {}
        if ops.get("ops"):
            write_letter(self.file(f"{name}.ops.json"), ops)
            written["stopped"] = time.time()

        counters = {"version": VERSION, "opened": before, "closed": after}
        counters["settings"] = settings()
        write_letter(self.file(f"{name}.machine.json"), counters)
        self.at_work.append((int(looked * 1e9), int(written["stopped"] * 1e9)))
        written["recorded_ns"] = list(self.at_work)
        written["settled_ns"] = self.settled_ns
        write_letter(self.file(f"{name}.sources.json"), sources)
        return written

    def open_for(
        self,
        seconds: float,
        tracer: Any,
    ) -> dict[str, Any]:
        """Records for so long, unless the program begins to record itself, or ends, or
        the process grows too much.
        """
        way: Any = self.way
        opened = time.time()
        compiled, compiling = self.compilations.count, self.compilations.seconds
        with Memory(self.own_bytes) as memory:
            # A session that stops needs three times as much once more.
            bearable = memory.bytes + available_bytes() // 4
            most = min(memory.most_bytes + self.growth_bytes, bearable)
            cut = way.wait(seconds, self.leaving, self.compilations.look, memory, most)
        return {
            "opened": opened,
            "compiled": self.compilations.count - compiled,
            "compiling": self.compilations.seconds - compiling,
            "cut": cut,
            "calls": tracer.has_calls,
        }

    def bearable(
        self,
        framework: str,
        file: str,
    ) -> float:
        """How many seconds a window may last, by what very short ones hold: what is the
        same in both, as a program's HLO, does not grow. A program that is inside one
        compiled call may make millions of events a second.
        """
        seconds, sizes = [], []
        for wanted in (_PROBE_SECONDS, 2 * _PROBE_SECONDS):
            lasted, size = self.probe(framework, file, wanted)
            seconds.append(lasted)
            sizes.append(size)
            if size <= _LITTLE_BYTES or self.way_over().is_set():
                return 1e9

        more_bytes = sizes[1] - sizes[0]
        more_seconds = max(seconds[1] - seconds[0], 1e-3)
        growth = more_bytes / more_seconds
        return max(_MOST_BYTES / max(growth, 1.0), _PROBE_SECONDS)

    def probe(
        self,
        framework: str,
        file: str,
        wanted: float,
    ) -> tuple[float, int]:
        """(how long a very short window was, how many bytes its trace has)."""
        tracer = tracer_for(framework, file)
        session = self.called(framework, tracer.starting({"python_tracer": False}))
        opened = time.monotonic()
        self.way_over().wait(wanted)
        lasted = time.monotonic() - opened
        self.stop(framework, tracer, session, file)
        size = os.path.getsize(file)
        os.remove(file)
        return lasted, size

    def called(self, framework: str, errand: Errand, *, is_open: bool = False) -> Any:
        """What starting or stopping a profiler returns. The main thread calls it, which
        is in no call of the framework then; this one where it cannot come to that.
        is_open: the profiler must be stopped. Raises RuntimeError.
        """
        self.errand, in_vain = errand, self.way_over()
        if not in_vain.is_set():  # else a thread of the program waits for this one
            code, seconds = self.rounds.code, self.rounds.patience_seconds
            if errand.is_made(code, seconds, in_vain):
                if errand.results:
                    return errand.results[0]
                self.broken = _FAILED
                raise RuntimeError(_FAILED)
            is_safe = not uses_cuda(framework) or all_sleep(_SLEEP_SECONDS, in_vain)
            if not is_safe and not is_open:
                raise RuntimeError(_NO_MOMENT)
        return errand.made_here()

    def stop(self, framework: str, tracer: Any, session: Any, file: str) -> None:
        """Leaves the trace. Raises RuntimeError where the profiler had not started, of
        which frameworks only print something.
        """
        stopping = tracer.stopping(session)
        tracer.write(self.called(framework, stopping, is_open=True), file)
        if uses_cuda(framework) and not holds_gpu(file):
            self.broken = _WITHOUT_GPU
            os.remove(file)
            raise RuntimeError(self.broken)

    def forked(self) -> None:
        """Nothing is left to do in a process that is a copy of this one."""
        if self.errand is not None:
            self.errand.forget()
        if self.way is not None:
            self.way.put_back()

    def way_over(self) -> threading.Event:
        """Set once the program begins to record itself, or ends."""
        return self.way.over if self.way is not None else self.leaving

    def parent_lives(self) -> bool:
        """Whether `tfadvisor run` is still there, as far as this machine can tell."""
        parent = read_letter(self.file("parent.json"))
        if parent is None or parent["host"] != self.state["host"]:
            return os.path.isdir(self.folder)
        try:
            os.kill(parent["pid"], 0)
        except ProcessLookupError:
            return False
        except OSError:
            return True
        return True

    def leave(self) -> None:
        """The program ends: what is being recorded is written first."""
        if os.getpid() == self.pid:
            self.leaving.set()
            if self.way is not None:
                self.way.over.set()
            self.finished.wait(60)

    def fail(self, error: Exception) -> None:
        """One line for the parent to print."""
        try:
            self.state["error"] = f"{type(error).__name__}: {error}"
            self.tell()
        except Exception:
            return  # the folder is gone: nobody listens any more


def _is_ready(module: Any) -> bool:
    return not getattr(getattr(module, "__spec__", None), "_initializing", False)
