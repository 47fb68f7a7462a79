"""When a framework last traced or compiled: JAX tells listeners, TensorFlow is seen to
trace a function.
"""

from __future__ import annotations

import os
import sys
import time
from threading import get_ident
from types import FrameType
from typing import Any

_TRACES_FUNCTIONS = "tensorflow.python.framework.func_graph"
_JAX_DEVICES = "jax._src.xla_bridge"
_TRACE = "func_graph_from_py_func"
_JAX_COMPILES = "/jax/core/compile/"
_JAX_COMPILED = "/jax/core/compile/backend_compile_duration"


_COMPILERS = (
    os.path.join("jax", "_src", "compiler.py"),
    os.path.join("jax", "_src", "interpreters", "partial_eval.py"),
)
_DEEPEST = 200


def _under_way() -> bool:
    """Whether a thread is inside a compiler just now: JAX tells of a compilation when
    it has ended, minutes later perhaps.
    """
    return any(map(_compiles, sys._current_frames().values()))


def _compiles(frame: FrameType) -> bool:
    """Whether a compiler is among a frame and its callers."""
    one: FrameType | None = frame
    for _ in range(_DEEPEST):
        if one is None:
            break
        if one.f_code.co_filename.endswith(_COMPILERS):
            return True
        one = one.f_back
    return False


class Compilations:
    """Counted over all threads, each when it has ended; what is traced inside another
    belongs to it. No locks: all of this runs inside of the program, where a signal or a
    fork may come at any moment."""

    def __init__(self) -> None:
        """Nothing is watched yet."""
        self.counts: dict[str, int] = {}
        self._last: float | None = None
        self._undo: list[Any] = []
        self._watched: set[str] = set()
        self._open: dict[int, list[float]] = {}
        """By thread: when its outermost one began, and how many are in each other."""
        self._seconds = 0.0

    @property
    def last(self) -> float | None:
        """When there was one, in seconds since the epoch: now, where one is under way;
        None before the first.
        """
        return time.time() if self._open else self._last

    @property
    def seconds(self) -> float:
        """How long all of them took so far, those that are under way included."""
        now = time.time()
        seconds = self._seconds
        for began, _ in list(self._open.values()):
            seconds += now - began
        return seconds

    @property
    def count(self) -> int:
        """Of every framework."""
        return sum(self.counts.values())

    def of(self, framework: str) -> int:
        """Of one framework."""
        return self.counts.get(framework, 0)

    def watch(self, framework: str) -> None:
        """From now on. A framework that cannot be watched is taken to compile never."""
        self._watched.add(framework)
        try:
            if framework == "jax":
                self._listen_to_jax()
            else:
                self._see_functions_traced()
        except Exception as error:
            sys.stderr.write(
                f"tfadvisor: compilations of {framework} are not seen: "
                f"{type(error).__name__}: {error}\n"
            )

    def look(self) -> None:
        """A program may have compiled before it was watched: then JAX has a device by
        now. Without one nothing compiles, and no frame of another thread is looked at:
        Python 3.11 has crashed over that."""
        has_devices = getattr(
            sys.modules.get(_JAX_DEVICES),
            "_backends",
            None,
        )
        if "jax" not in self._watched or not has_devices:
            return
        if _under_way():
            self._last = time.time()
        if not self.of("jax"):
            self._seen("jax")

    def close(self) -> None:
        """Puts everything back."""
        while self._undo:
            try:
                self._undo.pop()()
            except Exception:
                continue  # the listener stays, and counts for nobody

    def _seen(self, framework: str) -> None:
        self.counts[framework] = self.counts.get(framework, 0) + 1
        self._last = time.time()

    def _begin(self) -> None:
        mine = self._open.setdefault(get_ident(), [time.time(), 0])
        mine[1] += 1

    def _end(self, framework: str) -> None:
        mine = self._open.get(get_ident())
        if mine is None:
            return
        mine[1] -= 1
        if mine[1] <= 0:
            del self._open[get_ident()]
            self._seconds += time.time() - mine[0]
            self._seen(framework)

    def _listen_to_jax(self) -> None:
        from jax import monitoring

        def compiled(
            event: str,
            seconds: float,
            **_more: Any,
        ) -> None:
            if event == _JAX_COMPILED:
                self._seen("jax")
            if event.startswith(_JAX_COMPILES):
                self._last = time.time()
                self._seconds += seconds

        def forget() -> None:
            from jax._src import monitoring as inside

            unregister = getattr(monitoring, "unregister_event_duration_listener", None)
            if unregister is None:
                unregister = inside._unregister_event_duration_listener_by_callback
            unregister(compiled)

        monitoring.register_event_duration_secs_listener(compiled)
        self._undo.append(forget)

    def _see_functions_traced(self) -> None:
        module: Any = sys.modules[_TRACES_FUNCTIONS]
        trace = getattr(module, _TRACE)

        def traced(
            *arguments: Any,
            **named: Any,
        ) -> Any:
            try:
                self._begin()
                return trace(*arguments, **named)
            finally:
                self._end("tensorflow")

        def put_back() -> None:
            if getattr(module, _TRACE) is traced:
                setattr(module, _TRACE, trace)

        setattr(module, _TRACE, traced)
        self._undo.append(put_back)
