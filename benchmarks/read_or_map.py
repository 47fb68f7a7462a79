"""What does it cost to read a trace into memory instead of mapping it, which a file
that is cut would punish with SIGBUS?

python benchmarks/read_or_map.py [--times 9] [--publish]     copies of a fixture's trace in a file, decoded either way by turns

warm: the system has the file in memory. cold: it was told to forget it. --publish
writes the table of tests/system/robustness/README.md.
"""

from __future__ import annotations

import argparse
import gzip
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from marked_part import put

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "tests" / "system" / "robustness" / "README.md"
SIZES = (1 << 20, 40 << 20)
WAYS = ("read", "mapped")
DECODES = """
import mmap, re, sys, time
from pathlib import Path
from tfadvisor.trace import compiled_decoder, source
from tfadvisor.timeline.host_build import SELECTION
path, way = Path(sys.argv[1]), sys.argv[2]
began = time.perf_counter()
if way == "read":
    opened = source.open_source(path)
else:
    with path.open("rb") as file:
        mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    opened = source.Source(str(path), mapped, len(mapped))
got = time.perf_counter()
compiled.decode(opened, SELECTION, None)
print(got - began, time.perf_counter() - began, re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
"""


def main(arguments: Sequence[str]) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--publish", action="store_true")
    asked = parser.parse_args(arguments)
    lines = [
        "",
        "| file | way | opened, warm | decoded, warm | decoded, cold | peak memory |",
        "|--:|---|--:|--:|--:|--:|",
    ]
    (trace,) = (ROOT / "fixtures" / "jax-loader").glob("*.xplane.pb.gz")
    piece = gzip.decompress(trace.read_bytes())
    with tempfile.TemporaryDirectory() as place:
        for size in SIZES:
            file = Path(place) / f"{size}.xplane.pb"
            file.write_bytes(piece * max(size // len(piece), 1))
            os.sync()
            lines += rows(file, asked.times)
            file.unlink()
    text = "\n".join(lines) + "\n\n"
    print(text)
    if asked.publish:
        put(PAGE, "read or mapped", text)
    return 0


def rows(file: Path, times: int) -> list[str]:
    """One for each way."""
    warm: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    cold: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    for _ in range(times):
        for way in WAYS:
            forget(file)
            cold[way].append(decoded(file, way))
            warm[way].append(decoded(file, way))
    found = []
    for way in WAYS:
        opened, whole, memory = (
            median(one[at] for one in warm[way]) for at in range(3)
        )
        late = median(one[1] for one in cold[way])
        found.append(
            f"| {file.stat().st_size / 1e6:,.0f} MB | {way} | {1000 * opened:,.1f} "
            f"ms | {1000 * whole:,.0f} ms | "
            f"{1000 * late:,.0f} ms | {memory / 1000:,.0f} MB |"
        )
    return found


def decoded(file: Path, way: str) -> list[float]:
    """Seconds until it is open, until it is decoded, and peak memory in kB."""
    call = [sys.executable, "-c", DECODES, str(file), way]
    return [
        float(one)
        for one in subprocess.run(
            call, capture_output=True, text=True, check=True
        ).stdout.split()
    ]


def forget(file: Path) -> None:
    """Makes the system read the file again."""
    with file.open("rb") as opened:
        os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
