"""How long the parts of these programs take by their own clock, since the first step
has ended.
"""

import atexit
import json
import os
import time
from collections import defaultdict
from contextlib import contextmanager

SECONDS = defaultdict(float)
SLOWER = float(os.environ.get("SLOWER", "0"))
_STARTED = []


def started():
    """The first step has ended: the clock runs from here."""
    if not _STARTED:
        _STARTED.append(time.perf_counter())
        SECONDS.clear()


@contextmanager
def clocked(part):
    begin = time.perf_counter()
    yield
    SECONDS[part] += time.perf_counter() - begin


def slower(begin):
    """Wait for SLOWER times as long as the step that began then, so that each step
    takes that much longer.
    """
    if SLOWER:
        time.sleep(SLOWER * (time.perf_counter() - begin))


@atexit.register
def _write():
    folder = os.environ.get("OWN_CLOCK")
    if folder and _STARTED:
        whole = time.perf_counter() - _STARTED[0]
        shares = {part: seconds / whole for part, seconds in SECONDS.items()}
        with open(os.path.join(folder, "own_clock.json"), "w") as file:
            json.dump({"seconds": whole, "shares": shares}, file)
