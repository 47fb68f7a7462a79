"""A user's first hour with two slow programs: what does the first screen of the first
recording say of each planted fault, and does `tfadvisor try` prove each change within
five minutes?

python benchmarks/first_hour/first_hour.py --keras PYTHON --jax PYTHON --out FOLDER

`programs/reviews.py` and `programs/names.py` have three faults each, and a change for
each lies beside them as a diff. A fault is named where one finding of the first screen
holds its place and a change that removes it, by the patterns below, which were written
before the first recording. Changes are tried as a user tries them: all that are left at
once, then those that are not proved yet on top of those that are, since one fault hides
another; where only all of them together are better, each on top of the others. It
writes FOLDER/first_hour.json.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

PROGRAMS = Path(__file__).parent / "programs"
COMMAND = Path(sys.executable).parent / "tfadvisor"


class Fault(NamedTuple):
    """What is planted, how it is named, and what mends it."""

    name: str
    place: str
    change: str
    epochs: bool = False
    """Whether it costs at ends of epochs, so that whole ones are timed."""


FAULTS = {
    "reviews": (
        Fault(
            "map",
            r"\bencoded?\b|reviews\.py:(2[4-9]|3[0-4])",
            r"TensorFlow's? (own )?ops|num_parallel_calls|tf\.strings",
        ),
        Fault(
            "predict",
            r"on_epoch_end|reviews\.py:4[4-9]",
            r"one call|predict_on_batch",
            epochs=True,
        ),
        Fault(
            "histograms",
            r"on_train_batch_end|reviews\.py:6[0-2]",
            r"once in|every \d+|less often",
        ),
    ),
    "names": (
        Fault("update", r"names\.py:7[3-5]", r"jax\.jit"),
        Fault(
            "batch",
            r"batch_of|encode|names\.py:(2[3-9]|3[0-4]|72)",
            r"NumPy|processes|ahead|at once",
        ),
        Fault("evaluate", r"evaluate|names\.py:(59|6[01]|77)", r"once|outside"),
    ),
}


def findings(screen: str) -> list[str]:
    """Each finding and question of a first screen, as one line of words."""
    parts = re.split(r"(?m)^(?=\d+\. |Worth checking)", screen)[1:]
    return [" ".join(part.partition("Looked at and fine")[0].split()) for part in parts]


def said(*command: object, cwd: Path) -> tuple[int, str, float]:
    """Exit code, both streams, and seconds."""
    began = time.monotonic()
    done = subprocess.run(
        list(map(str, command)), check=False, cwd=cwd, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr, time.monotonic() - began


def hour(name: str, python: Path, out: Path) -> dict[str, object]:
    """What became of one program."""
    folder = out / name
    folder.mkdir(parents=True)
    shutil.copy(PROGRAMS / f"{name}.py", folder)
    program = (python, f"{name}.py")
    code, screen, seconds = said(
        COMMAND, "run", "--out", "logdir", "--", *program, cwd=folder
    )
    (folder / "run.txt").write_text(screen, encoding="utf-8")
    parts = findings(screen)
    named = {
        fault.name: any(
            re.search(fault.place, part) and re.search(fault.change, part)
            for part in parts
        )
        for fault in FAULTS[name]
    }
    print(f"{name}: {named}, run {code} {seconds:.0f} s")
    tries = [
        each
        for faults in by_time(FAULTS[name])
        for each in proved(name, faults, program, folder)
    ]
    return {
        "named": named,
        "run": {"code": code, "seconds": round(seconds)},
        "tries": tries,
    }


def by_time(faults: Sequence[Fault]) -> list[list[Fault]]:
    """Those that cost in steps, and those that cost at ends of epochs."""
    groups = [
        [fault for fault in faults if fault.epochs == epochs] for epochs in (0, 1)
    ]
    return [group for group in groups if group]


def proved(
    name: str, faults: Sequence[Fault], program: Sequence[object], folder: Path
) -> Iterator[dict[str, object]]:
    """One `try` after another, each with the changes that are proved in the program,
    until all are, or one proves none. Where it proves only all together, each on top of
    the others.
    """
    left = list(faults)
    while left:
        found = tried(name, left, program, folder)
        yield found
        if not found["proved"] and found["together"]:
            for fault in left:
                others = [other for other in left if other is not fault]
                yield on_top(name, fault, others, program, folder)
        if not found["proved"]:
            return
        mend(name, found["proved"], folder)
        left = [fault for fault in left if fault.name not in found["proved"]]


def on_top(
    name: str,
    fault: Fault,
    others: Sequence[Fault],
    program: Sequence[object],
    folder: Path,
) -> dict[str, Any]:
    """What `try` says of one change in a copy of the program with the others."""
    copy = folder.parent / f"{name}-{fault.name}"
    copy.mkdir()
    shutil.copy(folder / f"{name}.py", copy)
    mend(name, [other.name for other in others], copy)
    return tried(name, [fault], program, copy)


def mend(name: str, faults: Sequence[str], folder: Path) -> None:
    for fault in faults:
        change = PROGRAMS / f"{name}-{fault}.diff"
        said("patch", "-p1", "-i", change, cwd=folder)


def tried(
    name: str, faults: Sequence[Fault], program: Sequence[object], folder: Path
) -> dict[str, Any]:
    """What `try` says of their changes within five minutes."""
    options: list[object] = ["--epochs"] if faults[0].epochs else []
    for fault in faults:
        options += ["--patch", PROGRAMS / f"{name}-{fault.name}.diff"]
    code, told, took = said(
        COMMAND, "try", *options, "--budget", "5m", "--", *program, cwd=folder
    )
    print(f"{name}: try {code} {took:.0f} s\n{told}")
    better = [
        fault.name
        for fault in faults
        if re.search(rf"(?m)^better .*{name}-{fault.name}\.diff", told)
    ]
    return {
        "proved": better,
        "together": bool(re.search("(?m)^better +all together", told)),
        "code": code,
        "seconds": round(took),
        "said": told.splitlines(),
    }


def main(arguments: Sequence[str]) -> int:
    """1 where a fault is not named or its change not proved."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--keras", type=Path, help="a Python with TensorFlow and Keras")
    parser.add_argument("--jax", type=Path, help="a Python with JAX and Optax")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args(arguments)
    pythons = {"reviews": asked.keras, "names": asked.jax}
    found = {
        name: hour(name, python, asked.out.resolve())
        for name, python in pythons.items()
        if python is not None
    }
    text = json.dumps(found, indent=1) + "\n"
    (asked.out / "first_hour.json").write_text(text, encoding="utf-8")
    return 0 if all(all(one["named"].values()) for one in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
