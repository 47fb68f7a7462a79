"""Builds a GPU trace of any size: one device plane with millions of kernels, each
linked to its launch.

python benchmarks/build_gpu_plane.py OUT.xplane.pb KERNELS

No machine is needed: events are laid out by NumPy in protobuf's wire format, numbers
padded to a fixed width so that all events of a line have one size. 200 distinct kernels
on four streams, twenty marked steps, a launch of 3 µs each.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tfadvisor.trace import messages

STEPS, STREAMS, NAMES = 20, 4, 200
KERNEL_PS, PITCH_PS, LAUNCH_PS, LEAD_PS = 4_000_000, 5_000_000, 3_000_000, 20_000_000
BYTES_8, BYTES_5, BYTES_2 = 8, 5, 2
CORRELATION, STEP_NUM, ROOT = 1, 2, 3

Int64Array = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("kernels", type=int)
    arguments = parser.parse_args()
    with arguments.out.open("wb") as file:
        file.write(trace(arguments.kernels))
    sys.stderr.write(f"{arguments.out.stat().st_size / 1e6:.1f} MB\n")


def trace(kernels: int) -> bytes:
    """An XSpace with `/device:GPU:0` and `/host:CPU`."""
    index = np.arange(kernels, dtype=np.int64)
    start = LEAD_PS + index * PITCH_PS
    name = 1 + index * 7919 % NAMES
    lines = []
    for stream in range(STREAMS):
        mine = index % STREAMS == stream
        events = padded_events(
            name[mine], start[mine], np.full(mine.sum(), KERNEL_PS), index[mine] + 1
        )
        lines.append(
            field(3, line(stream + 1, f"Stream #{stream + 1}(Compute)", events))
        )
    device = messages.XPlane(id=1, name=b"/device:GPU:0")
    for number in range(1, NAMES + 1):
        kind = "gemm_f16f16_f16f32" if number % 3 else "loop_fusion"
        device.event_metadata[number].id = number
        device.event_metadata[number].name = f"sm90_xmma_{kind}_{number}".encode()
    name_stats(device)
    launches = padded_events(
        np.ones(kernels, np.int64),
        index * PITCH_PS,
        np.full(kernels, LAUNCH_PS),
        index + 1,
    )
    host = messages.XPlane(id=2, name=b"/host:CPU")
    for number, text in ((1, b"cuLaunchKernel"), (2, b"train")):
        host.event_metadata[number].id = number
        host.event_metadata[number].name = text
    name_stats(host)
    period = max(kernels * PITCH_PS // STEPS, 1)
    for number in range(STEPS):
        step = messages.XEvent(
            metadata_id=2, offset_ps=number * period, duration_ps=period
        )
        step.stats.add(metadata_id=STEP_NUM, int64_value=number)
        step.stats.add(metadata_id=ROOT, int64_value=1)
        launches = field(4, step.SerializeToString()) + launches
    lines_host = field(3, line(7, "python", launches))
    return (
        field(1, b"".join(lines) + device.SerializeToString())
        + field(1, lines_host + host.SerializeToString())
        + field(4, b"built")
    )


def name_stats(plane: messages.XPlane) -> None:  # type: ignore[name-defined]
    for number, text in (
        (CORRELATION, b"correlation_id"),
        (STEP_NUM, b"step_num"),
        (ROOT, b"_r"),
    ):
        plane.stat_metadata[number].id = number
        plane.stat_metadata[number].name = text


def line(number: int, name: str, events: bytes) -> bytes:
    return messages.XLine(id=number, name=name.encode()).SerializeToString() + events


def field(number: int, data: bytes) -> bytes:
    """A length-delimited field."""
    return bytes([number << 3 | 2]) + varint(len(data)) + data


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def padded_events(
    name: Int64Array, start: Int64Array, duration: Int64Array, correlation: Int64Array
) -> bytes:
    """XEvents with one stat each, all of one size."""
    stat = [constant(len(name), 0x08, CORRELATION, 0x18), padded(correlation, BYTES_5)]
    body = [
        constant(len(name), 0x08),
        padded(name, BYTES_2),
        constant(len(name), 0x10),
        padded(start, BYTES_8),
        constant(len(name), 0x18),
        padded(duration, BYTES_5),
        constant(len(name), 0x22, sum(part.shape[1] for part in stat)),
        *stat,
    ]
    size = sum(part.shape[1] for part in body)
    return np.concatenate([constant(len(name), 0x22, size), *body], axis=1).tobytes()


def constant(count: int, *values: int) -> Bytes:
    return np.tile(np.array(values, np.uint8), (count, 1))


def padded(values: Int64Array, width: int) -> Bytes:
    """Varints of a fixed number of bytes: all but the last say that more follows."""
    shifts = np.arange(width, dtype=np.int64) * 7
    digits = (values[:, None] >> shifts & 127).astype(np.uint8)
    digits[:, :-1] |= 128
    return digits


if __name__ == "__main__":
    main()
