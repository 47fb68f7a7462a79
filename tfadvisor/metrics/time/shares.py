"""Where the step's time goes: one metric a class of the breakdown."""

from __future__ import annotations

import math

from tfadvisor.metrics.needs import a_device
from tfadvisor.metrics.registry import Question, metric
from tfadvisor.metrics.steady import needs_own_launches, share
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better, TimeClass


@metric(unit=Unit.FRACTION, needs=(a_device,), better=Better.LESS)
def input_bound_fraction(question: Question) -> float:
    """Share of step time in which no device works and the step waits for, or prepares, its next batch. This is the
    breakdown class `input`.
    """
    return share(question, TimeClass.INPUT)


@metric(unit=Unit.FRACTION, needs=(a_device,), better=Better.LESS)
def host_fraction(question: Question) -> float:
    """Share of step time in which no device works and the driving thread runs Python that neither loads, dispatches nor
    compiles. This is the breakdown class `host`.
    """
    return share(question, TimeClass.HOST)


@metric(unit=Unit.FRACTION, needs=(a_device,), better=Better.LESS)
def kernel_launch_gap_fraction(question: Question) -> float:
    """Share of step time in which no device works while the host dispatches ops, programs or kernels. This is the
    breakdown class `launch`.
    """
    needs_own_launches(question.run)
    return share(question, TimeClass.LAUNCH)


@metric(unit=Unit.FRACTION, needs=(a_device,), better=Better.LESS)
def compile_fraction(question: Question) -> float:
    """Share of step time in which no device works while the step traces, compiles or autotunes. First steps, which
    compile once, do not count. This is the breakdown class `compile`.
    """
    return share(question, TimeClass.COMPILE)


@metric(unit=Unit.FRACTION, needs=(a_device,), better=Better.LESS)
def transfer_fraction(question: Question) -> float:
    """Share of step time in which a device only copies. This is the breakdown class `transfer`."""
    return share(question, TimeClass.TRANSFER)


@metric(unit=Unit.FRACTION, needs=(a_device,), better=Better.MORE)
def compute_fraction(question: Question) -> float:
    """Share of step time in which a device computes. This is the breakdown class `compute`."""
    return share(question, TimeClass.COMPUTE)


@metric(unit=Unit.FRACTION, needs=(a_device,), better=Better.LESS)
def idle_fraction(question: Question) -> float:
    """Share of step time in which no device works and the trace does not say why. This is the breakdown class `idle`."""
    return share(question, TimeClass.IDLE)


@metric(unit=Unit.FRACTION, needs=(a_device,), better=Better.MORE)
def device_busy_fraction(question: Question) -> float:
    """Share of step time in which a device computes, communicates or copies; a mean over the devices."""
    return math.fsum(share(question, one) for one in (TimeClass.COMPUTE, TimeClass.COLLECTIVE, TimeClass.TRANSFER))
