"""Writes the lock files of CI: every package that it installs, with its version and the
hashes of its files.

python .ci/lock.py [--upgrade]     needs uv (pip install uv); without --upgrade what is locked stays where it can

CI itself needs pip alone: `pip install --require-hashes -r .ci/locks/ci.txt`, then this
project with --no-deps.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
LOCKS = Path(__file__).with_name("locks")
BUILD = "setuptools>=77,<81 Cython>=3.1"
"""What builds this project: without isolation, so that no index chooses it. An emulator
of a store imports pkg_resources.
"""
FILES = {
    "ci": (("test", "docs", "browser"), f"{BUILD} wheel"),
    "tensorboard": ((), "tensorboard>=2.16"),
    "xprof": ((), "xprof>=2.21,<2.25;python_version<'3.14' six"),
    "viztracer": ((), "viztracer"),
    "jaxlib": ((), "jaxlib"),
    "atheris": ((), "atheris;python_version<'3.14'"),
    "release": ((), "build cibuildwheel>=2.23.3,<3"),
    "numpy1": ((), "numpy<2;python_version<'3.13'"),
    "build": ((), f"{BUILD} wheel PyYAML>=6 msgspec>=0.18"),
    "stores": (("test", "stores"), f"{BUILD} wheel"),
}
"""By file, extras of pyproject.toml and other requirements. Those that do not stand
alone come on top of the first, and repeat nothing of it.
"""
ALONE = {"ci", "numpy1", "build", "stores"}
"""What the drivers of stores need contradicts the newest of what others need; their job
has Python 3.12 on Linux.
"""
HEAD = "# written by .ci/lock.py; run it again instead of editing\n"


def main(arguments: Sequence[str]) -> int:
    """0 when all files are written."""
    LOCKS.mkdir(exist_ok=True)
    known: set[str] = set()
    for name, (extras, more) in FILES.items():
        target = LOCKS / f"{name}.txt"
        text = compiled(name, extras, more, target, upgrade="--upgrade" in arguments)
        blocks = [
            one
            for one in blocks_of(text)
            if name in ALONE or known.isdisjoint(names_of(one))
        ]
        if name == "ci":
            known = {first_line(one) for one in blocks}
        target.write_text(HEAD + "".join(blocks), encoding="utf-8")
        print(f"{target.relative_to(ROOT)}: {len(blocks)} packages")
    return 0


def compiled(
    name: str, extras: Sequence[str], more: str, before: Path, *, upgrade: bool
) -> str:
    """The lock file of some requirements for every Python that is supported."""
    with tempfile.TemporaryDirectory() as place:
        wanted, out = Path(place) / "wanted.txt", Path(place) / "out.txt"
        wanted.write_text("\n".join(more.split()), encoding="utf-8")
        if before.exists() and not upgrade:
            out.write_text(before.read_text(encoding="utf-8"), encoding="utf-8")
        pythons = (
            ["--python-version", "3.12"]
            if name == "stores"
            else ["--universal", "--python-version", "3.10"]
        )
        call = ["uv", "pip", "compile", *pythons, "--generate-hashes", "--quiet"]
        call += [
            "--no-header",
            "--no-annotate",
            "--no-emit-index-url",
            "--output-file",
            str(out),
            str(wanted),
        ]
        if extras:
            call += [
                str(ROOT / "pyproject.toml"),
                *(f"--extra={one}" for one in extras),
            ]
        if name not in ALONE:
            call += ["--constraints", str(LOCKS / "ci.txt")]
        if name == "xprof":
            call.append("--no-deps")  # what else it needs is for its server
        subprocess.run(call, check=True)
        return out.read_text(encoding="utf-8")


def blocks_of(text: str) -> list[str]:
    """A package with its hashes each."""
    return [
        one
        for one in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.M)
        if one[:1].isalnum()
    ]


def first_line(block: str) -> str:
    """The name, version and markers."""
    return block.partition("\n")[0].rstrip(" \\")


def names_of(block: str) -> set[str]:
    """The first lines that hold all that this one does: itself, and that for every
    Python.
    """
    line = first_line(block)
    return {line, line.partition(" ;")[0]}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
