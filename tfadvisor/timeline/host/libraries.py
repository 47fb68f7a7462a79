"""Which libraries a program is written with, as far as names in its trace prove it."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.names.frames import bare_frame
from tfadvisor.timeline.names.frameworks import is_keras, is_py_dataset


class Libraries(msgspec.Struct, frozen=True):
    """The first name that proves each, "" where none does."""

    keras: str = ""
    """Keras' own training loop."""
    py_dataset: str = ""
    """A PyDataset, in Keras 2 a Sequence, from which Keras takes its batches."""


def libraries(threads: Threads) -> Libraries:
    """By the names of host events, each distinct one looked at once."""
    return _libraries(threads.names)


@lru_cache(maxsize=4)  # the hosts of a run mostly have the same names
def _libraries(names: tuple[str, ...]) -> Libraries:
    return Libraries(
        keras=bare_frame(next(filter(is_keras, names), "")),
        py_dataset=bare_frame(next(filter(is_py_dataset, names), "")),
    )
