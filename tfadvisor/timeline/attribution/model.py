"""What takes step time, before it is put together as a tree."""

from __future__ import annotations

import msgspec

from tfadvisor.vocabulary import TimeClass

NOT_RECORDED = "not recorded"
"""How an activity begins of which the trace says nothing."""


class Spent(msgspec.Struct, frozen=True):
    """Time of one class in the counted steps of a host's devices that one activity takes. "" for what the trace does not tell.

    Work of a device is identified by path, op, kernel and module; its activity is worked out when all hosts are known.
    """

    kind: TimeClass
    """The class."""
    activity: str = ""
    """What is done: a function, a stage, a kind of collective; "" for the rest that is too small to be named."""
    detail: str = ""
    """The call, op or event inside it."""
    file: str = ""
    """Of the user's program, without its folder."""
    line: int = 0
    """In that file, 0 when not known."""
    function: str = ""
    """The user's own, or the compiled one."""
    stage: str = ""
    """Of a tf.data pipeline: `Prefetch::ParallelMap`."""
    path: str = ""
    """The framework's, of a device's op."""
    op: str = ""
    """Its HLO name."""
    kernel: str = ""
    """What the device ran."""
    module: str = ""
    """The compiled program."""
    ps: int = 0
    """Summed over the devices that take part, exclusive: an instant is given once."""
