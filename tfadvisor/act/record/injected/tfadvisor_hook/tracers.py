"""Starts and stops a framework's profiler, and leaves its trace in a file."""

from __future__ import annotations

import glob
import os
import shutil
import sys
from typing import Any

from .python_calls import PythonCalls

HOST_TRACER_LEVEL = 2
"""What the frameworks record by default: ops, dispatches and the input pipeline."""


class JaxTracer:
    """jax.profiler, with the levels that its public functions do not take in every
    release.
    """

    def start(self, order: dict[str, Any]) -> None:
        """order: `python_tracer` tells whether calls of Python functions are recorded
        too.

        Raises RuntimeError while the program records itself.
        """
        import jax
        from jax._src import profiler

        inside: Any = getattr(profiler, "_profiler", None)
        if inside is None:
            inside = profiler.xla_client.profiler
        if _session_of(profiler._profile_state) is not None:
            raise RuntimeError("the program records itself just now")
        jax.devices()  # before the session, or a TPU's own tracer misses it
        options = inside.ProfileOptions()
        options.host_tracer_level = HOST_TRACER_LEVEL
        options.python_tracer_level = int(bool(order["python_tracer"]))
        self.session: Any = inside.ProfilerSession(options)

    def stop(self, file: str) -> None:
        """Writes the trace, a serialised XSpace, whole or not at all."""
        trace: bytes = self.session.stop()
        with open(f"{file}.part", "wb") as out:
            out.write(trace)
        os.replace(f"{file}.part", file)

    def followed(self) -> int | None:
        """How often Python has called a tracer of ours; None where the framework traces
        calls of Python itself.
        """
        return None


def _session_of(state: Any) -> Any:
    """What the program records itself: `session` from JAX 0.12 on, `profile_session`
    before.
    """
    session = getattr(state, "session", None)
    return session or getattr(state, "profile_session", None)


class TensorFlowTracer:
    """tf.profiler.experimental's session. It writes its own folder, in older releases
    with more than the trace.

    It is given no options: these levels are TensorFlow's own, and 2.21 warns of each
    option, those that its own function gives included, and heeds none, so that its
    tracer of Python cannot be switched on there.
    """

    def __init__(self, file: str) -> None:
        """file: where the trace shall be."""
        self.folder = f"{file}.folder"
        self.calls: PythonCalls | None = None

    def start(self, order: dict[str, Any]) -> None:
        """Raises RuntimeError while the program records itself."""
        from tensorflow.python.profiler import profiler_v2

        if profiler_v2._profiler is not None:
            raise RuntimeError("the program records itself just now")
        self.session: Any = profiler_v2._pywrap_profiler.ProfilerSession()
        self.session.start(self.folder, {})
        if order["python_tracer"]:
            from tensorflow.python.profiler.trace import _pywrap_traceme

            self.calls = PythonCalls(_pywrap_traceme.TraceMe)
            self.calls.begin()

    def followed(self) -> int | None:
        """As of JAX."""
        return self.calls.followed if self.calls is not None else None

    def stop(self, file: str) -> None:
        """As of JAX."""
        if self.calls is not None:
            self.calls.end()
        try:
            self.session.export_to_tb()
            below = ("plugins", "profile", "*", "*.xplane.pb")
            folder = glob.escape(self.folder)
            (trace,) = glob.glob(os.path.join(folder, *below))
            os.replace(trace, file)
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


def tracer_for(
    framework: str,
    file: str,
) -> JaxTracer | TensorFlowTracer:
    """A session that is not started yet. file: where its trace shall be."""
    if framework == "jax" and "jax" in sys.modules:
        return JaxTracer()
    return TensorFlowTracer(file)
