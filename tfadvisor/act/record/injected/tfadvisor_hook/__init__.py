"""Records the process that it runs in when `tfadvisor run` asks for it, through files
in one folder.

It costs nothing until TensorFlow or JAX is imported. Then a thread looks for orders
twenty times a second, and ends with the recording. Nothing of the program is wrapped
but TensorFlow's tracing of functions, which is put back.
"""

import os

from .watch import ForFrameworks

FOLDER = "TFADVISOR_RECORD"
"""The variable that names the folder where orders and answers lie."""


def install() -> None:
    """Waits for a framework, in a process that `tfadvisor run` has started, and in no
    other.
    """
    folder = os.environ.get(FOLDER)
    if folder and os.path.isdir(folder):
        ForFrameworks(folder).wait()
