"""Builds a run of many hosts with eight GPUs each, without a GPU: one host is late, one
file is cut, one has foreign keys.

python benchmarks/build_gpu_hosts.py OUT HOSTS

Twelve marked steps. In each, every GPU runs sixteen kernels and meets all others in an
AllReduce, which ends when the last GPU of the run has arrived. The GPUs of the late
host, in the middle, begin their AllReduces 4 ms after the others, and those wait.
Clocks are up to 5 s apart. The first host but one was recorded in another run, whose
ids are others.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from build_hosts import MOST_APART_NS, command, name_of

from tfadvisor.trace import messages

STEPS, GPUS, KERNELS = 12, 8, 16
STEP_PS, KERNEL_PS, PITCH_PS, EXCHANGE_PS, LATE_PS = (
    10**10,
    250_000_000,
    300_000_000,
    400_000_000,
    4 * 10**9,
)
LAUNCH_PS = 5_000_000
FOREIGN, CUT = 1, 2
"""Hosts by number; CUT has the last third of its file missing."""
STATS = ("step_num", "_r", "correlation_id", "run_id")
STEP_NUM, ROOT, CORRELATION, RUN = range(1, 5)
NAMES = (
    "train",
    "cuLaunchKernel",
    "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
    *(f"fusion_{k}" for k in range(KERNELS)),
)
TRAIN, LAUNCH, EXCHANGE, FIRST = 1, 2, 3, 4


def build(out: Path, hosts: int) -> str:
    """Writes the files and returns the name of the late host. hosts: six at least."""
    out.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    for number in range(hosts):
        space = host(
            name_of(number),
            draw.randrange(MOST_APART_NS),
            number == hosts // 2,
            number == FOREIGN,
        )
        data = space.SerializeToString()
        (out / f"{name_of(number)}.xplane.pb").write_bytes(
            data[: len(data) * 2 // 3] if number == CUT else data
        )
    return name_of(hosts // 2)


def host(name: str, apart_ns: int, late: bool, foreign: bool) -> messages.XSpace:  # type: ignore[name-defined]
    """One host's trace. apart_ns: its clock before the others'."""
    space = messages.XSpace(hostnames=[name.encode()])
    cpu = plane(space, 1, "/host:CPU")
    python = cpu.lines.add(id=7, name=b"python", timestamp_ns=apart_ns)
    for step in range(STEPS):
        marker = python.events.add(
            metadata_id=TRAIN, offset_ps=step * STEP_PS, duration_ps=STEP_PS - LAUNCH_PS
        )
        marker.stats.add(metadata_id=STEP_NUM, int64_value=step)
        marker.stats.add(metadata_id=ROOT, int64_value=1)
        for index in range(GPUS * (KERNELS + 1)):
            at = step * STEP_PS + (index + 1) * 2 * LAUNCH_PS
            call = python.events.add(
                metadata_id=LAUNCH, offset_ps=at, duration_ps=LAUNCH_PS
            )
            call.stats.add(
                metadata_id=CORRELATION,
                int64_value=1 + step * GPUS * (KERNELS + 1) + index,
            )
    for gpu in range(GPUS):
        stream = plane(space, 2 + gpu, f"/device:GPU:{gpu}").lines.add(
            id=1, name=b"Stream #1(Compute,Collective)", timestamp_ns=apart_ns
        )
        for index, (step, row, start, length) in enumerate(work(late)):
            event = stream.events.add(
                metadata_id=row, offset_ps=start, duration_ps=length
            )
            launch = (
                1
                + step * GPUS * (KERNELS + 1)
                + gpu * (KERNELS + 1)
                + index % (KERNELS + 1)
            )
            event.stats.add(metadata_id=CORRELATION, int64_value=launch)
            event.stats.add(
                metadata_id=RUN, int64_value=step + 1 + (1 << 40 if foreign else 0)
            )
    return space


def work(late: bool) -> Iterator[tuple[int, int, int, int]]:
    """(step, row, start, length) of what one GPU runs, ps. A late one computes longer,
    and waits for nobody.
    """
    for step in range(STEPS):
        at = step * STEP_PS + GPUS * (KERNELS + 1) * 2 * LAUNCH_PS
        for kernel in range(KERNELS):
            longer = LATE_PS if late and kernel == KERNELS - 1 else 0
            yield step, FIRST + kernel, at + kernel * PITCH_PS, KERNEL_PS + longer
        begin = at + KERNELS * PITCH_PS
        end = begin + LATE_PS + EXCHANGE_PS
        begin += LATE_PS if late else 0
        yield step, EXCHANGE, begin, end - begin


def plane(space: messages.XSpace, number: int, name: str) -> messages.XPlane:  # type: ignore[name-defined]
    found = space.planes.add(id=number, name=name.encode())
    for table, texts in ((found.event_metadata, NAMES), (found.stat_metadata, STATS)):
        for key, text in enumerate(texts, start=1):
            table[key].id = key
            table[key].name = text.encode()
    return found


if __name__ == "__main__":
    command(__doc__, build)
