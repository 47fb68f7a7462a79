"""What a host spends time on that a fix could give back, one kind of work at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import cache

from tfadvisor.timeline.host.calls_that_cost import allocating_time, building_time, handing_time, writing_time
from tfadvisor.timeline.host.pipeline_work import crowded_by_pipeline
from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.intervals import EMPTY, BoolArray, Intervals, difference, intersection, union_of
from tfadvisor.timeline.model import Device, HostActivity, Steps
from tfadvisor.vocabulary import TimeClass


class HostCost(Enum):
    """Kinds of work that a host's time goes to. They may overlap each other.

    A timeline has the instants of each, a summary the time that each takes of the counted steps.
    """

    WAITING = "waiting"
    """The driving thread blocks, whether devices work or not."""
    WRITING = "writing"
    """The driving thread writes files, or prepares to, whether devices work or not; see writing_time."""
    BUILDING = "building"
    """The driving thread builds a tf.data pipeline, one stretch a step, whether devices work or not; see building_time."""
    ALLOCATING = "allocating"
    """No device works, and any thread takes memory from the driver or gives it back."""
    STEP_PYTHON = "step_python"
    """No device works, and the step's compiled program is in Python."""
    BATCH_PYTHON = "batch_python"
    """No device works, and the loop's own Python makes the next batch."""
    EAGER = "eager"
    """No device works, and the driving thread dispatches TensorFlow ops one by one, other than to build a pipeline."""
    HANDING = "handing"
    """No device works, and the driving thread makes arrays of a device out of arrays of the host."""
    CROWDED_LAUNCH = "crowded_launch"
    """No device works, the host dispatches, and ops of a tf.data pipeline run on two threads or more; see crowded_by_pipeline."""


def host_costs(
    threads: Threads,
    steps: Steps,
    activity: HostActivity,
    classes: Mapping[TimeClass, Intervals],
    devices: Sequence[Device],
    pipeline: BoolArray,
) -> Mapping[HostCost, Intervals]:
    """The instants of every cost, in the whole trace. classes: of host_classes_of_time. devices: the active ones.

    pipeline: for every host event, whether it is work of the input pipeline.
    """
    building = building_time(threads, steps)

    @cache
    def works() -> Intervals:
        return union_of(*(part for one in devices for part in (one.compute, one.collective, one.transfer)))

    def alone(time: Intervals, of: TimeClass | None = None) -> Intervals:
        """Where no device works; of: a class of the host's time that it must belong to besides."""
        if not len(time):
            return EMPTY
        return difference(time if of is None else intersection(classes[of], time), works())

    return {
        HostCost.WAITING: activity.wait,
        HostCost.WRITING: writing_time(threads, steps),
        HostCost.BUILDING: building,
        HostCost.ALLOCATING: alone(allocating_time(threads)),
        HostCost.STEP_PYTHON: alone(activity.step_python, TimeClass.HOST),
        HostCost.BATCH_PYTHON: alone(activity.batch_python, TimeClass.INPUT),
        HostCost.EAGER: alone(difference(activity.eager, building), TimeClass.LAUNCH),
        HostCost.HANDING: alone(handing_time(threads, steps.thread), TimeClass.LAUNCH),
        HostCost.CROWDED_LAUNCH: alone(crowded_by_pipeline(threads, pipeline), TimeClass.LAUNCH),
    }
