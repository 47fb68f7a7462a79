"""One walk over events in order: compiled where it was built, else by NumPy. What the
functions do is said in the twin.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from tfadvisor.timeline import walks_twin as twin

walks: ModuleType
try:
    from tfadvisor.timeline import _walks

    walks = _walks
except ImportError:  # installed without a C compiler
    walks = twin

tally = walks.tally


def chains(*arguments: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """What a thread does: in its events, and in the gaps between them. As the twin's;
    alike chains are one.
    """
    found: tuple[tuple[Any, ...], tuple[Any, ...]] | None = walks.chains(*arguments)
    return twin.chains(*arguments) if found is None else found
