"""A timer of the system that sends SIGURG to one thread, whose handler has a stack of
its own. Linux' C libraries, called by ctypes.
"""

from __future__ import annotations

import ctypes
import signal
from typing import Any

EVERY_NS = 6_173_000
"""162 ticks a second, which few loops go in step with."""
_NO_STACK, _ON_STACK = 2, 0x08000000
_STACK_BYTES = 1 << 18
_TO_THREAD = 4
_KEPT: list[object] = []  # stacks that a handler may still run on: never freed


class SignalStack(ctypes.Structure):
    """stack_t."""

    _fields_ = [
        ("at", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("size", ctypes.c_size_t),
    ]


class SignalAction(ctypes.Structure):
    """struct sigaction of Linux' C libraries."""

    _fields_ = [
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    ]


class _Event(ctypes.Structure):
    """struct sigevent, 64 bytes."""

    _fields_ = [
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("padding", ctypes.c_char * 44),
    ]


def handle_on_a_stack_of_its_own(number: int) -> None:
    """The system writes a signal's frame elsewhere than on the calling thread's stack.
    Raises OSError where it cannot.

    oneDNN's generated products for AVX-512, which TensorFlow calls, keep what they need
    below the stack pointer, further down than a handler may know: a signal in such a
    product overwrites it, and the product then writes anywhere in the heap. With
    TensorFlow 2.21 a loop of small products ended within five seconds of 162 signals a
    second that way.
    """
    library, action = _library(), SignalAction()
    if not _has_a_stack(library):
        raise OSError(ctypes.get_errno(), "no stack for signals")

    place = ctypes.byref(action)
    if library.sigaction(number, None, place):
        raise OSError(ctypes.get_errno(), "no handler of signals")
    action.flags |= _ON_STACK  # Python before 3.10 does not ask for it
    if library.sigaction(number, place, None):
        raise OSError(ctypes.get_errno(), "no stack for signals")


def _has_a_stack(library: Any) -> bool:
    """Whether the calling thread has one for signals; it gets one where it has none."""
    stack = SignalStack()
    if library.sigaltstack(None, ctypes.byref(stack)) != 0:
        return False
    if not stack.flags & _NO_STACK:
        return True

    memory = ctypes.create_string_buffer(_STACK_BYTES)
    _KEPT.append(memory)
    ours = SignalStack(ctypes.addressof(memory), 0, _STACK_BYTES)
    return bool(library.sigaltstack(ctypes.byref(ours), None) == 0)


def started_timer(thread: int) -> ctypes.c_void_p:
    """A timer that ticks for the thread of that number. Raises OSError, AttributeError
    where there is none.
    """
    library, timer = _library(), ctypes.c_void_p()
    event = _Event(
        None,
        int(signal.SIGURG),
        _TO_THREAD,
        thread,
    )
    failed = library.timer_create(
        1,
        ctypes.byref(event),
        ctypes.byref(timer),
    )
    if failed:
        raise OSError(ctypes.get_errno(), "no timer")

    pointer = ctypes.c_void_p
    library.timer_delete.argtypes = [pointer]
    library.timer_settime.argtypes = [
        pointer,
        ctypes.c_int,
        pointer,
        pointer,
    ]
    spec = (ctypes.c_long * 4)(
        0,
        EVERY_NS,
        0,
        EVERY_NS,
    )
    if library.timer_settime(timer, 0, ctypes.byref(spec), None):
        raise OSError(ctypes.get_errno(), "the timer does not start")
    return timer


def delete_timer(timer: ctypes.c_void_p) -> None:
    """No tick comes any more, but one that is under way."""
    _library().timer_delete(timer)


def _library() -> Any:
    here = ctypes.CDLL(None, use_errno=True)
    if hasattr(here, "timer_create"):
        return here
    return ctypes.CDLL("librt.so.1", use_errno=True)
