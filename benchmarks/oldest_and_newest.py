"""Runs the tests of the decoder, the timeline, the metrics and the command on each
Python, with the oldest and the newest dependencies, and prints a Markdown table.

    python benchmarks/oldest_and_newest.py [--environments DIR] [--only 3.10-oldest
    3.13-newest …]

`.ci/lowest.txt` names the oldest. Needs the Pythons, pip and a C compiler. Exit code 1
when a test fails.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from beside_frameworks import ROOT, install, installed_in, make, wheel_for

PYTHONS = ("3.10", "3.11", "3.12", "3.13")
KINDS = {"oldest": ("-c", str(ROOT / ".ci" / "lowest.txt")), "newest": ()}
ROOMS = (
    "tests/unit/trace",
    "tests/unit/timeline",
    "tests/unit/metrics",
    "tests/unit/cli",
)
# its protoc comes with the newest protobuf only
WITHOUT = "tests/unit/trace/test_proto_file.py"
# protobuf 3.20 reads 36 of 4,000 mutated traces otherwise, and one in thousands of
# random texts
DAMAGED = [
    f"tests/unit/trace/test_decoder_agreement.py::test_agree_on_{kind}_bytes"
    for kind in ("mutated", "random")
]
FOR_TESTS = (
    "pytest",
    "pytest-xdist",
    "hypothesis",
    "jsonschema",
    "xmlschema",
    "pandas>=2.1,<3",
    "libcst>=1.5",
)
TOLD = ("numpy", "pandas", "protobuf", "msgspec", "rich", "pyyaml")


def main() -> int:
    """Runs the wanted combinations one after the other; their environments are
    deleted.
    """
    combinations = [f"{python}-{kind}" for python in PYTHONS for kind in KINDS]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--environments",
        type=Path,
        default=Path(".venv-oldest"),
        help="default: %(default)s",
    )
    parser.add_argument(
        "--only",
        nargs="+",
        choices=combinations,
        default=combinations,
        metavar="COMBINATION",
    )
    options = parser.parse_args()
    heads = ("Python", "dependencies", *TOLD, "tests")
    print(f"| {' | '.join(heads)} |\n|{' --- |' * len(heads)}", flush=True)
    failed = False
    for name in options.only:
        python, _, kind = name.partition("-")
        folder = options.environments.absolute() / name
        interpreter = make(folder, python, ())
        with tempfile.TemporaryDirectory() as place:
            install(
                interpreter,
                *KINDS[kind],
                str(wheel_for(interpreter, python, Path(place))),
                *FOR_TESTS,
            )
        found = installed_in(interpreter)
        last, wrong = tested(
            interpreter, DAMAGED if found["protobuf"].startswith("3.20.") else []
        )
        print(
            f"| {' | '.join((python, kind, *(found[one] for one in TOLD), last))} |",
            flush=True,
        )
        failed |= wrong
        shutil.rmtree(folder)
    return int(failed)


def tested(interpreter: Path, without: list[str]) -> tuple[str, bool]:
    """The summary of pytest without its time, and whether anything failed; failures go
    to standard error.
    """
    command = [interpreter, "-m", "pytest", "-n", "auto", *ROOMS, "--ignore", WITHOUT]
    command += [f"--deselect={name}" for name in without]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout[-4000:], file=sys.stderr)
    return re.sub(
        r" in .*", "", done.stdout.strip().split("\n")[-1]
    ), done.returncode != 0


if __name__ == "__main__":
    sys.exit(main())
