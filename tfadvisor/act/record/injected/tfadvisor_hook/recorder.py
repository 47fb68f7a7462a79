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
from typing import Any

from .compiling import Compilations
from .giving_way import GivingWay
from .letters import read_letter, write_letter
from .machine import VERSION, reading, settings
from .sampling import Sampler
from .tracers import tracer_for

FRAMEWORKS = ("jax", "tensorflow")
"""In the order in which a process with both is recorded: JAX programs often read their
input with TensorFlow.
"""
EVERY_SECONDS = 0.05
_PARENT_EVERY = 100  # rounds, 5 s
_PROBE_SECONDS = 0.03
_OWN_PROFILER = "the program began to record itself"
_LITTLE_BYTES, _MOST_BYTES = 1 << 20, 6 << 20
"""Of a trace: from a short window that holds less nothing is to be feared, and a first
one shall hold no more.
"""


class Recorder:
    """What one process knows: itself, its framework, its compilations, the order that
    it follows.
    """

    def __init__(self, folder: str, *, forked: bool) -> None:
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
        self.sampler = Sampler()
        self.round_ms = 0.0
        self.rounds_ns: list[int] = []
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
        self.told: dict[str, Any] = {}
        self.done = 0
        self.opened = 0.0
        """When the last one opened and closed, seconds since the epoch."""

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
                if not self.obey(read_letter(os.path.join(self.folder, "order.json"))):
                    break
                self.tell()
            self.state["left"] = True
            self.tell()
        except Exception as error:
            self.fail(error)
        finally:
            self.sampler.stop()
            self.compilations.close()
            self.finished.set()

    def look(self) -> None:
        """Which frameworks are imported by now, and how often and when they
        compiled.
        """
        for name in FRAMEWORKS:
            module = sys.modules.get(name)
            if (
                module is not None
                and name not in self.state["frameworks"]
                and _is_ready(module)
            ):
                self.compilations.watch(name)
                self.state["frameworks"][name] = {
                    "version": str(getattr(module, "__version__", "")),
                    "ready": time.time(),
                }
        self.compilations.look()
        self.state["compiled"] = self.compilations.count
        self.state["last_compiled"] = self.compilations.last

    def tell(self) -> None:
        """Writes what has changed since the last time, with a time for how long nothing
        has.
        """
        if self.state["frameworks"] and self.state != self.told:
            write_letter(
                os.path.join(self.folder, f"process-{self.name}.json"), self.state
            )
            self.told = {
                **self.state,
                "windows": dict(self.state["windows"]),
                "frameworks": dict(self.state["frameworks"]),
            }

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
            answer = (
                self.count(order) if order.get("only_rounds") else self.record(order)
            )
            self.state["windows"][str(self.done)] = answer
        return True

    def count(self, order: dict[str, Any]) -> dict[str, Any]:
        """How long a round of the main thread's loop takes while nothing is recorded;
        after a window, with more samples first.
        """
        if order["sampled_seconds"]:
            self.leaving.wait(self.sampler.lacks(order["sampled_seconds"]))
        else:
            self.sampler.forget()
        loop = self.sampler.count_rounds(order["seconds"], self.leaving)
        if not order[
            "sampled_seconds"
        ]:  # a window's round is that before it: another loop may follow
            self.round_ms = loop["median_ms"] if loop else 0.0
        else:
            samples = os.path.join(
                self.folder, f"rounds-{order['number']}-{self.name}.samples.json"
            )
            write_letter(samples, self.samples(order))
        return {"loop": loop, "inside": self.sampler.inside, "why": self.sampler.why}

    def samples(self, order: dict[str, Any]) -> dict[str, Any]:
        """What lies beside a window's trace."""
        told = self.sampler.told(self.opened)
        return {
            **told,
            "step": order.get("step", ""),
            "round_ms": self.round_ms,
            "rounds_ns": self.rounds_ns,
        }

    def record(self, order: dict[str, Any]) -> dict[str, Any]:
        """One window: how long it was open, or why it could not be."""
        framework = next(
            (name for name in FRAMEWORKS if self.compilations.of(name)), None
        )
        # JAX without a device computes nothing: Keras imports it wherever it is
        # installed
        framework = framework or next(
            name for name in reversed(FRAMEWORKS) if name in self.state["frameworks"]
        )
        file = os.path.join(
            self.folder, f"window-{order['number']}-{self.name}.xplane.pb"
        )
        try:
            looked, tracer = time.time(), tracer_for(framework, file)
            with GivingWay() as self.way:
                seconds = min(
                    order["seconds"],
                    self.bearable(framework, file) if order.get("rounds") else 1e9,
                )
                if self.way.given:
                    return {"framework": framework, "error": _OWN_PROFILER}
                begun, before, after = time.time(), reading(self.root()), {}
                tracer.start(order)
                opened = time.time()
                compiled, compiling = self.compilations.count, self.compilations.seconds
                loop, until = None, time.monotonic() + seconds
                if order.get("rounds"):
                    loop = self.sampler.count_rounds(
                        seconds, self.way.over, least=seconds, late=0.0
                    )
                self.rounds_ns = self.sampler.rounds_ns if loop else []
                cut = self.way.wait(until - time.monotonic(), self.leaving)
                compiled = self.compilations.count - compiled
                compiling = self.compilations.seconds - compiling
                # beside: on a machine that others load it takes half a second, in which
                # a million events may come
                reader = threading.Thread(
                    target=lambda: after.update(reading(self.root())), daemon=True
                )
                reader.start()
                written = _written(tracer, file)
                reader.join()
            if self.way.given:
                return {"framework": framework, "error": _OWN_PROFILER}
            counters = os.path.join(
                self.folder, f"window-{order['number']}-{self.name}.machine.json"
            )
            write_letter(
                counters,
                {
                    "version": VERSION,
                    "opened": before,
                    "closed": after,
                    "settings": settings(),
                },
            )
            samples = os.path.join(
                self.folder, f"window-{order['number']}-{self.name}.samples.json"
            )
            self.opened = opened
            self.sampler.recorded.append(
                [int(looked * 1e9), int(written["stopped"] * 1e9)]
            )
            write_letter(samples, self.samples(order))
            written.update(
                begun=begun,
                opened=opened,
                compiled=compiled,
                compiling=compiling,
                cut=cut,
                loop=loop,
            )
            return {"framework": framework, **written}
        except Exception as error:
            return {"framework": framework, "error": f"{type(error).__name__}: {error}"}

    def bearable(self, framework: str, file: str) -> float:
        """How many seconds a window may last, by what very short ones hold: what is the
        same in both, as a program's HLO, does not grow. A program that is inside one
        compiled call may make millions of events a second.
        """
        seconds, sizes = [], []
        for wanted in (_PROBE_SECONDS, 2 * _PROBE_SECONDS):
            tracer = tracer_for(framework, file)
            tracer.start({"python_tracer": False})
            opened = time.monotonic()
            self.way_over().wait(wanted)
            seconds.append(time.monotonic() - opened)
            tracer.stop(file)
            sizes.append(os.path.getsize(file))
            os.remove(file)
            if sizes[-1] <= _LITTLE_BYTES or self.way_over().is_set():
                return 1e9
        growth = (sizes[1] - sizes[0]) / max(seconds[1] - seconds[0], 1e-3)
        return max(_MOST_BYTES / max(growth, 1.0), _PROBE_SECONDS)

    def way_over(self) -> threading.Event:
        """Set once the program begins to record itself, or ends."""
        return self.way.over if self.way is not None else self.leaving

    def root(self) -> int:
        """The process from which all of the program descends: that of `tfadvisor run`,
        where it is on this machine.
        """
        parent = read_letter(os.path.join(self.folder, "parent.json"))
        here = parent is not None and parent["host"] == self.state["host"]
        return int(parent["pid"]) if parent is not None and here else self.pid

    def parent_lives(self) -> bool:
        """Whether `tfadvisor run` is still there, as far as this machine can tell."""
        parent = read_letter(os.path.join(self.folder, "parent.json"))
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
            self.sampler.stop()
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


def _written(tracer: Any, file: str) -> dict[str, Any]:
    closed = time.time()
    tracer.stop(file)
    written = {"file": os.path.basename(file), "closed": closed, "stopped": time.time()}
    followed = tracer.followed()
    return written if followed is None else {**written, "followed": followed}
