"""What the installed `tfadvisor` command calls: it starts and ends the process."""

from __future__ import annotations

import gc
import os
import sys

from tfadvisor.cli.ending import heed_signals, in_order, leave

# here and not in `run`: importing is a part of the first tenth of a second
heed_signals()


def run() -> None:
    """Runs the command with the process's arguments and ends the process with the
    contract's exit code.

    A small trace takes 0.2 s, so 15 ms of them matter: nothing is collected while a
    process that lives so short starts, and it ends without the interpreter's clean-up,
    after everything is flushed.
    """
    gc.disable()
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # no matrix is multiplied here, so NumPy needs no threads for it
    leave(in_order(_command))


def _command() -> int:
    from tfadvisor.cli.streams import settle_streams  # after signals are heeded

    settle_streams()
    from tfadvisor.cli.main import guarded_main  # after the collector is off

    code = guarded_main(sys.argv[1:])
    sys.stderr.flush()
    return code
