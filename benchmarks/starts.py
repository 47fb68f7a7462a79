"""Does a program give the same results and end with the same code under `tfadvisor run`
as without it, start for start?

    python benchmarks/starts.py --jax PYTHON --tensorflow PYTHON [--starts 200] [--out FILE]

Each start is one of the program alone and one under `run`, with a number of steps and
an exit code of their own. What a start gave goes into FILE, a line each; those that are
there already are not repeated.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

PROGRAMS = Path(__file__).parent / "programs_to_run"
COMMAND = Path(sys.executable).parent / "tfadvisor"
STEPS = 150, 300, 600, 900
CODES = 0, 0, 3
_DIGEST = re.compile(r"(?m)^[0-9a-f]{64}$")


def ended(command: Sequence[object], folder: str) -> tuple[int, list[str]]:
    """Exit code, and the digests that were printed."""
    done = subprocess.run(
        list(map(str, command)),
        check=False,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    return done.returncode, _DIGEST.findall(done.stdout)


def start(name: str, python: Path, number: int) -> dict[str, object]:
    """The program alone and under `run`."""
    code = CODES[number % len(CODES)]
    steps = STEPS[number % len(STEPS)]
    program = (python, PROGRAMS / f"starts_{name}.py", steps, code)
    with tempfile.TemporaryDirectory() as folder:
        alone = ended(program, folder)
        run = ended((COMMAND, "run", "--out", "logdir", "--", *program), folder)
        is_recorded = any(Path(folder).rglob("*.xplane.pb"))
    return {
        "program": name,
        "number": number,
        "steps": steps,
        "alone": alone,
        "run": run,
        "recorded": is_recorded,
        "same": alone == run and len(alone[1]) == 1,
    }


def main(arguments: Sequence[str]) -> int:
    """1 where a start differs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--jax", type=Path, required=True)
    parser.add_argument("--tensorflow", type=Path, required=True)
    parser.add_argument("--starts", type=int, default=200)
    parser.add_argument("--out", type=Path, default=Path("starts.jsonl"))
    asked = parser.parse_args(arguments)
    lines = asked.out.read_text().splitlines() if asked.out.exists() else []
    found = [json.loads(line) for line in lines]
    known = {(each["program"], each["number"]) for each in found}
    pythons = {"jax": asked.jax, "keras": asked.tensorflow}
    for number in range(asked.starts):
        for name, python in pythons.items():
            if (name, number) in known:
                continue
            found.append(start(name, python, number))
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(found[-1]) + "\n")
    for name in pythons:
        mine = [each for each in found if each["program"] == name]
        counted = Counter((each["same"], each["recorded"]) for each in mine)
        print(f"{name}: {len(mine)} starts, (same, recorded): {dict(counted)}")
    return 0 if all(each["same"] for each in found) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
