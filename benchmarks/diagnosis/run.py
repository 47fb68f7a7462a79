"""Records the programs of the diagnosis benchmark, asks each advisor what is wrong, and
counts how often it is right.

    python benchmarks/diagnosis/run.py                     record everything, write benchmarks/diagnosis/results.md
    python benchmarks/diagnosis/run.py --skip-recording    judge what is recorded already
    python benchmarks/diagnosis/run.py --only NAME ...     some programs; prints the page instead of writing it
    python benchmarks/diagnosis/run.py --repeat 3          record each form three times, to see the noise
    python benchmarks/diagnosis/run.py --patient           wait for a calm machine, record again what was disturbed

Recordings are kept in benchmarks/data/diagnosis. Exit codes: 0 done, 1 a program could
not be recorded or an advisor said something that its adapter has no cause for, 2 usage.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import first_sight
import on_gpu
import page
import record
from adapters import installed
from answers import Diagnosis, Planted, UnmappedError, checked, load_truth, planted
from score import Case, alarms, rank_of_cause, rank_of_class
from sources import programs

PAGE = record.HERE / "results.md"


def main() -> int:
    truth = load_truth()
    options = arguments(truth)
    names = options.only or list(truth["programs"])
    adapters = installed(options.advisors)
    for adapter in adapters.values():
        if unmapped := adapter.unmapped():
            print(
                f"{adapter.NAME}: no cause in its adapter for {', '.join(unmapped)}",
                file=sys.stderr,
            )
            return 1
    failed = [] if options.skip_recording else record_all(truth, names, options)
    why_no_gpu = (
        None if options.skip_recording or options.only else on_gpu.record(truth["gpu"])
    )
    recordings = [
        (
            planted(name, truth["programs"][name], truth["programs"][name]["fault"]),
            form == "faulty",
            folder,
        )
        for name in names
        for form in record.FORMS
        for folder in record.recorded(name, form)
    ]
    of_gpu = [] if options.only else on_gpu.recorded(truth["gpu"])
    try:
        cases = {
            name: judged(adapter, recordings, truth["causes"])
            for name, adapter in adapters.items()
        }
        gpu = {
            name: judged(adapter, of_gpu, truth["causes"])
            for name, adapter in adapters.items()
        }
    except UnmappedError as error:
        print(error, file=sys.stderr)
        return 1
    if options.keep_first_answers:
        first_sight.keep(cases[first_sight.ADVISOR])
    for name, some in cases.items():
        print_cases(name, some, truth["causes"])
    text = page.written(
        truth,
        cases,
        adapters,
        gpu if of_gpu else why_no_gpu or "no GPU where this was recorded.",
    )
    if options.only or options.advisors:
        print(text)
    else:
        PAGE.write_text(text, encoding="utf-8")
        print(page.summary(cases, truth["causes"]))
    for name in failed:
        print(f"not recorded: {name}", file=sys.stderr)
    return int(bool(failed))


def arguments(truth: Mapping[str, Any]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="these programs; the page is printed"
    )
    parser.add_argument(
        "--skip-recording",
        action="store_true",
        help="use the recordings that are there",
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="record each form N times"
    )
    parser.add_argument(
        "--patient",
        action="store_true",
        help="wait for a calm machine, repeat disturbed recordings",
    )
    parser.add_argument(
        "--disturbed",
        action="store_true",
        help="record only what is missing or was disturbed",
    )
    parser.add_argument(
        "--keep-first-answers",
        action="store_true",
        help="tfadvisor's answers are those of first sight",
    )
    parser.add_argument(
        "--advisors",
        nargs="+",
        metavar="NAME",
        help="modules of adapters/; the page is printed",
    )
    options = parser.parse_args()
    if unknown := sorted(set(options.only or ()) - set(truth["programs"])):
        parser.error(f"no such program: {', '.join(unknown)}")
    missing = sorted(programs(record.PACKED).keys() ^ truth["programs"].keys())
    if missing:
        parser.error(f"in programs.txt or in truth.yaml only: {', '.join(missing)}")
    return options


def record_all(
    truth: Mapping[str, Any], names: Sequence[str], options: argparse.Namespace
) -> list[str]:
    """Returns the programs that could not be recorded."""
    failed = []
    for name in names:
        for form in record.FORMS:
            for number in range(1, options.repeat + 1):
                if options.disturbed and record.is_calm(name, form, number):
                    continue
                try:
                    about = record.record(
                        name, truth["programs"][name], form, number, options.patient
                    )
                except record.RecordingError as error:
                    print(error, file=sys.stderr)
                    failed.append(f"{name}, {form}")
                    continue
                noise = about["other_cores"]
                print(
                    f"{name} {form} {number}: {about['step_ms']:.2f} ms, other "
                    f"processes took {noise} cores",
                    flush=True,
                )
    return failed


def judged(
    adapter: Any,
    recordings: Sequence[tuple[Planted, bool, Path]],
    vocabulary: Mapping[str, Any],
) -> list[Case]:
    cases = []
    known: dict[Path, Diagnosis] = {}
    for truth, faulty, folder in recordings:
        if folder not in known:
            known[folder] = checked(
                adapter.diagnose(sorted(folder.glob("*.xplane.pb.gz"))), vocabulary
            )
        about = json.loads((folder / "recording.json").read_text(encoding="utf-8"))
        number = int(folder.name) if folder.name.isdigit() else 1
        step_ms, others = about.get("step_ms"), about.get("other_cores")
        cases.append(
            Case(truth, faulty, number, step_ms, others, known[folder], folder)
        )
    return cases


def print_cases(
    advisor: str, cases: Sequence[Case], vocabulary: Mapping[str, Any]
) -> None:
    for case in cases:
        if case.faulty:
            rank, class_rank = rank_of_cause(case, vocabulary), rank_of_class(case)
            state = f"cause {rank or '-'}, class {class_rank or '-'}"
        else:
            state = "FALSE ALARM" if alarms(case) else "quiet"
        seen = f"{case.diagnosis.step_ms:.2f}" if case.diagnosis.step_ms else "no"
        measured = f"{case.step_ms:.2f}" if case.step_ms else "?"
        form = "faulty" if case.faulty else "healthy"
        print(
            f"{advisor:10} {case.planted.name:28} {form:8} {state:22} step {seen} ms "
            f"(measured {measured})"
        )
        for answer in case.diagnosis.answers if case.faulty else alarms(case):
            print(
                f"{'':20} {', '.join(answer.causes)}{'' if answer.sure else '?'}: "
                f"{answer.text}"
            )


if __name__ == "__main__":
    sys.exit(main())
