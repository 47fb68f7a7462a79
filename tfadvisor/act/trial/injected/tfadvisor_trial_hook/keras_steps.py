"""Keras' own loop: `fit` tells its callbacks where epochs begin, where batches end, and
what they gave.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .parts import around

PLACES = ("keras.src.callbacks.callback_list", "keras.src.callbacks", "keras.callbacks")
"""Modules that define CallbackList, in Keras 3, 2.13 to 2.15, and before."""
FILE = "keras"
"""Stands for a file in the name of this loop."""


def after_import(clock: Any) -> dict[str, Callable[[Any], None]]:
    """By module, how its batches are told to the clock."""

    def tell(module: Any) -> None:
        told = getattr(module, "CallbackList", None)
        if told is not None and told.__module__ == module.__name__:
            _tell(told, clock)

    return dict.fromkeys(PLACES, tell) if clock.wants(FILE, 0) else {}


def _tell(told: Any, clock: Any) -> None:
    number = clock.loop(FILE, 0, "fit", [], False)
    batches = [0]
    fitting: list[Any] = [None]

    def epoch(do: Any, callbacks: Any, *given: Any, **named: Any) -> Any:
        batches[0] = 0
        fitting[0] = callbacks
        clock.enter(number)
        return do(callbacks, *given, **named)

    def batch(do: Any, callbacks: Any, *given: Any, **named: Any) -> Any:
        """A call may make several steps: then its number is that of the last."""
        found = do(callbacks, *given, **named)
        done = int(given[0]) + 1
        steps = max(done - batches[0], 1)
        clock.look_at_logs(number, given[1] if len(given) > 1 else None, steps)
        clock.finished(number, steps)
        batches[0] = done
        return found

    def leave(do: Any, callbacks: Any, *given: Any, **named: Any) -> Any:
        """What a callback evaluates by itself belongs to its step; what `fit` evaluates
        after an epoch does not.
        """
        if callbacks is fitting[0]:
            clock.leave(number)
        return do(callbacks, *given, **named)

    around(told, "on_epoch_begin", epoch)
    around(told, "on_test_begin", leave)
    around(told, "on_epoch_end", leave)
    around(told, "on_train_batch_end", batch)
