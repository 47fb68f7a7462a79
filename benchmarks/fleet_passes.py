"""How long `tfadvisor fleet` takes over many runs: first pass, nothing new, report; and
whether the table is always the same.

    python benchmarks/fleet_passes.py --data FOLDER [--runs N] [--again N]

Runs are built on the first call and kept in --data: the recorded fixtures of a single
host and at most 240 kB in turns, each in a folder of a team, a model and a job, by
links where the disk has them. The table of --again runs is made once more in one
process, and of the same runs under one folder after the other, and compared byte for
byte. Run it with a Python in which tfadvisor is installed with the extra `fleet`, not
in editable form.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import sys
import tempfile
import time
from pathlib import Path

from scale import Run, run

COMMAND = Path(sys.executable).parent / "tfadvisor"
FIXTURES = Path(__file__).parent.parent / "fixtures"
LARGEST = 240_000
TEAMS, MODELS = 10, 20


def main() -> None:
    asked = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--data", type=Path, required=True)
    asked.add_argument("--runs", type=int, default=10_000)
    asked.add_argument("--again", type=int, default=500, metavar="N")
    given = asked.parse_args()
    print(
        "| | runs | seconds | CPU seconds | ms of CPU a run | peak memory |\n"
        "|---|---:|---:|---:|---:|---:|"
    )
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "runs.parquet"
        logs = built(given.data, given.runs)
        for name in ("first pass", "nothing new"):
            print(
                row(name, given.runs, *timed([COMMAND, "fleet", logs, "-o", table])),
                flush=True,
            )
        print(
            row("report", given.runs, *timed([COMMAND, "fleet", table])),
            flush=True,
        )
        few = built(given.data, given.again)
        by_team = sorted(few.iterdir(), reverse=True)
        tables = [
            written(Path(folder) / "two.parquet", [few], ["--workers", "2"]),
            written(Path(folder) / "one.parquet", [few], ["--workers", "1"]),
            written(
                Path(folder) / "parts.parquet", [few], [], [[one] for one in by_team]
            ),
        ]
    print(
        f"\n{given.again} runs by two processes, by one, and team by team: "
        f"{len(set(tables))} different table(s)."
    )


def built(data: Path, runs: int) -> Path:
    """A source with so many runs."""
    logs = data / f"runs-{runs}"
    if logs.exists():
        return logs
    alone = originals(data / "originals")
    for number in range(runs):
        file, labels = (
            alone[number % len(alone)],
            (number % TEAMS, number // TEAMS % MODELS),
        )
        folder = (
            logs
            / f"team-{labels[0]}"
            / f"model-{labels[1]:02}"
            / f"job-{number:05}"
            / "plugins/profile/first"
        )
        folder.mkdir(parents=True)
        put(file, folder / "host.xplane.pb")
    return logs


def originals(folder: Path) -> list[Path]:
    """The recorded traces, unpacked."""
    folder.mkdir(parents=True, exist_ok=True)
    found = []
    for packed in sorted(FIXTURES.rglob("*.xplane.pb.gz")):
        trace = gzip.decompress(packed.read_bytes())
        if (
            len(trace) <= LARGEST
            and len(list(packed.parent.glob("*.xplane.pb.gz"))) == 1
        ):
            found.append(folder / f"{len(found):03}.xplane.pb")
            found[-1].write_bytes(trace)
    return found


def put(file: Path, there: Path) -> None:
    try:
        os.link(file, there)
    except OSError:
        shutil.copy2(file, there)


def timed(command: list[object]) -> tuple[float, Run]:
    """(seconds, what it took)."""
    began = time.perf_counter()
    found = run(command)
    return time.perf_counter() - began, found


def written(
    table: Path,
    sources: list[Path],
    options: list[str],
    before: list[list[Path]] | None = None,
) -> bytes:
    """The table's bytes after the sources, in passes of their own where there are some
    before.
    """
    for one in [*(before or []), sources]:
        run([COMMAND, "fleet", *one, "-o", table, *options])
    return table.read_bytes()


def row(name: str, runs: int, seconds: float, found: Run) -> str:
    each = found.cpu_s / runs * 1e3
    return (
        f"| {name} | {runs:,} | {seconds:.1f} | {found.cpu_s:.1f} | {each:.1f} | "
        f"{found.peak_mb:,.0f} MB |"
    )


if __name__ == "__main__":
    main()
