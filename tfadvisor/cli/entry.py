"""What the installed `tfadvisor` command calls: it starts and ends the process."""

from __future__ import annotations

import gc
import os
import signal
import sys
from types import FrameType


def run() -> None:
    """Runs the command with the process's arguments and ends the process with the contract's exit code.

    A small trace takes 0.2 s, so 15 ms of them matter: nothing is collected while a process that lives so short starts,
    and it ends without the interpreter's clean-up, after everything is flushed.
    """
    gc.disable()
    os.environ.setdefault(
        "OPENBLAS_NUM_THREADS", "1"
    )  # no matrix is multiplied here, so NumPy need not start threads for it
    from tfadvisor.cli.main import Terminated, guarded_main  # noqa: PLC0415  (after the collector is off)

    def end(_number: int, _frame: FrameType | None) -> None:
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    code = guarded_main(sys.argv[1:])
    sys.stderr.flush()
    os._exit(code)
