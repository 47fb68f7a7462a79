"""Calls of the program's own Python functions as events of the thread that makes them,
where the framework's tracer has none.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from .own_code import is_ours, is_own

_KEPT: list[object] = []
"""What the main thread may still be going to call, however long it takes until it can:
never freed.
"""


class PythonCalls:
    """Of the main thread: functions of the program's own files, and what these call
    directly.

    An event is named as the frameworks' tracers name theirs, `$train.py:42
    log_metrics`. Where another tracer follows the thread's calls already, as a debugger
    does, nothing is recorded. No failure in here reaches the program.
    """

    def __init__(self, event: Callable[[str], Any]) -> None:
        """event: begins an event of that name in the calling thread; its Stop() ends
        it.
        """
        self._event = event
        self._own: dict[CodeType, bool] = {}
        self._open: list[tuple[FrameType, Any]] = []
        self._over = False
        self.followed = 0
        """How often Python has called us, at calls and returns alike: what tracing
        costs.
        """
        self._begin = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(self._install)

    def begin(self) -> None:
        """From the main thread's next instruction on. May be called from any thread."""
        _KEPT.append(self._begin)
        ctypes.pythonapi.Py_AddPendingCall(self._begin, None)

    def end(self) -> None:
        """From its next call on, nothing is followed any more."""
        self._over = True

    def _install(self, _nothing: object) -> int:
        if sys.getprofile() is None and not self._over:
            sys.setprofile(self._follower())
        return 0

    def _follower(self) -> Callable[[FrameType, str, object], None]:
        """What Python calls at each call and return of a function, also of
        those in C.
        """
        is_own, opened, event = self._is_own, self._open, self._event

        def follow(
            frame: FrameType,
            what: str,
            _argument: object,
        ) -> None:
            self.followed += 1
            try:
                if what == "call" and not self._over:
                    code, caller = frame.f_code, frame.f_back
                    shown = is_own(code)
                    if not shown and caller is not None and is_own(caller.f_code):
                        shown = not is_ours(code)
                    if shown:
                        opened.append((frame, event(_named(code))))
                elif what == "return" and opened and opened[-1][0] is frame:
                    opened.pop()[1].Stop()
            except Exception:
                self._over = True
            if self._over:
                sys.setprofile(None)
                opened.clear()

        return follow

    def _is_own(self, code: CodeType) -> bool:
        known = self._own.get(code)
        if known is None:
            known = self._own[code] = is_own(code)
        return known


def _named(code: CodeType) -> str:
    """As the frameworks' tracers name a call of a function."""
    file = os.path.basename(code.co_filename)
    return f"${file}:{code.co_firstlineno} {code.co_name}"
