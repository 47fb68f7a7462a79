"""Keras' own loop: `fit` tells its callbacks where epochs begin, where batches end, and
what they gave.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .program_parts import around

PLACES = (
    "keras.src.callbacks.callback_list",
    "keras.src.callbacks",
    "keras.callbacks",
    "tf_keras.src.callbacks",
)
"""Modules that define CallbackList, in Keras 3, 2.13 to 2.15, before, and in Keras 2
beside Keras 3.
"""
FILE = "keras"
"""Stands for a file in the name of this loop."""


def after_import(clock: Any) -> dict[str, Callable[[Any], None]]:
    """By module, how its batches are told to the clock."""
    loops: list[_KerasLoop] = []

    def after(module: Any) -> None:
        lists = getattr(module, "CallbackList", None)
        if lists is not None and lists.__module__ == module.__name__:
            if not loops:
                loops.append(_KerasLoop(clock))
            _follow(lists, loops[0])

    if not clock.wants(FILE, 0):
        return {}
    return dict.fromkeys(PLACES, after)


def _follow(lists: Any, keras: _KerasLoop) -> None:
    around(lists, "on_epoch_begin", keras.epoch)
    around(lists, "on_test_begin", keras.leave)
    around(lists, "on_epoch_end", keras.end)
    around(lists, "on_train_batch_end", keras.batch)


class _KerasLoop:
    """The loop over batches of one `fit` after another."""

    def __init__(self, clock: Any) -> None:
        self.clock = clock
        self.number = clock.loop(
            FILE,
            0,
            "fit",
            [],
            False,
        )
        self.batches = 0
        self.fitting: Any = None
        self.called = clock.counter("Keras' callbacks of a batch")

    def epoch(
        self,
        do: Any,
        callbacks: Any,
        *given: Any,
        **named: Any,
    ) -> Any:
        """An epoch begins."""
        self.batches = 0
        self.fitting = callbacks
        self.clock.enter(self.number)
        return do(callbacks, *given, **named)

    def batch(
        self,
        do: Any,
        callbacks: Any,
        *given: Any,
        **named: Any,
    ) -> Any:
        """A call may make several steps: then its number is that of the last."""
        found = do(
            callbacks,
            *given,
            **named,
        )
        self.clock.counts[self.called] += 1
        done = int(given[0]) + 1
        steps = max(done - self.batches, 1)
        logs = given[1] if len(given) > 1 else None
        self.clock.look_at_logs(self.number, logs, steps)
        self.clock.finished(self.number, steps)
        self.batches = done
        return found

    def leave(
        self,
        do: Any,
        callbacks: Any,
        *given: Any,
        **named: Any,
    ) -> Any:
        """What a callback evaluates by itself belongs to its step; what `fit` evaluates
        after an epoch does not.
        """
        if callbacks is self.fitting:
            self.clock.leave(self.number)
        return do(callbacks, *given, **named)

    def end(
        self,
        do: Any,
        callbacks: Any,
        *given: Any,
        **named: Any,
    ) -> Any:
        """An epoch ends: loops of callbacks are no steps."""
        self.clock.between += 1
        try:
            return self.leave(do, callbacks, *given, **named)
        finally:
            self.clock.between -= 1
