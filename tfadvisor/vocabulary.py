"""The words that many parts share, each with all that is known about it: one home for
each fact.

Rules, outputs, gate, exports and the page read these; docs/generate.py writes the
page's copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Literal

import msgspec

UNKNOWN_COSTS = "the HLO does not tell what most of the computation costs"
"""Why nobody knows how far a step is from its devices' limits, though HLO is there."""


class TimeClass(IntEnum):
    """The classes that an instant of a step can belong to, in the order in which the
    first that holds wins.
    """

    COMPUTE = 0
    COLLECTIVE = 1
    TRANSFER = 2
    COMPILE = 3
    INPUT = 4
    LAUNCH = 5
    HOST = 6
    IDLE = 7

    @property
    def label(self) -> str:
        """Its name in rules, reports and on screen: `compute`."""
        return self.name.lower()

    @property
    def metric(self) -> str:
        """The metric that is its share of step time."""
        return _LOOKS[self].metric

    @property
    def meaning(self) -> str:
        """What holds at such an instant, as the end of a sentence about the device."""
        return _LOOKS[self].meaning

    @property
    def style(self) -> str:
        """Its colour in a terminal, as rich names it."""
        return _LOOKS[self].style

    @property
    def fill(self) -> str:
        """What fills its part of a bar, so that bars without colours tell classes
        apart: a character, and one in ASCII.
        """
        return _LOOKS[self].fill

    @property
    def colours(self) -> tuple[str, str]:
        """Its colours on a light and on a dark page, `#rrggbb`."""
        return _LOOKS[self].light, _LOOKS[self].dark


class _Look(msgspec.Struct, frozen=True):
    metric: str
    style: str
    fill: str
    light: str
    dark: str
    meaning: str


_LOOKS: Mapping[TimeClass, _Look] = {
    TimeClass.COMPUTE: _Look(
        "compute_fraction",
        "green",
        "█#",
        "#0f9d73",
        "#1fb58a",
        "a kernel or op runs on the device",
    ),
    TimeClass.COLLECTIVE: _Look(
        "exposed_collective_fraction",
        "magenta",
        "▚%",
        "#c06fa0",
        "#d48bb8",
        "only communication between devices runs",
    ),
    TimeClass.TRANSFER: _Look(
        "transfer_fraction",
        "yellow",
        "▞/",
        "#e0c31e",
        "#efdf55",
        "only a copy runs",
    ),
    TimeClass.COMPILE: _Look(
        "compile_fraction",
        "cyan",
        "▒=",
        "#56b4e9",
        "#74c5f2",
        "the device waits for tracing, compiling or autotuning",
    ),
    TimeClass.INPUT: _Look(
        "input_bound_fraction",
        "red",
        "▓!",
        "#d55e00",
        "#ee6f35",
        "the device waits for the next batch",
    ),
    TimeClass.LAUNCH: _Look(
        "kernel_launch_gap_fraction",
        "bright_blue",
        "▤+",
        "#0b72b2",
        "#3d94d6",
        "the device waits for ops or kernels to be dispatched",
    ),
    TimeClass.HOST: _Look(
        "host_fraction",
        "bright_red",
        "▥:",
        "#e69f00",
        "#f0b13a",
        "the device waits for other host work: Python, callbacks, logging",
    ),
    TimeClass.IDLE: _Look(
        "idle_fraction",
        "bright_black",
        "░.",
        "#b4bdc7",
        "#55616e",
        "the device waits, and the trace does not say for what",
    ),
}
"""The page's colours are those of Okabe and Ito, which people with any colour vision
tell apart.
"""

TIME_CLASSES: tuple[str, ...] = tuple(time_class.label for time_class in TimeClass)
"""The classes' labels, in order."""

CLASS_OF_WORK: Mapping[str, TimeClass] = {
    "compute": TimeClass.COMPUTE,
    "collective": TimeClass.COLLECTIVE,
    "infeed": TimeClass.INPUT,
    "h2d": TimeClass.TRANSFER,
    "d2h": TimeClass.TRANSFER,
    "d2d": TimeClass.TRANSFER,
    "p2p": TimeClass.TRANSFER,
    "other_copy": TimeClass.TRANSFER,
    "memset": TimeClass.TRANSFER,
}
"""Kind of device work, as the report's ops have it -> the class of step time in which
it counts where nothing hides it.
"""

_WAITS = (TimeClass.LAUNCH, TimeClass.HOST, TimeClass.IDLE)
CATEGORIES: Mapping[str, tuple[TimeClass, ...]] = {
    "input": (TimeClass.INPUT,),
    "host": (TimeClass.HOST,),
    "launch": (TimeClass.LAUNCH,),
    "compile": (TimeClass.COMPILE,),
    "transfer": (TimeClass.TRANSFER,),
    "collective": (TimeClass.COLLECTIVE,),
    # Devices wait for the late one in a collective; without one they stand idle, or
    # seem to wait for their own host.
    "imbalance": (
        TimeClass.COLLECTIVE,
        TimeClass.IDLE,
        TimeClass.LAUNCH,
        TimeClass.HOST,
        TimeClass.INPUT,
        TimeClass.COMPUTE,
    ),
    # The driver's allocator holds up the thread that launches: while it does, no device
    # works. Full memory by itself takes no time, so there is no class `memory`.
    "memory": _WAITS,
    "compute": (TimeClass.COMPUTE,),
    "precision": (TimeClass.COMPUTE,),
    # The device waits while the host runs the misplaced op; only then are its results
    # copied.
    "placement": (*_WAITS, TimeClass.TRANSFER),
    "kernel": (TimeClass.COMPUTE,),
    "capture": tuple(TimeClass),
    "flags": tuple(TimeClass),
}
"""Category of findings -> the classes of time that their saving comes out of, in this
order, unless the rule names others.
"""


class Severity(Enum):
    """How much a finding costs, from the share of step time it could save. The worst
    first.
    """

    CRITICAL = "critical"
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for info up to 4 for critical."""
        return _SEVERITIES_UPWARDS.index(self)


_SEVERITIES_UPWARDS = tuple(reversed(Severity))


class VerdictWords(msgspec.Struct, frozen=True):
    """What a run is called whose step time goes most into one thing."""

    name: str
    """`Input-bound`."""
    lost: str = ""
    """What the time goes into, as the end of `38% of step time is …`; "" where the
    verdict makes its own sentence.
    """


VERDICTS: Mapping[str, VerdictWords] = {
    "input": VerdictWords("Input-bound", "waiting for or preparing the next batch"),
    "host": VerdictWords("Host-bound", "Python work on the host between dispatches"),
    "launch": VerdictWords("Launch-bound", "dispatching ops and kernels"),
    "compile": VerdictWords("Compiling", "tracing and compiling"),
    "transfer": VerdictWords("Transfer-bound", "copying data"),
    "collective": VerdictWords(
        "Communication-bound", "communication that no computation hides"
    ),
    "imbalance": VerdictWords("Unbalanced"),
    "memory": VerdictWords(
        "Memory-bound", "allocating memory from the driver and freeing it"
    ),
    "compute": VerdictWords("Compute-bound"),
    "none": VerdictWords("Healthy"),
    "unknown": VerdictWords("Unknown"),
}
"""Bottleneck of a report's verdict -> its words."""

FRAMEWORKS: Mapping[str, str] = {
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "pytorch-xla": "PyTorch/XLA",
}
"""Framework as reports name it -> as people write it. Reports say `unknown` where the
trace does not tell.
"""


class DeviceKind(Enum):
    """What computes. The most capable first: a run on GPUs is a GPU run although its
    CPU works too.
    """

    GPU = "gpu"
    TPU = "tpu"
    CPU = "cpu"

    @property
    def label(self) -> str:
        """As people write it: `GPU`."""
        return self.value.upper()


class Better(Enum):
    """Which way a metric improves."""

    LESS = "less"
    MORE = "more"
    NEITHER = "neither"
    """It describes the run: a change is news, and neither good nor bad."""


class Scatter(Enum):
    """How a metric differs between runs of one unchanged program."""

    EXACT = "exact"
    """Not at all, but for rounding: counts, bytes, shares that do not depend on how
    fast the machine is.
    """
    COUNTED = "counted"
    """By whole numbers, with the length of the trace or the state of an allocator."""
    SHARE = "share"
    """By differences, like shares of step time."""
    FACTOR = "factor"
    """By factors, like times and rates."""


LaneRole = Literal["classes", "stream", "driver", "thread"]
"""What a lane of a drawn step shows: where the time goes, a device's stream, the host
thread that drives the steps, another.
"""
WhichStep = Literal["median", "worst", "other"]
"""Which of the counted steps is drawn."""

WHERE_THE_DEVICE_RAN = ", placed where the device ran them"
"""What it adds for steps that were shifted to the time the device ran them."""
