"""One line at the foot of a terminal that says what is under way; elsewhere nothing."""

from __future__ import annotations

import sys
import threading
import time

from tfadvisor.printable import printable

_EVERY_SECONDS = 0.5
_CLEAR = "\r\x1b[K"


class LiveLine:
    """On standard error, from where it is entered until it is left."""

    def __init__(self) -> None:
        """Shows nothing yet."""
        self._text, self._seconds, self._since = "", 0.0, 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._paint, daemon=True)

    def show(self, text: str, seconds: float = 0.0) -> None:
        """seconds: how long it will take, 0 for not known."""
        self._since = time.monotonic()
        self._text, self._seconds = text, seconds

    def __enter__(self) -> LiveLine:
        """Begins on a terminal."""
        if sys.stderr.isatty():
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        """Nothing of it is left."""
        if self._thread.is_alive():
            self._over.set()
            self._thread.join()
            sys.stderr.write(_CLEAR)
            sys.stderr.flush()

    def line(self, now: float) -> str:
        """As it stands on the screen. now: s, as of time.monotonic."""
        if not self._seconds:
            return printable(self._text)
        done = min(now - self._since, self._seconds)
        return printable(f"{self._text} {done:.0f} of {self._seconds:.0f} s")

    def _paint(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            sys.stderr.write(f"{_CLEAR}{self.line(time.monotonic())}")
            sys.stderr.flush()
