"""Where the step's time goes: one metric a class of the breakdown."""

from __future__ import annotations

from tfadvisor.metrics.registry import Question, metric
from tfadvisor.metrics.steady import share
from tfadvisor.units import Unit
from tfadvisor.vocabulary import TimeClass


@metric(
    "input_bound_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which no device works and the step waits for, or prepares, its next batch.",
)
def input_bound_fraction(question: Question) -> float:
    """Breakdown class `input`."""
    return share(question, TimeClass.INPUT)


@metric(
    "host_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which no device works and the driving thread runs Python that neither loads, "
    "dispatches nor compiles.",
)
def host_fraction(question: Question) -> float:
    """Breakdown class `host`."""
    return share(question, TimeClass.HOST)


@metric(
    "kernel_launch_gap_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which no device works while the host dispatches ops, programs or kernels.",
)
def kernel_launch_gap_fraction(question: Question) -> float:
    """Breakdown class `launch`."""
    return share(question, TimeClass.LAUNCH)


@metric(
    "compile_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which no device works while the step traces, compiles or autotunes. First steps that "
    "compile once do not count as steps.",
)
def compile_fraction(question: Question) -> float:
    """Breakdown class `compile`."""
    return share(question, TimeClass.COMPILE)


@metric(
    "transfer_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which a device only copies.",
)
def transfer_fraction(question: Question) -> float:
    """Breakdown class `transfer`."""
    return share(question, TimeClass.TRANSFER)


@metric(
    "compute_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which a device computes.",
)
def compute_fraction(question: Question) -> float:
    """Breakdown class `compute`."""
    return share(question, TimeClass.COMPUTE)


@metric(
    "idle_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which no device works and the trace does not say why.",
)
def idle_fraction(question: Question) -> float:
    """Breakdown class `idle`."""
    return share(question, TimeClass.IDLE)


@metric(
    "device_busy_fraction",
    unit=Unit.FRACTION,
    about="Share of step time in which a device computes, communicates or copies; mean over the devices.",
)
def device_busy_fraction(question: Question) -> float:
    """Sum of the classes `compute`, `collective` and `transfer`."""
    return sum(share(question, one) for one in (TimeClass.COMPUTE, TimeClass.COLLECTIVE, TimeClass.TRANSFER))
