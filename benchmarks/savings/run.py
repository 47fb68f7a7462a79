"""How true are promised savings? Fits what goes with a fault on CPUs, counts the programs
on a GPU (`on_gpu.json`), writes rules/savings.json and benchmarks/savings/results.md.

    python benchmarks/savings/run.py                          from pairs.json
    python benchmarks/savings/run.py --data FOLDER [--again]  reads new recordings first; --again: all of them

FOLDER holds the recordings of the diagnosis benchmark and of its blind batches. Exit
codes: 0 done, 1 nothing to fit, 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import msgspec
from msgspec.structs import replace

sys.path.insert(0, str(Path(__file__).resolve().parent))

import page
from counts import counts, judged
from fit import fitted, left_out
from gpu_rows import held, rows
from pairs import ROOT, collected, keep, kept

CALIBRATION = ROOT / "rules" / "savings.json"
PAGE = Path(__file__).resolve().parent / "results.md"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--data",
        type=Path,
        help="folder with recordings; without it pairs.json is used as it is",
    )
    parser.add_argument(
        "--again", action="store_true", help="read those again that pairs.json has"
    )
    options = parser.parse_args()
    known = {one.program: one for one in kept()}
    if options.data is not None:
        read = list(collected(options.data, {} if options.again else known))
        names = {one.program for one in read}
        keep([*read, *(one for name, one in known.items() if name not in names)])
    pairs = kept()
    of_diagnosis = [one for one in pairs if one.batch == "diagnosis"]
    if not of_diagnosis:
        print("there are no pairs: give --data", file=sys.stderr)
        return 1
    others = left_out(of_diagnosis)
    calibration = replace(fitted(of_diagnosis), held={"gpu": held(rows())})
    CALIBRATION.write_text(
        json.dumps(msgspec.to_builtins(calibration), indent=1) + "\n", encoding="utf-8"
    )
    found = {
        one.program: judged(one, others.get(one.program, calibration)) for one in pairs
    }
    diagnosis = [
        one
        for one in found.values()
        if one is not None and one.pair.batch == "diagnosis"
    ]
    blind = [
        one
        for one in found.values()
        if one is not None and one.pair.batch != "diagnosis"
    ]
    silent = [one for one in pairs if found[one.program] is None]
    PAGE.write_text(
        page.written(diagnosis, blind, silent, calibration), encoding="utf-8"
    )
    for name, some in (("diagnosis", diagnosis), ("blind", blind)):
        print(name, "before", counts(some, before=True))
        print(name, "now", counts(some))
    return 0


if __name__ == "__main__":
    sys.exit(main())
