"""How long a window may be: what it takes to write one grows with its events."""

from __future__ import annotations

from tfadvisor.act.record.window import RecordedWindow

_LONGEST_LOOK_SECONDS = 20.0
_MOST_STOPPING_SECONDS = 8.0
"""That a profiler may need to stop: 5 to 25 µs an event were measured, while the
program waits for cores.
"""
_MOST_EVENTS = 200_000
"""Of a window: 400 to 1,300 bytes each in the program's memory while its profiler
stops.
"""
_MOST_BYTES = 100e6
_OF_PYTHON = 0.5
"""How much shorter a window is with calls of Python, which nobody has counted yet."""


class Caps:
    """What the last window has shown."""

    def __init__(self) -> None:
        """Nothing is known."""
        self.longest = _LONGEST_LOOK_SECONDS

    def seconds(
        self,
        wanted: float,
        *,
        python_tracer: bool,
    ) -> float:
        """At most as long as wanted."""
        share = _OF_PYTHON if python_tracer else 1.0
        return min(wanted, self.longest * share)

    def learn(self, window: RecordedWindow) -> None:
        """From a window that is over, unless it was too short to tell."""
        if window.cut_in_vain:
            return
        seconds = max(window.seconds, 1e-3)
        spent = (
            (window.stopping, _MOST_STOPPING_SECONDS),
            (window.events, _MOST_EVENTS),
            (window.bytes_a_second * seconds, _MOST_BYTES),
        )
        longest = [seconds * most / taken for taken, most in spent if taken > 0]
        self.longest = min([_LONGEST_LOOK_SECONDS, *longest])
