"""Refuses wheels without the compiled modules: a compiler that fails leaves a wheel
that works, slowly and silently.

python tests/check_wheel.py WHEEL…
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from zipfile import ZipFile

MODULES = (
    "tfadvisor/trace/_wire",
    "tfadvisor/timeline/_sweeps",
    "tfadvisor/timeline/_walks",
)
COMPILED = (".so", ".pyd")
NEEDED = (
    "tfadvisor/report/forms/page.html",
    "tfadvisor/report/forms/plain_page.html",
    "tfadvisor/rules/catalogue.py",
    "tfadvisor/py.typed",
)


def main(wheels: Sequence[str]) -> int:
    """0 when every wheel is whole, 1 when one lacks something, 2 without a wheel."""
    if not wheels:
        print("usage: python tests/check_wheel.py WHEEL…", file=sys.stderr)
        return 2
    faults = [f"{wheel}: {fault}" for wheel in wheels for fault in faults_of(wheel)]
    print(
        "\n".join(faults) or f"{len(wheels)} checked: each holds the compiled modules"
    )
    return 1 if faults else 0


def faults_of(wheel: str) -> list[str]:
    """What a wheel lacks, in words. Raises OSError or BadZipFile when it cannot be
    read.
    """
    with ZipFile(wheel) as archive:
        names = archive.namelist()
    faults = [f"lacks {name}" for name in NEEDED if name not in names]
    faults += [
        f"lacks the compiled module {module}"
        for module in MODULES
        if not any(
            name.startswith(f"{module}.") and name.endswith(COMPILED) for name in names
        )
    ]
    if wheel.endswith("-none-any.whl"):
        faults.append("is tagged for every platform, so nothing in it was compiled")
    return faults


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
