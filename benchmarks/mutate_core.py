"""Do the tests notice when the core is changed? Breaks its modules in small ways and runs the tests near each.

    python benchmarks/mutate_core.py [--module PART]… [--sample N] [--seed S] [--jobs 2] [--again] [--write] [--least 0.9]

A mutant is a module with one change: a number moved up or down, a comparison, and/or, + or - replaced, a condition dropped,
an entry taken out of a table. Each runs in a process of its own, with a time limit, until the first test fails; then it is
killed. Results are kept in benchmarks/data, so that a run goes on where the last one stopped: mutants of an unchanged
module are not run again, survivors are with --again. Mutants that change nothing that a caller could see are listed with
the reason in equivalent_mutants.yaml and count neither way. --write puts the scores into docs/mutation.md.
Exit code 1 when a module's score is below --least.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType

import hypothesis  # noqa: F401  (loaded once for all mutants, as the three below)
import msgspec  # noqa: F401
import numpy as np  # noqa: F401
import pytest
import yaml
from core_mutants import mutants

ROOT = Path(__file__).parents[1]
KEPT = ROOT / "benchmarks" / "data" / "core_mutants.json"
PAGE = ROOT / "docs" / "mutation.md"
EQUIVALENT = ROOT / "benchmarks" / "equivalent_mutants.yaml"
MEMORY = 8 << 30
LEFT_OUT = "not exclude_each_other and not stripping_the_markers"
"""Tests that take seconds and fail where a faster one does, too."""

_IN_STEPS = "timeline/steps/test_"
_ACCEPTED = (f"{_IN_STEPS}accepted_steps.py", f"{_IN_STEPS}inference.py", f"{_IN_STEPS}which_steps_count.py")
_FOUND = (f"{_IN_STEPS}find.py", f"{_IN_STEPS}which_steps_count.py", f"{_IN_STEPS}few_calls.py")
_DRIVER = ("timeline/host/test_time_of_driver.py", f"{_IN_STEPS}breakdown.py")
_VERDICT, _CLAIMS, _JUDGED = (f"engine/judging/test_{name}.py" for name in ("verdict", "claims", "judge_rules"))
_GATE = ("gate/judging/test_surprise.py", "gate/judging/test_relative.py")
MODULES = {
    "timeline/steps/find.py": _FOUND,
    "timeline/steps/markers.py": (f"{_IN_STEPS}markers.py", f"{_IN_STEPS}find.py"),
    "timeline/steps/by_module.py": _ACCEPTED,
    "timeline/steps/by_function.py": _ACCEPTED,
    "timeline/steps/by_batch.py": _ACCEPTED,
    "timeline/steps/by_pattern.py": _ACCEPTED,
    "timeline/steps/rhythm.py": _ACCEPTED,
    "timeline/steps/periodicity.py": (f"{_IN_STEPS}periodicity.py", *_ACCEPTED),
    "timeline/steps/same_name.py": _ACCEPTED,
    "timeline/steps/few_calls.py": (f"{_IN_STEPS}few_calls.py", *_ACCEPTED),
    "timeline/steps/capture_work.py": (f"{_IN_STEPS}capture_work.py", f"{_IN_STEPS}few_calls.py"),
    "timeline/steps/breakdown.py": _DRIVER,
    "timeline/host/threads.py": ("timeline/host/test_threads.py", f"{_IN_STEPS}find.py"),
    "timeline/host/dispatches.py": ("timeline/host/test_dispatches.py", "timeline/host/test_evaluations.py"),
    "timeline/host/time_of_driver.py": _DRIVER,
    "timeline/host/eager_ops.py": (*_DRIVER, "timeline/host/test_evaluations.py", "metrics/host/test_eager_steps.py"),
    "timeline/names/host.py": ("timeline/names",),
    "engine/judging/claims.py": (_CLAIMS,),
    "engine/judging/verdict.py": (_VERDICT,),
    "engine/judging/judge_rules.py": (_JUDGED, "engine/judging/test_outcomes.py", _CLAIMS),
    "engine/judging/few_steps.py": (_JUDGED, _VERDICT),
    "statistics/mann_whitney.py": ("statistics/test_mann_whitney.py",),
    "gate/judging/surprise.py": _GATE,
    "gate/judging/relative.py": _GATE,
}
"""Module of the core, below tfadvisor/ -> the tests near it, below tests/, those that find most first."""


class _Mutated(SourceFileLoader):
    """Loads other code than the file holds, and finds it for this one module."""

    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        super().__init__(name, str(path))
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code

    def find_spec(self, fullname: str, _path: object = None, _target: object = None) -> ModuleSpec | None:
        return spec_from_file_location(fullname, self.path, loader=self) if fullname == self.name else None


def start(module: str, code: CodeType | None, tests: Sequence[str]) -> int:
    """Forks a process that runs the tests with this code in the module's place (None: as it is); its id."""
    child = os.fork()
    if child:
        return child
    outcome = 70
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        os.chdir(ROOT)
        os.environ |= {"CI": "1", "HYPOTHESIS_STORAGE_DIRECTORY": f"/tmp/hypothesis-{os.getuid()}"}
        if code is not None:
            name = "tfadvisor." + module.removesuffix(".py").replace("/", ".")
            sys.meta_path.insert(0, _Mutated(name, ROOT / "tfadvisor" / module, code))
        files = [f"tests/{one}" for one in tests]
        outcome = int(
            pytest.main(["-x", "-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore", "-k", LEFT_OUT, *files])
        )
    finally:
        os._exit(outcome)


def outcomes(module: str, codes: Mapping[str, CodeType | None], jobs: int, limit: float) -> Iterator[tuple[str, bool]]:
    """(mutant, whether the tests passed) for each, as they end. limit: seconds, after which it counts as failed."""
    waiting, running = list(codes.items()), dict[int, tuple[str, float]]()
    while waiting or running:
        while waiting and len(running) < jobs:
            name, code = waiting.pop(0)
            running[start(module, code, MODULES[module])] = name, time.monotonic() + limit
        time.sleep(0.02)
        for child, (name, until) in list(running.items()):
            ended, status = os.waitpid(child, os.WNOHANG)
            if not ended and time.monotonic() > until:
                os.kill(child, 9)
                ended, status = os.waitpid(child, 0)
            if ended:
                del running[child]
                yield name, status == 0


def judged(module: str, given: argparse.Namespace, kept: dict[str, dict[str, bool]]) -> dict[str, bool]:
    """Mutant -> whether it survives, of those asked for; results of before are taken from and added to `kept`."""
    source = (ROOT / "tfadvisor" / module).read_text(encoding="utf-8")
    known = kept.setdefault(f"{module} {sha256(source.encode()).hexdigest()[:12]}", {})
    codes = dict(mutants(source, module))
    chosen = list(codes)
    if given.sample and given.sample < len(chosen):
        chosen = random.Random(given.seed).sample(chosen, given.sample)
    missing = {name: codes[name] for name in chosen if name not in known or (given.again and known[name])}
    if missing:
        began = time.monotonic()
        if not all(passed for _, passed in outcomes(module, {"": None}, 1, 600)):
            raise SystemExit(f"{module}: its tests fail without any change")
        limit = 10 + 5 * (time.monotonic() - began)
        for name, survives in outcomes(module, missing, given.jobs, limit):
            known[name] = survives
            KEPT.write_text(json.dumps(kept, indent=1, ensure_ascii=False), encoding="utf-8")
    return {name: known[name] for name in chosen}


def row(module: str, found: Mapping[str, bool], equivalent: Mapping[str, str]) -> tuple[str, float]:
    """(line of the table, score). Equivalent mutants that survive count neither way."""
    same = sum(survives and name in equivalent for name, survives in found.items())
    left = sum(survives and name not in equivalent for name, survives in found.items())
    rate = 1 - left / max(len(found) - same, 1)
    return f"| `{module}` | {len(found)} | {len(found) - same - left} | {left} | {same} | {rate:.0%} |", rate


def main() -> int:
    """Prints the scores and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--module", action="append", help="only modules whose path holds this")
    parser.add_argument("--sample", type=int, help="this many mutants a module, drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--again", action="store_true", help="run survivors of before again")
    parser.add_argument("--write", action="store_true", help="write docs/mutation.md")
    parser.add_argument("--least", type=float, default=0.9)
    given = parser.parse_args()
    KEPT.parent.mkdir(exist_ok=True)
    kept = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    listed = yaml.safe_load(EQUIVALENT.read_text(encoding="utf-8")) or {}
    rows, rates = [], []
    for module in MODULES:
        if not given.module or any(part in module for part in given.module):
            found = judged(module, given, kept)
            line, rate = row(module, found, listed.get(module, {}))
            print(
                line, *(f"    {name}" for name in found if found[name] and name not in listed.get(module, {})), sep="\n"
            )
            rows.append(line)
            rates.append(rate)
    if given.write:
        head, rule, after = PAGE.read_text(encoding="utf-8").partition("| --- |" + " ---: |" * 5 + "\n")
        below = after[after.find("\n\n") :] if "\n\n" in after else "\n"
        PAGE.write_text(head + rule + "\n".join(rows) + below, encoding="utf-8")
    return int(min(rates, default=1.0) < given.least)


if __name__ == "__main__":
    sys.exit(main())
