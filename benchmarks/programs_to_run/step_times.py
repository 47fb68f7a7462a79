"""The clock of these programs, which owes nothing to any profiler; and their recording by hand, as a user would add it."""

import atexit
import json
import os
import signal
import sys
import time

TIMES = []
BY_HAND = os.environ.get("BY_HAND")
FIRST, STEPS = 30, 20
SLOWER = float(os.environ.get("SLOWER", "0"))
"""How many times its own length each step waits in addition."""
if os.environ.get("STEP_TIMES"):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # so that a program that is ended writes its times


def tick():
    """A step is over. Its time goes to the folder STEP_TIMES when the program ends."""
    if SLOWER and TIMES:
        time.sleep(SLOWER * (time.time() - TIMES[-1]))
    TIMES.append(time.time())
    if BY_HAND and len(TIMES) == FIRST:
        _profiler().start(BY_HAND)
    if BY_HAND and len(TIMES) == FIRST + STEPS:
        _profiler().stop()


class _Jax:
    def start(self, logdir):
        import jax

        jax.profiler.start_trace(logdir)

    def stop(self):
        import jax

        jax.profiler.stop_trace()


def _profiler():
    if getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None):  # Keras imports JAX where it is installed
        return _Jax()
    import tensorflow as tf

    return tf.profiler.experimental


@atexit.register
def _write():
    folder = os.environ.get("STEP_TIMES")
    if folder and TIMES:
        with open(os.path.join(folder, f"{os.getpid()}.json"), "w") as file:
            json.dump(TIMES, file)
