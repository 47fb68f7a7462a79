"""Steps of a trace without markers: from executions of one program, from a pattern of launches, from the host's loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tfadvisor.timeline.host.threads import Threads
from tfadvisor.timeline.model import Device
from tfadvisor.timeline.steps.by_batch import batches_of_layered_steps, batches_taken, thread_that_takes_most
from tfadvisor.timeline.steps.by_function import calls_of_tf_function, iterations_in_function
from tfadvisor.timeline.steps.by_module import calls_of_jitted_function, executions_on_device, runs_called_before
from tfadvisor.timeline.steps.by_pattern import repeated_dispatches, repeated_kernels
from tfadvisor.timeline.steps.few_calls import Calls, uneven_calls
from tfadvisor.timeline.steps.rhythm import Inferred
from tfadvisor.xplane.columns import HostTrace


def inferred_steps(
    trace: HostTrace,
    threads: Threads,
    devices: Sequence[Device],
    driver: int,
    launching: Callable[[], Calls | None],
) -> Inferred | None:
    """The first of these that gives three cycles: module executions, a launch pattern, the host's loop.

    launching: gives the calls of the function that launches most device work, asked only where it is needed.
    """
    attempts: tuple[Callable[[], Inferred | None], ...] = (
        lambda: executions_on_device(trace),
        lambda: calls_of_jitted_function(threads, devices, driver),
        lambda: runs_called_before(threads, devices, driver),
        lambda: batches_of_layered_steps(threads, calls_of_tf_function(trace, threads)),
        lambda: iterations_in_function(trace, threads),
        lambda: uneven_calls(launching()),
        lambda: batches_taken(threads, driver),
        lambda: batches_taken(threads, thread_that_takes_most(threads)),
        lambda: repeated_dispatches(threads, driver),
        lambda: repeated_kernels(devices),
    )
    for attempt in attempts:
        found = attempt()
        if found is not None and found.confidence > 0:
            return found
    return None
