"""Builds the wheel twice, in two folders, and refuses when a byte differs; writes the
software bill of materials beside it.

python tests/reproduce_wheel.py DIST [--isolated]

The second build happens in a folder of another name at another time of day. SOURCE_DATE_EPOCH is the time of the commit.
--isolated: with build tools installed anew, as a release does; else with those that are here.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bill_of_materials import bill_of

ROOT = Path(__file__).parents[1]
NOT_COPIED = shutil.ignore_patterns(
    ".git",
    ".venv*",
    "build",
    "dist",
    "node_modules",
    "__pycache__",
    "*.egg-info",
    "*.so",
    "_wire.c",
    "_sweeps.c",
    "_walks.c",
)


def main(arguments: Sequence[str]) -> int:
    """0 when both wheels are the same."""
    places = [Path(one) for one in arguments if not one.startswith("--")]
    if len(places) != 1:
        print(
            "usage: python tests/reproduce_wheel.py DIST [--isolated]", file=sys.stderr
        )
        return 2
    with (
        tempfile.TemporaryDirectory() as one,
        tempfile.TemporaryDirectory(prefix="another-name-") as other,
    ):
        first, second = (
            built(Path(place), "--isolated" in arguments) for place in (one, other)
        )
        if hashed(first) != hashed(second) or first.name != second.name:
            print(
                f"{first.name}: two builds differ: {hashed(first)} and "
                f"{hashed(second)}",
                file=sys.stderr,
            )
            return 1
        places[0].mkdir(parents=True, exist_ok=True)
        kept = Path(shutil.copy(first, places[0]))
        kept.with_suffix(".cdx.json").write_text(bill_of(kept), encoding="utf-8")
        print(f"{kept.name}: two builds are the same, sha256 {hashed(kept)}")
    return 0


def built(place: Path, isolated: bool) -> Path:
    """The wheel of a copy of this tree."""
    source = shutil.copytree(ROOT, place / "source", ignore=NOT_COPIED)
    flags = f"-g0 -ffile-prefix-map={source}=. {os.environ.get('CFLAGS', '')}"
    env = {
        **os.environ,
        "SOURCE_DATE_EPOCH": str(committed_at()),
        "CFLAGS": flags.strip(),
        "PYTHONHASHSEED": "0",
    }
    call = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--wheel-dir",
        str(place / "dist"),
        str(source),
    ]
    subprocess.run(
        call + ([] if isolated else ["--no-build-isolation"]), check=True, env=env
    )
    (wheel,) = (place / "dist").glob("*.whl")
    return wheel


def committed_at() -> int:
    """Seconds since the epoch: SOURCE_DATE_EPOCH where it is set, else when the last
    commit was made, else 1980 as zip can.
    """
    if given := os.environ.get("SOURCE_DATE_EPOCH"):
        return int(given)
    done = subprocess.run(
        ["git", "-C", str(ROOT), "log", "-1", "--format=%ct"],
        capture_output=True,
        text=True,
        check=False,
    )
    return int(done.stdout) if done.stdout.strip() else 315_532_800


def hashed(file: Path) -> str:
    """SHA-256."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
