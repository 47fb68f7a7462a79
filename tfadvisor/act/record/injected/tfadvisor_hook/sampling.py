"""What the main thread does at the ticks of a timer, and how often the loop that it
runs goes round.

A timer of the system sends SIGURG, which programs do not use and which nothing happens
to by default, to the main thread alone. Python runs the handler between two
instructions of the thread; all ticks since the last one lie in the same call then. So a
tick in a long call of C counts as one in it, and what holds the interpreter's lock is
seen like anything else.
"""

from __future__ import annotations

import ctypes
import signal
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any

from .own_code import is_ours, is_own, where
from .round_counter import RoundCounter
from .signal_timer import (
    delete_timer,
    handle_on_a_stack_of_its_own,
    started_timer,
)

_ONE_CALL_SECONDS = 1.0
"""After so long without an instruction of Python the main thread is taken to be in one
call.
"""
_KEPT: list[object] = []  # what the main thread may still be going to call: never freed


class Sampler:
    """Of this process's main thread. Costs some 10 µs a tick. No failure in here
    reaches the program.
    """

    def __init__(self) -> None:
        """Does nothing yet."""
        self.why = ""
        """Why there are no samples."""
        self.running = self._ticking = False
        self.rounds_ns: list[int] = []
        """When each of the rounds began that were counted last, since the epoch."""
        self.inside: list[Any] | None = None
        """File, line and function of a call in which the thread was all the time that
        its rounds were to be counted.
        """
        self._loop: tuple[CodeType, list[Any]] | None = None
        """The function whose rounds were counted last; its file and name, the first and
        the last line of its loop.
        """
        self._timer: ctypes.c_void_p | None = None
        self._rounds: RoundCounter | None = None
        self._own: dict[CodeType, bool | None] = {}
        self._begin = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._install)

    def start(self) -> None:
        """From the main thread's next instruction on. May be called from any thread."""
        if not (self.running or self.why):
            self.running = True
            _KEPT.append(self._begin)
            ctypes.pythonapi.Py_AddPendingCall(self._begin, None)

    def stop(self) -> None:
        """No tick comes any more. The handler stays: a signal that is under way shall
        not meet another.
        """
        timer, self._timer = self._timer, None
        self.running = False
        if timer is not None:
            delete_timer(timer)

    def count_rounds(
        self,
        limit: float,
        over: threading.Event,
        least: float = 0.25,
        late: float = 1.0,
    ) -> dict[str, Any] | None:
        """Of the loop that the main thread is in. None where none goes round three
        times, or nobody may look.

        least, limit, late: s; how long it is counted at least and at most, and how much
        longer it is waited for.
        """
        self.start()
        rounds = self._rounds = RoundCounter(
            least,
            limit,
            self._owned,
        )
        before = self._main_thread()
        self._wait(
            rounds,
            before,
            over,
            limit + late,
        )

        self.inside = None
        if before is not None and self._stands_still(rounds, before):
            self.inside = before[2]
        self._rounds = None
        rounds.over = True
        found, self.rounds_ns = rounds.found(), rounds.began_ns
        self._loop = rounds.loop or self._loop
        return found

    def _wait(
        self,
        rounds: RoundCounter,
        before: Any,
        over: threading.Event,
        seconds: float,
    ) -> None:
        """Until rounds are counted, or nobody may look; not long for a thread that is
        in one call. before: where it was.
        """
        began = time.monotonic()
        while not (rounds.done or over.wait(0.02) or self.why):
            waited = time.monotonic() - began
            if waited > seconds:
                break
            if waited > _ONE_CALL_SECONDS and self._stands_still(rounds, before):
                break

    def _stands_still(
        self,
        rounds: RoundCounter,
        before: Any,
    ) -> bool:
        """Whether the main thread ran no instruction of Python since."""
        return not rounds.begun and self._main_thread() == before

    def _main_thread(self) -> tuple[int, int, list[Any]] | None:
        """(its innermost frame, the instruction that it is at there, the line of the
        program that it is in).
        """
        leaf = sys._current_frames().get(threading.main_thread().ident or 0)
        if leaf is None:
            return None

        own: FrameType = leaf
        while own.f_back is not None and not self._owned(own.f_code):
            own = own.f_back
        return id(leaf), leaf.f_lasti, where(own)

    def looping(self) -> list[Any] | None:
        """The file and the function whose rounds were counted last; the first and the
        last line of its loop.
        """
        return self._loop[1] if self._loop else None

    def _install(self, _nothing: object) -> int:
        try:
            if self._is_free():
                self._start_timer()
            else:
                self.why = "the program uses SIGURG itself"
        except Exception as error:
            self.why = f"{type(error).__name__}: {error}"
        self.running = not self.why
        return 0

    def _is_free(self) -> bool:
        """Whether nobody else handles the signal."""
        handler = signal.getsignal(signal.SIGURG)
        return handler in (signal.SIG_DFL, self.tfadvisor_tick)

    def _start_timer(self) -> None:
        signal.signal(signal.SIGURG, self.tfadvisor_tick)
        signal.siginterrupt(signal.SIGURG, False)
        handle_on_a_stack_of_its_own(signal.SIGURG)
        self._timer = started_timer(threading.main_thread().native_id or 0)

    def tfadvisor_tick(
        self,
        _number: int,
        frame: FrameType | None,
    ) -> None:
        """Readers know it by its name where a tracer of all calls records it; so it
        calls little.
        """
        # A tick may come while another is told.
        if frame is None or self._timer is None or self._ticking:
            return
        self._ticking = True
        try:
            if self._rounds is not None:
                self._rounds.tick(frame)
        except Exception as error:
            self.why = f"{type(error).__name__}: {error}"
        self._ticking = False

    def _owned(self, code: CodeType) -> bool:
        """Whether it is of the program's own files; remembered as None for the
        hook's.
        """
        if code not in self._own:
            self._own[code] = None if is_ours(code) else is_own(code)
        return bool(self._own[code])
