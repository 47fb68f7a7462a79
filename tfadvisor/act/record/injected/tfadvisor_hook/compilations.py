"""How often and when a framework traced or compiled: JAX tells listeners, TensorFlow
keeps a counter. Nothing of either is replaced.
"""

from __future__ import annotations

import sys
import time
from typing import Any

_TRACES_FUNCTIONS = (
    "tensorflow.python.eager.polymorphic_function.tracing_compilation",
    "tensorflow.python.eager.polymorphic_function.tracing_compiler",
    "tensorflow.python.eager.function",
)
"""Where TensorFlow has its counter, by release."""
_COUNTER = "_graph_building_time_counter"
"""Of us, over all threads, without what is traced inside of another."""
_JAX_DEVICES = "jax._src.xla_bridge"
_JAX_COMPILES = "/jax/core/compile/"
_JAX_COMPILED = "/jax/core/compile/backend_compile_duration"


class Compilations:
    """Counted over all threads, each when it has ended."""

    def __init__(self) -> None:
        """Nothing is watched yet."""
        self._counts: dict[str, int] = {}
        self._last: float | None = None
        self._forget: Any = None
        self._watched: set[str] = set()
        self._counter: Any = None
        self._traced_us = 0
        self._seconds = 0.0

    @property
    def last(self) -> float | None:
        """When there was one, in seconds since the epoch; None before the first."""
        self._ask_tensorflow()
        return self._last

    @property
    def seconds(self) -> float:
        """How long all of them took so far."""
        self._ask_tensorflow()
        return self._seconds

    @property
    def count(self) -> int:
        """Of every framework. Of several that TensorFlow traces between two questions
        one counts.
        """
        self._ask_tensorflow()
        return sum(self._counts.values())

    def of(self, framework: str) -> int:
        """Of one framework."""
        self._ask_tensorflow()
        return self._counts.get(framework, 0)

    def watch(self, framework: str) -> None:
        """From now on. A framework that cannot be watched is taken to compile never."""
        self._watched.add(framework)
        try:
            if framework == "jax":
                self._listen_to_jax()
            else:
                modules = map(sys.modules.get, _TRACES_FUNCTIONS)
                counters = (getattr(module, _COUNTER, None) for module in modules)
                self._counter = next(
                    counter for counter in counters if counter is not None
                )
        except Exception as error:
            sys.stderr.write(
                f"tfadvisor: compilations of {framework} are not seen: "
                f"{type(error).__name__}: {error}\n"
            )

    def look(self) -> None:
        """A program may have compiled before it was watched: then JAX has a device by
        now. TensorFlow only counts how long it traces, so that what it traced between
        two looks is one.
        """
        self._ask_tensorflow()
        bridge = sys.modules.get(_JAX_DEVICES)
        has_devices = getattr(bridge, "_backends", None)
        if "jax" in self._watched and has_devices and not self.of("jax"):
            self._seen("jax")

    def close(self) -> None:
        """Listens no more."""
        forget, self._forget = self._forget, None
        if forget is not None:
            try:
                forget()
            except Exception:
                return  # the listener stays, and counts for nobody

    def _seen(self, framework: str) -> None:
        self._counts[framework] = self._counts.get(framework, 0) + 1
        self._last = time.time()

    def _ask_tensorflow(self) -> None:
        if self._counter is None:
            return
        traced_us = int(self._counter.get_cell().value())
        if traced_us > self._traced_us:
            self._seconds += (traced_us - self._traced_us) / 1e6
            self._traced_us = traced_us
            self._seen("tensorflow")

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
        self._forget = forget
