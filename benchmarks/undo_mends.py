"""Does each test of docs/robustness.md fail without the mend that it tests? Undoes the
mends one by one in a copy of the tree.

python benchmarks/undo_mends.py [--only TEXT] [--new] [--part I/N] [--seconds 3600]
[--publish]

undo_mends.yaml holds, for each fault, texts of files as they are and as they would be
without the mend, and the tests that must fail then. --only: faults whose text holds
this. --new: faults that undone.json does not know. --part: each N-th from the I-th on.
--seconds: no other one is undone after so long. --publish keeps what was found in
undone.json, leaves out what was undone before and is the same still, and writes the
page's table.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from marked_part import put

ROOT = Path(__file__).parents[1]
MENDS = Path(__file__).with_suffix(".yaml")
FOUND = Path(__file__).with_name("undone.json")
PAGE = ROOT / "docs" / "robustness.md"
_PATIENCE_S = 100
_COPIED = (
    "tfadvisor",
    "rules",
    "tests",
    "fixtures",
    "fuzz",
    "schemas",
    ".github",
    ".ci",
)
_COPIED_FILES = ("pyproject.toml", "setup.py", "action.yml", "README.md")
_NOT_COPIED = shutil.ignore_patterns("__pycache__", "node_modules", "*.egg-info")
FAILS, PASSES = "fails", "passes: the test is none"


def main(arguments: Sequence[str]) -> int:
    """1 when a test does not fail without its mend, or fails with it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default="")
    parser.add_argument("--new", action="store_true")
    parser.add_argument("--part", default="1/1")
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--publish", action="store_true")
    asked = parser.parse_args(arguments)
    ends = time.monotonic() + asked.seconds
    mends = yaml.safe_load(MENDS.read_text(encoding="utf-8"))
    known = kept()
    found: dict[str, dict[str, str]] = {}
    first, each = map(int, asked.part.split("/"))
    with tempfile.TemporaryDirectory() as place:
        tree = copy_of_tree(Path(place))
        for mend in mends[first - 1 :: each]:
            if asked.only not in mend["fault"] or (
                asked.new and mend["fault"] in known
            ):
                continue
            if asked.publish and known.get(mend["fault"]) == {
                "digest": digest_of(mend),
                "outcome": FAILS,
            }:
                continue
            if time.monotonic() > ends:
                break
            outcome = undone(tree, mend)
            print(
                f"{mend['fault']} | {' '.join(mend['tests'])} | {outcome}", flush=True
            )
            found[mend["fault"]] = {"digest": digest_of(mend), "outcome": outcome}
    if asked.publish:
        found = kept() | found
        found = {
            one["fault"]: found[one["fault"]] for one in mends if one["fault"] in found
        }
        FOUND.write_text(
            json.dumps(found, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        put(PAGE, "undone", table(mends, found))
    wrong = [
        one["fault"]
        for one in mends
        if found.get(one["fault"], {}).get("outcome", FAILS) == PASSES
    ]
    return 1 if wrong else 0


def kept() -> dict[str, dict[str, str]]:
    """What was found before, by fault."""
    content: dict[str, dict[str, str]] = (
        json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() else {}
    )
    return content


def copy_of_tree(place: Path) -> Path:
    """What tests need, with what was compiled."""
    for name in _COPIED:
        shutil.copytree(ROOT / name, place / name, ignore=_NOT_COPIED, symlinks=True)
    for name in _COPIED_FILES:
        shutil.copy(ROOT / name, place / name)
    return place


def undone(tree: Path, mend: Mapping[str, Any]) -> str:
    """What the tests do without a mend. Raises ValueError for a text that a file does
    not hold exactly once.
    """
    before = {
        tree / edit["file"]: (tree / edit["file"]).read_bytes()
        for edit in mend["edits"]
    }
    if mend.get("builds"):
        before |= {
            path: path.read_bytes() for path in (tree / "tfadvisor").rglob("*.so")
        }
    try:
        for edit in mend["edits"]:
            path = tree / edit["file"]
            text = path.read_text(encoding="utf-8")
            if text.count(edit["is"]) != 1:
                raise ValueError(
                    f"{edit['file']}: holds {text.count(edit['is'])} times: "
                    f"{edit['is']}"
                )
            path.write_text(text.replace(edit["is"], edit["was"]), encoding="utf-8")
        if mend.get("builds"):
            build = [
                sys.executable,
                "setup.py",
                "--quiet",
                "build_ext",
                "--inplace",
                "--force",
            ]
            for path in (tree / "tfadvisor").rglob("*.so"):
                # what is found behind the build is what it made: it goes on without
                # what it cannot compile
                path.unlink()
            failed = subprocess.run(
                build, cwd=tree, check=False, capture_output=True
            ).returncode
            if failed or not list((tree / "tfadvisor" / "trace").glob("*.so")):
                return "was not run: needs Cython and gcc"
        return tested(tree, mend["tests"])
    finally:
        for path, data in before.items():
            path.write_bytes(data)


def tested(tree: Path, tests: Sequence[str]) -> str:
    """Each test alone, since one may end the process. A test that waits for
    ever fails.
    """
    env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    for test in tests:
        call = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-x",
            "-m",
            "",
            "-p",
            "no:cacheprovider",
            f"tests/{test}",
        ]
        try:
            done = subprocess.run(
                call,
                cwd=tree,
                env=env,
                capture_output=True,
                text=True,
                timeout=_PATIENCE_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            continue
        if done.returncode == 0:
            return PASSES
        if done.returncode > 1:  # no failure of a test
            return f"does not run: {done.stdout.splitlines()[-1:]}"
        if re.search(r"ImportError|SyntaxError|NameError", done.stdout):
            return f"does not run: {re.findall(r'^E .*', done.stdout, re.M)[:1]}"
    return FAILS


def digest_of(mend: Mapping[str, Any]) -> str:
    """Of what is undone, and of the tests."""
    return hashlib.sha256(json.dumps(mend, sort_keys=True).encode()).hexdigest()[:12]


def table(
    mends: Sequence[Mapping[str, Any]], found: Mapping[str, Mapping[str, str]]
) -> str:
    """One row a mend."""
    lines = ["", "| fault | test | without the mend it |", "|---|---|---|"]
    for mend in mends:
        tests = "<br>".join(
            f"`{test.removeprefix('system/robustness/')}`" for test in mend["tests"]
        )
        lines.append(
            f"| {mend['fault']} | {tests} | "
            f"{found.get(mend['fault'], {}).get('outcome', 'was not run')} |"
        )
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
