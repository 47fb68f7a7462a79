"""How `tfadvisor analyze` grows with the kernels of one GPU: seconds, peak memory, at
three sizes.

python benchmarks/gpu_plane.py [--kernels N …]

The traces are built (build_gpu_plane.py), so that no GPU is needed, and deleted
afterwards.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from against_xprof import MB, median, run
from build_gpu_plane import trace


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--kernels", type=int, nargs="+", default=[50_000, 500_000, 5_000_000]
    )
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        for kernels in arguments.kernels:
            path = Path(place) / f"{kernels}.xplane.pb"
            path.write_bytes(trace(kernels))
            command = Path(sys.executable).parent / "tfadvisor"
            measured = median(
                [run([command, "analyze", path]) for _ in range(arguments.runs)]
            )
            size = path.stat().st_size / MB
            print(
                f"{kernels:>10,} kernels {size:7.1f} MB {measured.seconds:7.2f} s "
                f"{measured.peak_mb:7.0f} MB"
            )
            path.unlink()


if __name__ == "__main__":
    main()
