"""tf.data by name: its threads, its iterators' stages and what is known of a stage by
its kind.
"""

from __future__ import annotations

import re

from tfadvisor.timeline.names.host_events import makes_dataset, makes_iterator

_THREAD = re.compile(r"^tf_data_(?!iterator_get_next|multi_device_iterator_get_next)")
"""tf.data's own threads, but those that hand a batch to the consumer."""
_ITERATOR = "Iterator::"
"""A stage being asked for an element, with the path from the root to it."""
_BETWEEN_STAGES = "::"
_ELEMENT_INDEX = re.compile(r"\[\d+\]")
_OP_VERSION = re.compile(r"V\d+$")
_PRODUCE = "Produce"
"""What the name of a background thread's work ends in, behind the kind of its stage."""
_WORKING_AHEAD = ("Prefetch", "Parallel", "MapAndBatch", "LegacyParallel")
"""Kinds of stages that prepare elements in the background."""
_FILLING = ("Shuffle",)
"""Kinds of stages that fill a buffer before they give the first element."""
_FUNCTIONS = ("Map", "MapAndBatch", "Generator", "Filter", "Interleave", "Scan")
"""Kinds of stages that run a function, by how they end."""
_FLATTENING = "FlatMap"
_HIDDEN = frozenset(
    {
        "Root",
        "Finite",
        "MaxIntraOpParallelism",
        "PrivateThreadPool",
        "Model",
        "Options",
        "MemoryCacheImpl",
    }
)
"""Parts of a path that tf.data puts in by itself."""


def is_pipeline_thread(name: str) -> bool:
    """Whether a thread works for tf.data only."""
    return _THREAD.match(name) is not None


def stage_path(name: str) -> str | None:
    """`Iterator::Root::Prefetch::ForeverRepeat[0]::ParallelMapV2` ->
    `Prefetch::ForeverRepeat::ParallelMap`.

    None for other names and for parts that are no stage of the user's.
    """
    if not name.startswith(_ITERATOR):
        return None
    parts = [
        part
        for part in _ELEMENT_INDEX.sub("", name).split(_BETWEEN_STAGES)[1:]
        if part not in _HIDDEN
    ]
    return _BETWEEN_STAGES.join(_OP_VERSION.sub("", part) for part in parts) or None


def stage_kind(path: str) -> str:
    """Of a stage's path its last part, the stage itself: `ParallelMap`."""
    return path.rsplit(_BETWEEN_STAGES, maxsplit=1)[-1]


def asking_stage(path: str) -> str:
    """The path of the stage that asks this one, "" for the root."""
    return path.rpartition(_BETWEEN_STAGES)[0]


def is_before(path: str, other: str) -> bool:
    """Whether a stage gives its elements to another one, perhaps through others."""
    return path.startswith(other + _BETWEEN_STAGES)


def stage_depth(path: str) -> int:
    """How many stages lie between a stage and the consumer."""
    return path.count(_BETWEEN_STAGES)


def works_ahead(kind: str) -> bool:
    """Whether a stage of this kind prepares elements in the background."""
    return kind.startswith(_WORKING_AHEAD)


def fills_buffer(kind: str) -> bool:
    """Whether a stage of this kind asks for many elements before it gives the first."""
    return kind.startswith(_FILLING)


def runs_function(kind: str) -> bool:
    """Whether a stage of this kind runs a function of the user's for its elements. What
    a generator lies in only flattens it.
    """
    return kind.endswith(_FUNCTIONS) and kind != _FLATTENING


def produced_kind(name: str) -> str | None:
    """`ParallelMapProduce` -> `ParallelMap`, the kind of the stage that the event works
    for; None for other names.
    """
    return name.removesuffix(_PRODUCE) if name.endswith(_PRODUCE) else None


def builds_pipeline(name: str) -> bool:
    """Whether Python makes a tf.data dataset or its iterator here, which reads nothing
    yet.
    """
    return makes_dataset(name) or makes_iterator(name)
