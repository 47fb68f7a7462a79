"""What TensorFlow's allocators write about the memory of an op."""

from __future__ import annotations

from tfadvisor.units import number_of

_OF_FILTERS = "BackpropFilter"
"""The end of the type of ops that compute a convolution's gradient by its filters,
whose output has the filters' shape: height, width, channels, filters.
"""


def is_of_filters(op: str) -> bool:
    """Whether an op computes a convolution's gradient by its filters."""
    return op.endswith(_OF_FILTERS)


def is_output(region: str) -> bool:
    """Whether memory is for what an op returns."""
    return region == "output"


def last_of_shape(shape: str) -> int | None:
    """The last dimension of `[3,3,8,6]`; None where there is none."""
    return number_of(shape.strip("[]").rpartition(",")[2])
