"""How fast a device can compute and move data at most, and the least time that work
needs on it.
"""

from __future__ import annotations

import msgspec

from tfadvisor.metrics.precision import product_kind, rounds_to_tf32
from tfadvisor.metrics.registry import MetricAbsent
from tfadvisor.timeline.devices import UNKNOWN, Peaks, peaks_of
from tfadvisor.timeline.names.kernels import Precision, precision_of_type
from tfadvisor.timeline.run import RunSummary
from tfadvisor.timeline.summary import HostSummary, HotOp
from tfadvisor.trace.counters import MachineRates
from tfadvisor.vocabulary import DeviceKind

TRANSCENDENTAL = 16
"""Operations that a transcendental function counts as: a multiprocessor computes 16 of
them in the cycle in which it does 256 operations (NVIDIA's table of arithmetic
instructions, since capability 5.0); a polynomial on a CPU has about as many."""
NOT_MEASURED = (
    "how fast this machine computes and moves data was not measured; `tfadvisor run` "
    "measures it once the program has ended, if the cores are free then"
)
NOT_STATED = "the trace does not say how fast the device and its memory are"


class Rates(msgspec.Struct, frozen=True):
    """Of one device."""

    peaks: Peaks
    rounds: bool | None
    """Whether it rounds fp32 to TF32 in products; None where nobody knows."""

    @property
    def are_known(self) -> bool:
        """Whether both limits are."""
        return self.peaks.bytes_per_s is not None and self._of_cores is not None

    @property
    def _of_cores(self) -> float | None:
        """Operations a second outside of matrix units, at most."""
        return self.peaks.fp32_flops or self.peaks.flops

    def product_s(
        self,
        flops: int,
        dtype: str,
        kernel: str,
    ) -> float:
        """Seconds that products take at the peak of the type that is multiplied: fp8,
        TF32 or fp32 where the peak in it is known, else 16 bits. 0 for unknown peaks.
        """
        precision = product_kind(
            kernel,
            precision_of_type(dtype),
            self.rounds,
        ).precision
        own = {
            Precision.FP8: self.peaks.fp8_flops,
            Precision.INT8: self.peaks.fp8_flops,
            Precision.TF32: self.peaks.tf32_flops,
            Precision.FP32: self.peaks.fp32_flops,
            Precision.FP64: self.peaks.fp32_flops,
        }
        peak = own.get(precision) or self.peaks.flops or self.peaks.fp32_flops
        return flops / peak if peak else 0.0

    def other_s(self, operations: int) -> float:
        """Seconds of arithmetic outside of matrix units. 0 for unknown peaks."""
        return operations / self._of_cores if self._of_cores else 0.0

    def moving_s(self, moved: int) -> float:
        """Seconds that so many bytes take. 0 for an unknown bandwidth."""
        return moved / self.peaks.bytes_per_s if self.peaks.bytes_per_s else 0.0

    def arithmetic_s(self, op: HotOp) -> float:
        """Seconds that the arithmetic of one execution takes at least; 0 where its HLO
        is not known.
        """
        if op.known is None:
            return 0.0
        cost = op.known.cost
        if op.known.multiplied or op.known.products:
            return self.product_s(cost.flops, op.known.multiplied, op.kernel)
        return self.other_s(cost.flops + TRANSCENDENTAL * cost.transcendentals)


def rates_of(run: RunSummary, host: HostSummary) -> Rates:
    """Of the device that a host's programs are looked up for: as its plane or its maker
    states them, of a CPU as measured beside the recording.
    """
    device = host.program_device
    if device.kind is DeviceKind.CPU:
        return Rates(_measured(run, host), rounds=False)
    is_gpu = device.kind is DeviceKind.GPU
    rounds = rounds_to_tf32(device.properties) if is_gpu else None
    return Rates(peaks_of(device.kind, device.properties), rounds)


def known_rates(run: RunSummary, host: HostSummary) -> Rates:
    """The same. Raises MetricAbsent unless both limits are known."""
    rates = rates_of(run, host)
    if not rates.are_known:
        is_cpu = host.program_device.kind is DeviceKind.CPU
        raise MetricAbsent(NOT_MEASURED if is_cpu else NOT_STATED)
    return rates


def _measured(run: RunSummary, host: HostSummary) -> Peaks:
    """Of one of the host's devices, which share its cores."""
    rates = _beside(run, host)
    if rates is None:
        return UNKNOWN
    devices = max(len(host.devices), 1)
    return Peaks(
        None, rates.bytes_per_s / devices, fp32_flops=rates.fp32_flops / devices
    )


def _beside(run: RunSummary, host: HostSummary) -> MachineRates | None:
    """What was measured of a host; of a run's only one, whatever its file is called."""
    is_only = len(run.hosts) == 1
    for counter in run.counters:
        if counter.counted is not None and (is_only or counter.host == host.host):
            return counter.counted.rates
    return None
