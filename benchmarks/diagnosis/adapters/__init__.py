"""One module for each advisor: NAME, HOW (how its words are read), version(),
unmapped() and diagnose(traces).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType


def installed(wanted: Sequence[str] | None) -> dict[str, ModuleType]:
    """The adapters by the name of their advisor; all of them when none is named."""
    names = sorted(wanted or (module.name for module in pkgutil.iter_modules(__path__)))
    modules = [import_module(f"{__name__}.{name}") for name in names]
    return {module.NAME: module for module in modules}
