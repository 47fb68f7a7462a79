"""What host threads and devices can be doing: the classes that names are sorted into."""

from __future__ import annotations

from enum import IntEnum


class HostClass(IntEnum):
    """What a host thread does while an event of this name is the innermost known one."""

    OTHER = 0
    INPUT = 1
    """Waits for or prepares the next batch on the very thread that needs it."""
    COMPILE = 2
    """Traces, lowers, compiles or autotunes."""
    LAUNCH = 3
    """Dispatches ops, programs, kernels or copies."""
    WAIT = 4
    """Blocks until something else is done; belongs to what it waits for."""
    OP = 5
    """A TensorFlow op's kernel, `name:Type`."""
    CONTROL_OP = 6
    """An op that only runs other ops: a function call, a loop, a send or receive."""
    PROCESS = 7
    """TensorFlow's executor picking ops: dispatch, where no op runs inside it."""
    CAPTURED = 8
    """tf.data running a user function; its `id` marks the executor work that belongs to the input pipeline."""
    DATASET = 9
    """A stage of a tf.data pipeline."""
    RUN_EAGER = 10
    """TensorFlow's eager runtime inside a kernel: the op itself on a CPU, a wait when the op is a function."""
    PROFILER = 11
    """The profiler starting or stopping."""
    FRAME = 12
    """A Python frame that says nothing by its name."""
    EAGER_OP = 13
    """The eager runtime handling one named op: dispatch around the kernel."""
    GET_NEXT = 14
    """The consumer's end of a tf.data pipeline: the step waits for a batch."""


class DeviceClass(IntEnum):
    """What a device does in an event."""

    COMPUTE = 0
    COLLECTIVE = 1
    H2D = 2
    D2H = 3
    D2D = 4
    P2P = 5
    OTHER_COPY = 6
    MEMSET = 7
    INFEED = 8
    """A TPU waits for the host to hand over the next batch."""
    NO_WORK = 9
    """Nothing that the device does: an allocation, a page fault, a sample of a counter."""


COPIES = (
    DeviceClass.H2D,
    DeviceClass.D2H,
    DeviceClass.D2D,
    DeviceClass.P2P,
    DeviceClass.OTHER_COPY,
    DeviceClass.MEMSET,
)
