"""What a trace in S3 costs beside the same one on the disk, by a server of moto's on
this machine.

    pip install '.[remote]' s3fs 'moto[s3,server]'
    python benchmarks/from_s3.py TRACE [--rounds N]

In turns: the trace on the disk, the same out of the bucket without a copy kept, and its
plain download by s3fs. What that takes, Python's start and the driver's included, is
the transfer; the rest of the second is compared with the first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

COMMAND = Path(sys.executable).parent / "tfadvisor"
BUCKET = "s3://traces"
SERVE = """
import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""
FETCH = "import sys, fsspec; fsspec.filesystem('s3').get_file(sys.argv[1], '/dev/null')"


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("trace", type=Path)
    asked.add_argument("--rounds", type=int, default=7)
    given = asked.parse_args()
    with bucket() as environment:
        address = f"{BUCKET}/{given.trace.name}"
        put(given.trace, address, environment)
        commands: dict[str, Sequence[str | Path]] = {
            "disk": [COMMAND, "analyze", given.trace, "-f", "json"],
            "s3": [COMMAND, "analyze", address, "-f", "json"],
            "transfer": [sys.executable, "-c", FETCH, address],
        }
        took: dict[str, list[float]] = {name: [] for name in commands}
        for _ in range(given.rounds + 1):
            for name, command in commands.items():
                took[name].append(seconds(command, environment))
    disk, s3, moved = (statistics.median(found[1:]) for found in took.values())
    print(
        f"{given.trace.stat().st_size / 1e6:.1f} MB: {disk:.2f} s from the disk, "
        f"{s3:.2f} s from S3, of which {moved:.2f} s are"
        f" the transfer: {(s3 - moved) / disk:.2f} times beyond it"
    )


@contextmanager
def bucket() -> Iterator[dict[str, str]]:
    """An empty bucket of a server in a process of its own, as what a client has to have
    in its environment.
    """
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        environment = {
            **os.environ,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        try:
            yield environment
        finally:
            server.kill()


def put(trace: Path, address: str, environment: dict[str, str]) -> None:
    code = (
        "import sys, fsspec; place = fsspec.filesystem('s3'); place.mkdir('traces'); "
        "place.put_file(*sys.argv[1:])"
    )
    subprocess.run(
        [sys.executable, "-c", code, str(trace), address], env=environment, check=True
    )


def seconds(command: Sequence[str | Path], environment: dict[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
