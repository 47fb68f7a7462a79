"""Times the steps of the process that it runs in when `tfadvisor try` asks for it, and
nothing else.

The program's own files are compiled with a call at the head of its loops, or of the one
loop whose rounds are its steps; patched files are read from where the parent has put
them. Nothing on disk changes, and profilers that the program starts itself stay off.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .clock import Clock

FOLDER = "TFADVISOR_TRIAL"
"""The variable that names the folder where the order lies and answers go."""
ENOUGH = "enough"
"""A file in that folder: the parent has seen enough."""


def install() -> None:
    """Starts the clock, in a process that `tfadvisor try` has started, and in
    no other.
    """
    folder = os.environ.get(FOLDER)
    if not folder or not os.path.isdir(folder):
        return
    from tfadvisor_hook.letters import read_letter

    from . import framework_hooks, keras_steps, own_profilers
    from .importing import Importing
    from .kept_files import KeptFiles
    from .standing_in import StandingIn

    order = read_letter(os.path.join(folder, "order.json"))
    if order is None:
        return
    kept = KeptFiles(folder, strict=order["acting"])
    kept.start()
    clock = _clock(folder, order)
    clock.start()
    importing = Importing(order, clock)
    after = [*own_profilers.after_import().items(), *kept.after_import()]
    after += keras_steps.after_import(clock).items()
    if clock.parts.hooked:
        StandingIn(clock.parts, importing.is_own).start()
        after += framework_hooks.after_import(clock.parts, importing.is_own)
    importing.start(after)


def _clock(
    folder: str,
    order: dict[str, Any],
) -> Clock:
    """By what the run is for."""
    from .alternating import Alternating
    from .timing import Timing
    from .watching import Watching

    if order["loops"] is None:
        return Watching(folder, order)
    if order["arms"]:
        return Alternating(folder, order)
    return Timing(folder, order)
