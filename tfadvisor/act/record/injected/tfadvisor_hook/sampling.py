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
import dis
import os
import signal
import sys
import sysconfig
import threading
import time
from types import CodeType, FrameType
from typing import Any

EVERY_NS = 6_173_000
"""162 ticks a second, which few loops go in step with."""
MOST = 16_000
"""Samples, 100 s."""
_ONE_CALL_SECONDS = 1.0
"""After so long without an instruction of Python the main thread is taken to be in one
call.
"""
_MOST_PLACES, _DEEPEST, _MOST_ROUNDS = 2_000, 64, 2_000
_ELSEWHERE = -1
"""In place of a line of the loop's function, for what does not happen in it; 0 where
that is not known.
"""
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
_HERE = os.path.dirname(__file__)
_INSTALLED = (
    "site-packages",
    "dist-packages",
    "__autograph_generated_file",
    "<frozen",
    _HERE,
)
_STANDARD = sysconfig.get_paths()["stdlib"]


def is_ours(code: CodeType) -> bool:
    """Whether it is of this hook."""
    return code.co_filename.startswith(_HERE)


def is_own(code: CodeType) -> bool:
    """Whether it is of the program's own files."""
    file = code.co_filename
    return not (file.startswith(_STANDARD) or any(part in file for part in _INSTALLED))


def _where(frame: FrameType) -> list[Any]:
    """File, line and function; instructions that Python adds are of no line, and count
    as of the function's first.
    """
    return [
        frame.f_code.co_filename,
        frame.f_lineno or frame.f_code.co_firstlineno,
        frame.f_code.co_name,
    ]


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
        self._told: list[list[Any]] = []
        self._lines: list[int] = []
        self._loop: tuple[CodeType, list[Any]] | None = None
        """The function whose rounds were counted last; its file and name, the first and
        the last line of its loop.
        """
        self._times: list[int] = []
        self._at: list[int] = []
        self._timer: ctypes.c_void_p | None = None
        self._rounds: Rounds | None = None
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
            _library().timer_delete(timer)

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
        rounds = self._rounds = Rounds(least, limit, self._owned)
        began, before = time.monotonic(), self._main_thread()
        while not (
            rounds.done
            or over.wait(0.02)
            or self.why
            or time.monotonic() > began + limit + late
        ):
            if (
                time.monotonic() > began + _ONE_CALL_SECONDS
                and not rounds.begun
                and self._main_thread() == before
            ):
                break
        self.inside = (
            before[2]
            if before is not None and not rounds.begun and self._main_thread() == before
            else None
        )
        self._rounds = None
        rounds.over = True
        found, self.rounds_ns = rounds.found(), rounds.began_ns
        self._loop = rounds.loop or self._loop
        return found

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
        return id(leaf), leaf.f_lasti, _where(own)

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
            "places": list(self._told),
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
        return (
            max(seconds - (time.time_ns() - self._times[0]) / 1e9, 0.0)
            if self._times
            else 0.0
        )

    def _install(self, _nothing: object) -> int:
        try:
            if signal.getsignal(signal.SIGURG) not in (
                signal.SIG_DFL,
                self.tfadvisor_tick,
            ):
                self.why = "the program uses SIGURG itself"
            else:
                # the first tick would stand for all since the last one before the pause
                if self._times:
                    self._times.append(time.time_ns())
                    self._at.append(-1)
                signal.signal(signal.SIGURG, self.tfadvisor_tick)
                signal.siginterrupt(signal.SIGURG, False)
                _handle_on_a_stack_of_its_own(signal.SIGURG)
                self._timer = _started(threading.main_thread().native_id or 0)
        except Exception as error:
            self.why = f"{type(error).__name__}: {error}"
        self.running = not self.why
        return 0

    def tfadvisor_tick(self, _number: int, frame: FrameType | None) -> None:
        """Readers know it by its name where a tracer of all calls records it; so it
        calls little.
        """
        if (
            frame is None or self._timer is None or self._ticking
        ):  # a tick may come while another is told
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
        there: that of an epoch's end, if one is open, else the program's innermost."""
        own, frame, looping, line = (
            self._own,
            leaf,
            self._loop[0] if self._loop else None,
            0,
        )
        user = between = None
        for _ in range(_DEEPEST):
            code = frame.f_code
            if code not in own:
                self._owned(code)
            if frame is leaf and own[code] is None and frame.f_back is not None:
                frame = leaf = frame.f_back
                continue
            if user is None and own[code] and code.co_name not in _NAMELESS:
                user = frame
            between = frame if code.co_name in BETWEEN else between
            line = frame.f_lineno or 0 if code is looping else line
            if frame.f_back is None:
                line = line or (_ELSEWHERE if looping is not None else 0)
                break
            frame = frame.f_back
        key = (
            user and user.f_code,
            user and user.f_lineno,
            leaf.f_code,
            between and between.f_code,
            looping,
            line,
        )
        if key in self._places:
            return self._places[key]
        if len(self._told) >= _MOST_PLACES:
            return -1
        self._places[key] = len(self._told)
        self._lines.append(line)
        file, own_line, function = _where(user) if user is not None else ["", 0, ""]
        function = between.f_code.co_name if between is not None else function
        inner = leaf.f_code
        self._told.append(
            [
                file,
                own_line,
                function,
                inner.co_name if leaf is not user else "",
                os.path.basename(inner.co_filename),
            ]
        )
        return self._places[key]

    def _owned(self, code: CodeType) -> bool:
        """Whether it is of the program's own files; remembered as None for the
        hook's.
        """
        if code not in self._own:
            self._own[code] = None if is_ours(code) else is_own(code)
        return bool(self._own[code])


class Rounds:
    """Lines of the frames that are open now, each with when it began, until a frame
    that stays open goes round.

    Python tells by sys.settrace, for as long as this takes; it slows Python's own
    instructions, so that a round of a loop in Python is shorter than what is found,
    never longer.
    """

    FEWEST = 4
    _MOST_TIMES = 20_000

    def __init__(self, least: float, limit: float, owned: Any) -> None:
        """least, limit: s."""
        self.done = self.over = (
            False  # no lock: a tick may come where the main thread holds it
        )
        self.began_ns: list[int] = []
        """When each round that was found began, since the epoch."""
        self.loop: tuple[CodeType, list[Any]] | None = None
        self._least, self._limit, self._owned = least, limit, owned
        self._began: float | None = None
        self._frames: list[FrameType] = []
        self._stack: list[tuple[str, int, str, bool]] = []
        self._times: dict[FrameType, dict[int, list[float]]] = {}
        self._came: dict[FrameType, dict[int, int]] = {}
        self._spent: dict[FrameType, dict[int, float]] = {}
        self._last: dict[FrameType, tuple[int, float]] = {}
        self._loops: dict[CodeType, list[frozenset[int]]] = {}

    def tick(self, frame: FrameType) -> None:
        """In the main thread."""
        if self._began is None:
            if sys.gettrace() is not None:  # a debugger, or what measures coverage
                self.over = True
                self.done = True
                return
            self._began = time.perf_counter()
            one: FrameType | None = frame
            while one is not None:
                self._frames.append(one)
                file, line, function = _where(one)
                self._stack.append((file, line, function, self._owned(one.f_code)))
                self._last[one] = line, self._began
                one.f_trace = self._line
                one = one.f_back
            sys.settrace(self._call)
        elif self.over or time.perf_counter() - self._began > self._limit:
            self._end()

    @property
    def begun(self) -> bool:
        """Whether the main thread ran an instruction of Python since it was asked."""
        return self._began is not None or self.over

    def _call(self, _frame: FrameType, _what: str, _argument: object) -> None:
        if self.over:
            self._end()

    def _line(self, frame: FrameType, what: str, _argument: object) -> Any:
        now = time.perf_counter()
        if what == "return":
            self._times.pop(frame, None)
        elif what == "line" and not self.over:
            times = self._times.setdefault(frame, {}).setdefault(frame.f_lineno, [])
            came = self._came.setdefault(frame, {})
            if frame.f_lasti <= came.get(
                frame.f_lineno, frame.f_lasti
            ):  # a block's line comes again where it is left
                came[frame.f_lineno] = frame.f_lasti
                times.append(now)
            left, since = self._last.get(frame, (frame.f_lineno, now))
            self._last[frame] = frame.f_lineno, now
            spent = self._spent.setdefault(frame, {})
            spent[left] = spent.get(left, 0.0) + now - since
            elapsed = now - (self._began or now)
            enough = (
                len(times) >= self.FEWEST
                and elapsed >= self._least
                and frame is self._outermost()
            )
            enough = enough and self._takes_most(frame, frame.f_lineno)
            if enough or elapsed > self._limit or len(times) > self._MOST_TIMES:
                self._end()
        return None if self.over else self._line

    def _takes_most(self, frame: FrameType, line: int) -> bool:
        """Whether the innermost loop around a line takes at least half of the frame's
        time; a loop inside a step takes less.
        """
        loops = self._loops.get(frame.f_code)
        if loops is None:
            loops = self._loops[frame.f_code] = _loops_of(frame.f_code)
        around = min((one for one in loops if line in one), key=len, default=None)
        spent = self._spent.get(frame, {})
        return around is None or 2 * sum(spent.get(one, 0.0) for one in around) >= sum(
            spent.values()
        )

    def _outermost(self) -> FrameType | None:
        return next((one for one in reversed(self._frames) if one in self._times), None)

    def _end(self) -> None:
        self.over = True
        if not self.done:
            sys.settrace(None)
            for one in self._frames:
                one.f_trace = None
            self.done = True

    def found(self) -> dict[str, Any] | None:
        """The outermost open frame with a line that came at least three times, and how
        long a round of it takes.
        """
        for depth in range(len(self._frames) - 1, -1, -1):
            frame = self._frames[depth]
            lines = {
                line: times
                for line, times in self._times.get(frame, {}).items()
                if self._takes_most(frame, line)
            }
            again = {
                line: len(times)
                for line, times in lines.items()
                if len(times) >= self.FEWEST - 1
            }
            if not again:
                continue
            counts = list(again.values())
            usual = max(set(counts), key=lambda one: (counts.count(one), one))
            line, times = next(
                (line, times) for line, times in lines.items() if len(times) == usual
            )
            between = sorted(after - before for before, after in zip(times, times[1:]))  # noqa: B905, RUF007
            epoch = time.time() - time.perf_counter()
            self.began_ns = [int((one + epoch) * 1e9) for one in times[:_MOST_ROUNDS]]
            file, _, function, own = self._stack[depth]
            around = min(
                (one for one in self._loops[frame.f_code] if line in one),
                key=len,
                default=None,
            )
            self.loop = (
                (frame.f_code, [file, function, min(around), max(around)])
                if around and own
                else None
            )
            at = next((one for one in self._stack[depth:] if one[3]), None)
            place = (
                [file, line, function] if own or at is None else [at[0], at[1], at[2]]
            )
            return {
                "file": place[0],
                "line": place[1],
                "function": place[2],
                "within": "" if own else function,
                "lines": [min(again), max(again)] if own else [place[1], place[1]],
                "prepares": any(name == "adapt" for _, _, name, _ in self._stack),
                "median_ms": between[len(between) // 2] * 1e3,
            }
        return None


def _loops_of(code: CodeType) -> list[frozenset[int]]:
    """The lines of each loop: what lies between where it begins and the last jump back
    to there.
    """
    line, lines, loops = code.co_firstlineno, [], {}
    starts = dict(dis.findlinestarts(code))
    for one in dis.get_instructions(code):
        line = starts.get(one.offset) or line
        lines.append((one.offset, line))
        if (
            one.opcode in _JUMPS
            and isinstance(one.argval, int)
            and one.argval <= one.offset
        ):
            loops[one.argval] = frozenset(
                at for offset, at in lines if offset >= one.argval
            )
    return list(loops.values())


_JUMPS = frozenset((*dis.hasjrel, *dis.hasjabs))


class _Stack(ctypes.Structure):
    """stack_t."""

    _fields_ = [
        ("at", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("size", ctypes.c_size_t),
    ]


class _Action(ctypes.Structure):
    """struct sigaction of Linux' C libraries."""

    _fields_ = [
        ("handler", ctypes.c_void_p),
        ("mask", ctypes.c_ulong * 16),
        ("flags", ctypes.c_int),
        ("restorer", ctypes.c_void_p),
    ]


_NO_STACK, _ON_STACK = 2, 0x08000000
_STACK_BYTES = 1 << 18


def _handle_on_a_stack_of_its_own(number: int) -> None:
    """The system writes a signal's frame elsewhere than on the calling thread's stack.
    Raises OSError where it cannot.

    oneDNN's generated products for AVX-512, which TensorFlow calls, keep what they need
    below the stack pointer, further down than a handler may know: a signal in such a
    product overwrites it, and the product then writes anywhere in the heap. With
    TensorFlow 2.21 a loop of small products ended within five seconds of 162 signals a
    second that way.
    """
    library, stack, action = _library(), _Stack(), _Action()
    known = library.sigaltstack(None, ctypes.byref(stack)) == 0
    if known and stack.flags & _NO_STACK:
        memory = ctypes.create_string_buffer(_STACK_BYTES)
        _KEPT.append(memory)
        ours = _Stack(ctypes.addressof(memory), 0, _STACK_BYTES)
        known = library.sigaltstack(ctypes.byref(ours), None) == 0
    known = known and library.sigaction(number, None, ctypes.byref(action)) == 0
    action.flags |= _ON_STACK  # Python before 3.10 does not ask for it
    if not known or library.sigaction(number, ctypes.byref(action), None):
        raise OSError(ctypes.get_errno(), "no stack for signals")


class _Event(ctypes.Structure):
    """struct sigevent, 64 bytes."""

    _fields_ = [
        ("value", ctypes.c_void_p),
        ("signal", ctypes.c_int),
        ("notify", ctypes.c_int),
        ("thread", ctypes.c_int),
        ("padding", ctypes.c_char * 44),
    ]


_TO_THREAD = 4


def _library() -> Any:
    here = ctypes.CDLL(None, use_errno=True)
    return (
        here
        if hasattr(here, "timer_create")
        else ctypes.CDLL("librt.so.1", use_errno=True)
    )


def _started(thread: int) -> ctypes.c_void_p:
    """A timer that ticks for the thread of that number. Raises OSError, AttributeError
    where there is none.
    """
    library, timer = _library(), ctypes.c_void_p()
    event = _Event(None, int(signal.SIGURG), _TO_THREAD, thread)
    if library.timer_create(1, ctypes.byref(event), ctypes.byref(timer)):
        raise OSError(ctypes.get_errno(), "no timer")
    library.timer_delete.argtypes = [ctypes.c_void_p]
    library.timer_settime.argtypes = [
        ctypes.c_void_p,
        ctypes.c_int,
        ctypes.c_void_p,
        ctypes.c_void_p,
    ]
    spec = (ctypes.c_long * 4)(0, EVERY_NS, 0, EVERY_NS)
    if library.timer_settime(timer, 0, ctypes.byref(spec), None):
        raise OSError(ctypes.get_errno(), "the timer does not start")
    return timer
