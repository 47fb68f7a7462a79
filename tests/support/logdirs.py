"""Logdirs as TensorBoard is started on them, from the recorded traces of
`fixtures/`.
"""

from __future__ import annotations

import gzip
from pathlib import Path

from support.places import FIXTURES


def add_run(logdir: Path, name: str, fixture: str = "jax-logging") -> Path:
    """A run as the profiler would have left it; name: as in the tab, `train/RUN`.
    Returns its folder.
    """
    *folders, session = name.split("/")
    target = logdir.joinpath(*folders, "plugins", "profile", session)
    target.mkdir(parents=True)
    for file in (FIXTURES / fixture).glob("*.xplane.pb.gz"):
        (target / file.name.removesuffix(".gz")).write_bytes(
            gzip.decompress(file.read_bytes())
        )
    return target


def add_broken_run(logdir: Path, name: str) -> Path:
    """The same with a file that no profiler wrote."""
    target = add_run(logdir, name)
    for file in target.iterdir():
        file.write_bytes(b"\xff" * 3000)
    return target
