"""Programs of the benchmark, kept many to a file: `# %% NAME.py` begins each.

`programs.txt` holds the 120 programs, `batches/NUMBER/programs.txt` those of a blind
batch. Whoever runs one unpacks it first, so that its traces name `NAME.py` and the line
in it.
"""

from __future__ import annotations

import re
from pathlib import Path

_BEGINS = re.compile(r"^# %% (\w+)\.py\n", re.M)


def programs(packed: Path) -> dict[str, str]:
    """Name -> source, in the order of the file."""
    _, *parts = _BEGINS.split(packed.read_text(encoding="utf-8"))
    return dict(zip(parts[::2], parts[1::2], strict=True))


def unpacked(packed: Path, folder: Path) -> Path:
    """The folder, into which each program was written as NAME.py; a file that is the
    same already stays untouched.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in programs(packed).items():
        file = folder / f"{name}.py"
        if not file.exists() or file.read_text(encoding="utf-8") != source:
            file.write_text(source, encoding="utf-8")
    return folder
