"""One host's whole timeline, every event at hand: what is summarised for metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.hlo.format.find_modules import Modules
from tfadvisor.timeline.capture import Capture
from tfadvisor.timeline.host.calls_that_cost import HostCalls
from tfadvisor.timeline.host.compiles import Compiled
from tfadvisor.timeline.host.costs import HostCost
from tfadvisor.timeline.host.host_ops import HostOps
from tfadvisor.timeline.host.input_pipeline import InputPipeline
from tfadvisor.timeline.host.libraries import Libraries
from tfadvisor.timeline.host.loop_frames import FrameShare
from tfadvisor.timeline.host.memory import DeviceMemory
from tfadvisor.timeline.intervals import Intervals
from tfadvisor.timeline.losses.batch_makers import BatchMakers
from tfadvisor.timeline.losses.model import LostTime
from tfadvisor.timeline.model import Device, Steps
from tfadvisor.vocabulary import TimeClass

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfadvisor.timeline.picture.memory_curve import MemoryCurve
    from tfadvisor.timeline.picture.step_picture import StepPicture


class HostEvidence(msgspec.Struct, frozen=True):
    """What explains where a host's time goes, all about the counted steps. Its size does not grow with the events."""

    calls: HostCalls
    """Counts of calls that hold a step up."""
    frames: tuple[FrameShare, ...]
    """The calls that the training loop makes in Python, those that cost most first; empty without a Python tracer."""
    compiles: tuple[Compiled, ...]
    """What was compiled in a step."""
    pipeline: InputPipeline | None
    """The stages of the input pipeline, None without tf.data."""
    host_ops: HostOps
    """TensorFlow's ops that run on the host although the step has a device."""
    pipeline_ops: HostOps
    """The ops of the functions that tf.data maps over elements."""
    losses: tuple[LostTime, ...]
    """The classes of lost time that are large, the largest first, each with what fills most of it."""
    makers: BatchMakers
    """Python threads beside the loop that make its batches while it waits for one."""
    memory: tuple[DeviceMemory, ...]
    """What the allocators of the devices report, one each."""
    libraries: Libraries
    """Which libraries the program is written with, as far as names prove it."""
    pictures: tuple[StepPicture, ...]
    """The steps that a page draws; empty unless they were asked for."""
    memory_curves: tuple[MemoryCurve, ...] = ()
    """What each allocator has given out over time; likewise."""


class HostTimeline(msgspec.Struct, frozen=True):
    """One host."""

    host: str
    """Its name."""
    capture: Capture
    """What its trace says about itself."""
    steps: Steps
    """By ascending start, those that do not count included."""
    breakdown: npt.NDArray[np.int64]
    """ps, shape (active devices, steps, TimeClass); one row when there is no active device."""
    takes_part: npt.NDArray[np.bool_]
    """Shape (active devices, steps): False where a device did nothing in a step that others worked in."""
    short_launch_ps: npt.NDArray[np.int64]
    """Time of the breakdown's class LAUNCH in pieces shorter than 100 µs, shape (active devices, steps)."""
    evidence: HostEvidence
    """What explains the breakdown."""
    devices: tuple[Device, ...]
    """Every device of the trace, the inactive ones too."""
    programs: Modules
    """The HLO that the trace carries."""
    classes: Mapping[TimeClass, Intervals]
    """The instants of COMPILE, INPUT, LAUNCH and HOST, whatever the devices do meanwhile; they do not overlap."""
    costs: Mapping[HostCost, Intervals]
    """The instants of every cost, in the whole trace."""

    def active_devices(self) -> tuple[Device, ...]:
        """The devices that the breakdown is about, in its order."""
        return tuple(device for device in self.devices if device.is_active)
