"""One host's whole timeline, every event at hand: what is summarised for metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from tfadvisor.hlo.format.find_modules import Modules
from tfadvisor.timeline.capture import Capture
from tfadvisor.timeline.host.calls_that_cost import HostCalls
from tfadvisor.timeline.host.compiles import Compiled
from tfadvisor.timeline.host.host_ops import HostOps
from tfadvisor.timeline.host.input_pipeline import InputPipeline
from tfadvisor.timeline.host.loop_frames import FrameShare
from tfadvisor.timeline.host.memory import DeviceMemory
from tfadvisor.timeline.host.shared_cores import SharedCores
from tfadvisor.timeline.intervals import EMPTY, Int64Array, Intervals
from tfadvisor.timeline.model import Device, HostActivity, Steps

if TYPE_CHECKING:
    import numpy.typing as npt

    from tfadvisor.timeline.picture.step_picture import StepPicture


class HostTimeline(msgspec.Struct, frozen=True):
    """One host. breakdown: ps, shape (active devices, steps, TimeClass); one row when there is no active device.

    takes_part: shape (active devices, steps), False where a device did nothing in a step that others worked in.
    programs: the HLO that the trace carries. dispatch_starts: of the driving thread. frames, compiles and pipeline are
    about the counted steps. pipeline is None without tf.data. memory_calls: of the driver's allocation in
    the counted steps. pictures: only where they were asked for. allocating: when any thread is inside such a call.
    handing: when the driving thread makes arrays of a device out of arrays of the host. cores: of a run without an accelerator.
    """

    host: str
    path: str
    window: tuple[int, int]
    session_start_ns: int
    programs: Modules
    devices: tuple[Device, ...]
    steps: Steps
    activity: HostActivity
    breakdown: npt.NDArray[np.int64]
    takes_part: npt.NDArray[np.bool_]
    dispatch_starts: Int64Array
    capture: Capture
    pipeline: InputPipeline | None
    frames: tuple[FrameShare, ...]
    compiles: tuple[Compiled, ...]
    host_ops: HostOps
    memory: tuple[DeviceMemory, ...]
    memory_calls: int
    pictures: tuple[StepPicture, ...] = ()
    calls: HostCalls = HostCalls()
    allocating: Intervals = EMPTY
    handing: Intervals = EMPTY
    cores: SharedCores = SharedCores()

    def active_devices(self) -> tuple[Device, ...]:
        """The devices that the breakdown is about, in its order."""
        return tuple(device for device in self.devices if device.is_active)
