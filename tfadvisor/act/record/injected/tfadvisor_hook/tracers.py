"""Starts and stops a framework's profiler, and leaves its trace in a file."""

from __future__ import annotations

import glob
import os
import shutil
import sys
import threading
from operator import methodcaller
from typing import Any

from .main_thread import Errand

_open = open  # as it was before the program put another in its place
HOST_TRACER_LEVEL = 2
"""What the frameworks record by default: ops, dispatches and the input pipeline."""


class JaxTracer:
    """jax.profiler, with the levels that its public functions do not take in every
    release.
    """

    def __init__(self) -> None:
        """It is not started yet."""
        self.has_calls = False

    def starting(self, order: dict[str, Any]) -> Errand:
        """What starts it, and returns the session. order: `python_tracer` tells whether
        calls of Python functions are recorded too.

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
        # Where the program has a profiler of its own, JAX's would take its place.
        with_calls = order["python_tracer"] and not has_profiler()
        options.python_tracer_level = int(with_calls)
        self.has_calls = bool(with_calls)
        return Errand(inside.ProfilerSession, options)

    def stopping(self, session: Any) -> Errand:
        """What stops it, and returns what it holds. session: that was started."""
        return Errand(methodcaller("stop"), session)

    def write(self, trace: Any, file: str) -> None:
        """What it held, a serialised XSpace, whole or not at all."""
        with _open(f"{file}.part", "wb") as out:
            out.write(trace)
        os.replace(f"{file}.part", file)


def _session_of(state: Any) -> Any:
    """What the program records itself: `session` from JAX 0.12 on, `profile_session`
    before.
    """
    session = getattr(state, "session", None)
    return session or getattr(state, "profile_session", None)


def has_profiler() -> bool:
    """Whether the main thread has one, as under cProfile; so does a thread that runs no
    Python for a second, since nobody else can tell.
    """
    monitoring: Any = getattr(sys, "monitoring", None)
    if monitoring is not None and monitoring.get_tool(monitoring.PROFILER_ID):
        return True
    asked = Errand(methodcaller("getprofile"), sys)
    asked.is_made(None, 0, threading.Event())
    return asked.results != [None]


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
        self.has_calls = False

    def starting(self, _order: dict[str, Any]) -> Errand:
        """Without calls of Python. Raises RuntimeError while the program records
        itself.
        """
        from tensorflow.python.profiler import profiler_v2

        if profiler_v2._profiler is not None:
            raise RuntimeError("the program records itself just now")
        self._session: Any = profiler_v2._pywrap_profiler.ProfilerSession()
        return Errand(methodcaller("start", self.folder, {}), self._session)

    def stopping(self, _started: Any) -> Errand:
        """What stops it and fills its folder."""
        return Errand(methodcaller("export_to_tb"), self._session)

    def write(self, _trace: Any, file: str) -> None:
        """As of JAX."""
        try:
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


# What is known of NVIDIA's profiler.


_GPU_PLANE = b"\x12\x0d/device:GPU:"
"""The name of a plane as it stands in a trace, with its tag and its length."""


def uses_cuda(framework: str) -> bool:
    """Whether the framework computes on an NVIDIA GPU here."""
    try:
        if framework == "jax":
            return "cuda" in sys.modules["jax._src.xla_bridge"]._backends
        tensorflow = sys.modules["tensorflow"]
        is_built = tensorflow.test.is_built_with_cuda()
        return bool(is_built and tensorflow.config.list_physical_devices("GPU"))
    except Exception:
        return False


def holds_gpu(file: str) -> bool:
    """Whether a trace has a GPU's part, even an empty one: else CUDA's profiler has not
    started, which frameworks do not say.
    """
    with _open(file, "rb") as trace:
        return _GPU_PLANE in trace.read()
