"""Builds a run of many hosts from a recorded one of a few: other names, other clocks,
one host that is late.

python benchmarks/build_hosts.py OUT HOSTS

The hosts are those of fixtures/jax-hosts-late in turns; the late one stands in the
middle, once. Clocks are up to 5 s apart.
"""

from __future__ import annotations

import argparse
import gzip
import random
import sys
from collections.abc import Callable
from pathlib import Path

from tfadvisor.trace import messages

RECORDED = Path(__file__).parent.parent / "fixtures" / "jax-hosts-late"
LATE = 1
MOST_APART_NS = 5_000_000_000


def command(about: str | None, build: Callable[[Path, int], str]) -> None:
    """OUT and HOSTS for whoever builds a run; prints the name of the late host."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("hosts", type=int)
    arguments = parser.parse_args()
    sys.stderr.write(f"late: {build(arguments.out, arguments.hosts)}\n")


def build(out: Path, hosts: int) -> str:
    """Writes the files and returns the name of the late host."""
    out.mkdir(parents=True, exist_ok=True)
    draw = random.Random(1)
    recorded = [space_of(file) for file in sorted(RECORDED.rglob("*.xplane.pb*"))]
    others = [one for index, one in enumerate(recorded) if index != LATE]
    for number in range(hosts):
        space = recorded[LATE] if number == hosts // 2 else others[number % len(others)]
        host, apart = name_of(number), draw.randrange(MOST_APART_NS)
        copy = messages.XSpace()
        copy.CopyFrom(space)
        del copy.hostnames[:]
        copy.hostnames.append(host.encode())
        for plane in copy.planes:
            for line in plane.lines:
                line.timestamp_ns += apart
        (out / f"{host}.xplane.pb").write_bytes(copy.SerializeToString())
    return name_of(hosts // 2)


def name_of(number: int) -> str:
    return f"worker-{number:05d}"


def space_of(file: Path) -> messages.XSpace:  # type: ignore[name-defined]
    data = file.read_bytes()
    space = messages.XSpace()
    space.ParseFromString(gzip.decompress(data) if file.suffix == ".gz" else data)
    return space


if __name__ == "__main__":
    command(__doc__, build)
