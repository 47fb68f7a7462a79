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
import os
import signal
import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any

from .own_code import is_ours, is_own, where
from .round_counter import RoundCounter
from .signal_timer import (
    EVERY_NS,
    delete_timer,
    handle_on_a_stack_of_its_own,
    started_timer,
)

MOST = 16_000
"""Samples, 100 s."""
_ONE_CALL_SECONDS = 1.0
"""After so long without an instruction of Python the main thread is taken to be in one
call.
"""
_MOST_PLACES, _DEEPEST = 2_000, 64
_ELSEWHERE = -1
"""In place of a line of the loop's function, for what does not happen in it; 0 where
that is not known.
"""
_UNKNOWN = -1
"""In place of a place that is not listed."""
_NAMELESS = ("<genexpr>", "<listcomp>", "<dictcomp>", "<setcomp>", "<lambda>")
BETWEEN = (
    "on_epoch_begin",
    "on_epoch_end",
    "on_test_begin",
    "on_test_end",
    "evaluate",
    "evaluation",
    "validate",
    "validation",
)
"""Functions in which an epoch begins or ends; those of Keras too."""
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
        self.recorded: list[list[int]] = []
        """From when to when a profiler was at work, ns since the epoch."""
        self.rounds_ns: list[int] = []
        """When each of the rounds began that were counted last, since the epoch."""
        self.inside: list[Any] | None = None
        """File, line and function of a call in which the thread was all the time that
        its rounds were to be counted.
        """
        self._places: dict[tuple[Any, ...], int] = {}
        self._listed: list[list[Any]] = []
        self._lines: list[int] = []
        self._loop: tuple[CodeType, list[Any]] | None = None
        """The function whose rounds were counted last; its file and name, the first and
        the last line of its loop.
        """
        self._times: list[int] = []
        self._at: list[int] = []
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

    def told(self, opened: float) -> dict[str, Any]:
        """The samples so far. opened: when the window began, seconds since the
        epoch.
        """
        count = min(len(self._times), len(self._at))
        first = self._times[0] if count else 0
        return {
            "version": 1,
            "every_ns": EVERY_NS,
            "opened_ns": int(opened * 1e9),
            "why": self.why,
            "recorded_ns": list(self.recorded),
            "first_ns": first,
            "places": list(self._listed),
            "after_us": [(one - first) // 1000 for one in self._times[:count]],
            "at": self._at[:count],
            "lines": list(self._lines),
            "loop": self._loop[1] if self._loop else None,
        }

    def forget(self) -> None:
        """What was sampled so far: it was before the loop that is looked at now."""
        self._times.clear()
        self._at.clear()

    def lacks(self, seconds: float) -> float:
        """How much longer it has to sample, so that this is how long it did."""
        if not self._times:
            return 0.0
        sampled = (time.time_ns() - self._times[0]) / 1e9
        return max(seconds - sampled, 0.0)

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
        # The first tick would stand for all since the last one before the pause.
        if self._times:
            self._times.append(time.time_ns())
            self._at.append(_UNKNOWN)
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
            if len(self._times) < MOST:
                place = self._place(frame)
                self._times.append(time.time_ns())
                self._at.append(place)
        except Exception as error:
            self.why = f"{type(error).__name__}: {error}"
        self._ticking = False

    def _place(self, leaf: FrameType) -> int:
        """The line of the program that the thread is in, and the function that it is in
        there: that of an epoch's end, if one is open, else the program's innermost.
        """
        own, looping = self._own, self._looping()
        leaf = frame = self._outside_of_the_hook(leaf)
        user = between = None
        line = 0
        for _ in range(_DEEPEST):
            code = frame.f_code
            if code not in own:
                self._owned(code)
            if user is None and own[code] and code.co_name not in _NAMELESS:
                user = frame
            if code.co_name in BETWEEN:
                between = code
            if code is looping:
                line = frame.f_lineno or 0
            if frame.f_back is None:
                line = line or _elsewhere(looping)
                break
            frame = frame.f_back
        return self._number(
            leaf,
            user,
            between,
            looping,
            line,
        )

    def _number(
        self,
        leaf: FrameType,
        user: FrameType | None,
        between: CodeType | None,
        looping: CodeType | None,
        line: int,
    ) -> int:
        """Of a place. leaf: the innermost frame. user: that of the program. between:
        the function of an epoch's end. line: that of the looping function.
        """
        key = (
            None if user is None else user.f_code,
            None if user is None else user.f_lineno,
            leaf.f_code,
            between,
            looping,
            line,
        )
        if key in self._places:
            return self._places[key]
        if len(self._listed) >= _MOST_PLACES:
            return _UNKNOWN

        self._places[key] = len(self._listed)
        self._lines.append(line)
        file, own_line, function = "", 0, ""
        if user is not None:
            file, own_line, function = where(user)
        if between is not None:
            function = between.co_name
        inner = leaf.f_code
        inner_name = "" if leaf is user else inner.co_name
        inner_file = os.path.basename(inner.co_filename)
        self._listed.append([file, own_line, function, inner_name, inner_file])
        return self._places[key]

    def _looping(self) -> CodeType | None:
        """The function whose rounds were counted last."""
        return self._loop[0] if self._loop else None

    def _outside_of_the_hook(self, leaf: FrameType) -> FrameType:
        """The innermost frame that is none of ours."""
        while leaf.f_back is not None:
            if leaf.f_code not in self._own:
                self._owned(leaf.f_code)
            if self._own[leaf.f_code] is not None:
                break
            leaf = leaf.f_back
        return leaf

    def _owned(self, code: CodeType) -> bool:
        """Whether it is of the program's own files; remembered as None for the
        hook's.
        """
        if code not in self._own:
            self._own[code] = None if is_ours(code) else is_own(code)
        return bool(self._own[code])


def _elsewhere(looping: CodeType | None) -> int:
    """In place of the line of the loop, whose function is not open."""
    return 0 if looping is None else _ELSEWHERE
