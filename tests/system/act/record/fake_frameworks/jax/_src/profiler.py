"""One session at a time, as in JAX."""

import os
import signal
import threading
import time
from functools import wraps
from types import SimpleNamespace

_active = []


def as_in_c(function):
    """No alarm comes in its midst: handlers run once Python's own code goes on."""

    @wraps(function)
    def call(*arguments):
        left = signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            return function(*arguments)
        finally:
            signal.setitimer(signal.ITIMER_REAL, *left)

    return call


def log(text):
    with open(os.environ["FAKE_LOG"], "a") as out:
        out.write(f"{text}\n")
    log_thread()


def log_thread():
    if "FAKE_THREADS" in os.environ:
        is_main = threading.get_ident() == threading.main_thread().ident
        with open(os.environ["FAKE_THREADS"], "a") as out:
            out.write("main\n" if is_main else "another\n")


class ProfileOptions:
    host_tracer_level = python_tracer_level = None


class ProfilerSession:
    @as_in_c
    def __init__(self, options):
        if _active:
            raise RuntimeError("one session at a time")
        log(f"{options.host_tracer_level} {options.python_tracer_level}")
        if os.environ.get("FAKE_FAILS"):
            raise RuntimeError("no counters for you")
        _active.append(self)
        self.began = time.time()

    @as_in_c
    def stop(self):
        log_thread()
        _active.remove(self)
        with open(os.environ["FAKE_TRACE"], "rb") as trace:
            return trace.read()


_profiler = SimpleNamespace(
    ProfileOptions=ProfileOptions, ProfilerSession=ProfilerSession
)
_profile_state = SimpleNamespace(profile_session=None, lock=threading.Lock())


def start_trace(log_dir):
    with _profile_state.lock:
        _profile_state.profile_session = ProfilerSession(ProfileOptions())


def stop_trace():
    with _profile_state.lock:
        _profile_state.profile_session.stop()
        _profile_state.profile_session = None
