"""Records the process that it runs in when `tfadvisor run` asks for it, through files
in one folder.

It costs nothing until TensorFlow or JAX is imported. Then a thread looks for orders
twenty times a second, and ends with the recording. Nothing of the program is wrapped.
"""

import os

from .letters import read_letter
from .watch import ForFrameworks

FOLDER = "TFADVISOR_RECORD"
"""The variable that names the folder where orders and answers lie."""


def install() -> None:
    """Waits for a framework, in a process that `tfadvisor run` has started, and in no
    other.
    """
    folder = os.environ.get(FOLDER)
    if folder and os.path.isdir(folder):
        allow_to_be_read(folder)
        ForFrameworks(folder).wait()


_ONLY_PARENTS = "/proc/sys/kernel/yama/ptrace_scope"
_SET_PTRACER = 0x59616D61


def allow_to_be_read(folder: str) -> None:
    """Where Linux lets only a process's parents read its memory, `tfadvisor run` and
    what it starts may too.
    """
    if not _is_for_parents_only():
        return
    import ctypes  # few programs need these
    import socket

    parent = read_letter(os.path.join(folder, "parent.json"))
    if parent is None or parent["host"] != socket.gethostname():
        return
    ctypes.CDLL(None).prctl(_SET_PTRACER, ctypes.c_ulong(parent["pid"]), 0, 0, 0)


def _is_for_parents_only() -> bool:
    try:
        with open(_ONLY_PARENTS, encoding="ascii") as text:
            return text.read().strip() == "1"
    except OSError:
        return False
