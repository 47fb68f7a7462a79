"""Copies between host and devices, and on devices: time and bytes a step."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.metrics.steady import (
    a_device,
    a_gpu,
    accelerators,
    an_accelerator,
    counted_hosts,
    covered_per_step,
    device_steps,
    gpus,
    known_steps,
    share,
    spent,
)
from tfadvisor.timeline.devices import capability, vendor
from tfadvisor.timeline.host import HostCost
from tfadvisor.timeline.names.classes import DeviceClass
from tfadvisor.timeline.run import RunSummary
from tfadvisor.timeline.summary import CopyTotals, DeviceSummary
from tfadvisor.units import PS_PER_MS, Unit
from tfadvisor.vocabulary import Better, DeviceKind, TimeClass

if TYPE_CHECKING:
    from tfadvisor.program.parameters import ManyNumbers


def _totals(question: Question, kind: DeviceClass) -> list[CopyTotals]:
    return [
        device.copies[kind]
        for _, device in accelerators(question.run)
        if kind in device.copies
    ]


_WAYS = {
    "h2d": (DeviceClass.H2D, "host-to-device", "from host to device"),
    "d2h": (DeviceClass.D2H, "device-to-host", "from device to host"),
    "d2d": (DeviceClass.D2D, "device-to-device", "within or between devices"),
}


def _register(
    word: str,
    kind: DeviceClass,
    copy: str,
    way: str,
) -> None:
    def milliseconds(question: Question) -> float:
        return (
            covered_per_step(question.run, accelerators(question.run), kind) / PS_PER_MS
        )

    def size(question: Question) -> float:
        totals = _totals(question, kind)
        if any(total.unsized for total in totals):
            raise MetricAbsent("the trace does not say how large these copies are")
        return sum(total.bytes for total in totals) / device_steps(question.run)

    milliseconds.__name__ = f"{word}_ms_per_step"
    size.__name__ = f"{word}_bytes_per_step"
    milliseconds.__doc__ = (
        f"Time per step and device during which a {copy} copy runs, whether or not "
        "computation hides it."
    )
    size.__doc__ = f"Bytes copied {way} per step and device."
    for unit, function in ((Unit.MS, milliseconds), (Unit.BYTES, size)):
        metric(unit=unit, needs=(known_steps, an_accelerator))(function)


for _word, _about in _WAYS.items():
    _register(_word, *_about)


_PCIE = {7: (3, 16), 8: (4, 32), 9: (5, 63), 10: (5, 63), 12: (5, 63)}
"""NVIDIA's compute capability -> the generation of PCIe that its data sheets name, and
GB/s of 16 lanes one way.
"""
_WITH_A_CPU = re.compile(r"\bG[HB]\d", re.IGNORECASE)
"""GH200, GB200: NVLink links these to the CPU beside them."""


@metric(unit=Unit.GB_S, needs=(a_gpu, known_steps), better=Better.MORE)
def h2d_gb_s(question: Question) -> float:
    """Rate of the host-to-device copies: bytes over the time in which one runs."""
    totals = _totals(question, DeviceClass.H2D)
    devices = accelerators(question.run)
    ps = covered_per_step(question.run, devices, DeviceClass.H2D)
    if not ps or any(total.unsized for total in totals):
        raise MetricAbsent("the trace does not say how large these copies are")
    size = sum(total.bytes for total in totals) / device_steps(question.run)
    return size / ps * 1e3


@fact(needs=(a_gpu,))
def host_link(question: Question) -> str:
    """What links the GPU to the host at best, and what may keep copies from its rate:
    `PCIe 4, up to 32 GB/s one way; most copies are of pageable memory`.
    """
    known = _pcie(gpus(question.run)[0][1])
    if known is None:
        raise MetricAbsent("nobody says what links GPUs of this model to the host")
    link = f"PCIe {known[0]}, up to {known[1]} GB/s one way"
    pageable = sum(host_copy.pageable for host_copy in _host_copies(question))
    pinned = sum(host_copy.pinned for host_copy in _host_copies(question))
    return f"{link}; most copies are of pageable memory" if pageable > pinned else link


def _pcie(device: DeviceSummary) -> tuple[int, int] | None:
    """(generation, GB/s one way) of a GPU's link to its host; None where nobody says
    what that is.
    """
    is_beside_a_cpu = _WITH_A_CPU.search(device.model) is not None
    if is_beside_a_cpu or vendor(device.properties) != "nvidia":
        return None
    return _PCIE.get(capability(device.properties)[0])


class CopyRate(msgspec.Struct, frozen=True):
    """Copies one way, per counted step and device."""

    way: str
    """`host to device`, as "Where the step goes" has it."""
    ms: float
    """Time in which one of them runs."""
    bytes: float | None
    """None where the trace does not say how large they are."""
    gb_s: float | None
    """Their rate in that time; None where the trace does not say how large they are."""
    meaning: str
    """What that rate is due to or comes near to; "" where nothing known says it."""


def copy_rates(run: RunSummary) -> tuple[CopyRate, ...]:
    """Between host and device; [] of ways in which nothing is copied. Raises
    MetricAbsent without an accelerator.
    """
    devices = accelerators(run)
    steps = device_steps(run)
    found = []
    for kind, way in _BETWEEN.items():
        ps = covered_per_step(run, devices, kind)
        if not ps:
            continue
        copies = [device.copies[kind] for _, device in devices if kind in device.copies]
        size = gb_s = None
        meaning = ""
        if not any(total.unsized for total in copies):
            size = sum(total.bytes for total in copies) / steps
            gb_s = size / ps * 1e3
            meaning = _meaning(gb_s, copies, _pcie(devices[0][1]))
        found.append(CopyRate(way, ps / PS_PER_MS, size, gb_s, meaning))
    return tuple(found)


_BETWEEN = {
    DeviceClass.H2D: "host to device",
    DeviceClass.D2H: "device to host",
}
_NEAR_THE_LINK = 0.75
"""Of the rate in data sheets; pinned copies of 256 MiB reach 0.88 on an H200
(fixtures/gpu/jax-copies-in)."""
_SMALL_BYTES = 1 << 16
"""A PCIe 3 link moves these in 4 µs, and starting a copy takes some."""


def _meaning(
    gb_s: float,
    copies: Sequence[CopyTotals],
    link: tuple[int, int] | None,
) -> str:
    if sum(total.bytes for total in copies) < _SMALL_BYTES * _count(copies):
        return "small copies: starting one takes most of its time"
    if link is None:
        return ""

    pageable = sum(total.pageable for total in copies)
    pinned = sum(total.pinned for total in copies)
    if gb_s >= _NEAR_THE_LINK * link[1]:
        why = "near what the link can do"
    elif pageable > pinned:
        why = "pageable memory, which the driver copies twice"
    elif pinned:
        why = "below the link's rate"
    else:
        why = (
            "below the link's rate; the trace does not say whether the memory is "
            "pageable, which the driver copies twice"
        )
    return f"{why}: PCIe {link[0]} carries up to {link[1]} GB/s one way"


def _count(copies: Sequence[CopyTotals]) -> int:
    return sum(total.count for total in copies)


@metric(unit=Unit.COUNT, needs=(a_gpu, known_steps))
def d2h_copies_per_step(question: Question) -> float:
    """Number of device-to-host copies per step and device. The host waits for each of
    them when it reads the value.
    """
    # Of GPUs only: a TPU's line shows the start and the end of each copy as events of
    # their own.
    return sum(
        total.count for total in _totals(question, DeviceClass.D2H)
    ) / device_steps(question.run)


def _host_copies(question: Question) -> list[CopyTotals]:
    return [
        total
        for kind in (DeviceClass.H2D, DeviceClass.D2H)
        for total in _totals(question, kind)
    ]


@metric(unit=Unit.COUNT, needs=(known_steps, an_accelerator))
def host_copies_per_step(question: Question) -> float:
    """Number of copies between host and device, both ways, per step and device. An
    input of a few arrays and a loss need fewer than ten.
    """
    return sum(host_copy.count for host_copy in _host_copies(question)) / device_steps(
        question.run
    )


@metric(unit=Unit.BYTES, needs=(known_steps, an_accelerator), better=Better.NEITHER)
def host_copy_bytes(question: Question) -> float:
    """Mean size of the copies between host and device whose size the trace gives."""
    found = _host_copies(question)
    sized = sum(copies.count - copies.unsized for copies in found)
    if not sized:
        raise MetricAbsent("the trace does not say how large the copies are")
    return sum(copies.bytes for copies in found) / sized


@metric(needs=(known_steps, an_accelerator))
def pageable_copy_share(question: Question) -> float:
    """Share of the copies between host and device, by number, that touch pageable host
    memory, among those whose memory kind the trace gives. The driver copies such memory
    twice, and the host waits for it.
    """
    totals = _host_copies(question)
    known = sum(total.pageable + total.pinned for total in totals)
    if not known:
        raise MetricAbsent(
            "no copy of a counted step says what kind of host memory it touches"
        )
    return sum(total.pageable for total in totals) / known


def _by_direction(question: Question) -> dict[str, int]:
    """How long copies run in the counted steps, hidden or not, ps: in (host to device),
    out (device to host), within (on the device), between (devices) and offload (either
    way between device and host, by an op of the compiled program)."""
    known_steps(question.run)
    time = dict.fromkeys(("in", "out", "within", "between", "offload"), 0)
    for host, device in accelerators(question.run):
        covered = device.covered_ps[host.steps.steady()].sum(axis=0)
        for way, kind in (("in", DeviceClass.H2D), ("out", DeviceClass.D2H)):
            offloaded = round(int(covered[kind]) * _share_of_program(device, kind))
            time["offload"] += offloaded
            time[way] += int(covered[kind]) - offloaded
        time["within"] += int(covered[DeviceClass.D2D])
        time["between"] += int(covered[DeviceClass.P2P])
    return time


def _share_of_program(device: DeviceSummary, kind: DeviceClass) -> float:
    """How much of the copies' time is that of a compiled program's ops: all of it on a
    TPU, whose trace holds nothing else.
    """
    rows = device.ops.of_class(kind)
    every = int(device.ops.total_ps[rows].sum())
    if device.kind is DeviceKind.TPU or not every:
        return 1.0
    return int(device.ops.total_ps[rows][device.ops.op[rows] >= 0].sum()) / every


def _only_copying(question: Question) -> dict[str, float]:
    """The share of step time in which devices only copy, by direction: in proportion to
    their copies' time.
    """
    only_copying = share(question, TimeClass.TRANSFER)
    time = _by_direction(question)
    every = math.fsum(time.values())
    if not every:
        return dict.fromkeys(time, 0.0)
    return {way: only_copying * ps / every for way, ps in time.items()}


def _hideable(question: Question) -> dict[str, float]:
    found = _only_copying(question)
    return {**found, "in": min(found["in"], share(question, TimeClass.COMPUTE))}


@metric
def hideable_copy_fraction(question: Question) -> float:
    """Share of step time in which a device only copies although it need not: copies to
    the device as far as computation could hide them, and all other copies, which could
    be left out.
    """
    return math.fsum(_hideable(question).values())


@fact
def hideable_copies(question: Question) -> str:
    """Direction that takes most of the copying time that could be hidden or left out:
    in (host to device), out (device to host), within (on the device), between (devices)
    or offload (either way between device and host, by an op of the compiled program, as
    where it keeps activations in the host's memory).
    """
    found = _hideable(question)
    if not any(found.values()):
        raise MetricAbsent("no device only copies")
    return max(found, key=found.__getitem__)


@metric
def unhideable_copy_fraction(question: Question) -> float:
    """Share of step time in which a device only copies from the host and would still do
    so if its computation ran at the same time. It is what hideable_copy_fraction leaves
    of transfer_fraction.
    """
    return max(_only_copying(question)["in"] - share(question, TimeClass.COMPUTE), 0.0)


@metric(needs=(a_device,))
def array_handing_fraction(question: Question) -> float:
    """The part of kernel_launch_gap_fraction in which the dispatching thread converts
    host arrays to device arrays: JAX's `DevicePut`, which converts and copies each
    NumPy argument of a call.
    """
    return min(
        spent(counted_hosts(question.run), HostCost.HANDING),
        share(question, TimeClass.LAUNCH),
    )


def _numbers(question: Question) -> ManyNumbers:
    programs = (host.program for host in counted_hosts(question.run))
    found = (program.numbers for program in programs if program is not None)
    numbers = next(filter(None, found), None)
    if numbers is None:
        raise MetricAbsent("no call hands arrays over, or the trace carries no HLO")
    return numbers


@metric(unit=Unit.COUNT)
def numbers_as_arguments(question: Question) -> float:
    """Number of arguments of the step's program that are single numbers of one list or
    tree: each is converted and handed over on its own in every call. From the trace's
    HLO, which names arguments in JAX.
    """
    return float(_numbers(question).count)


@fact
def numbers_argument(question: Question) -> str:
    """The argument that holds them, as the program's source names it: `indices`."""
    name = _numbers(question).name
    if not name:
        raise MetricAbsent("the step's program takes no list of numbers")
    return name
