"""`%%tfadvisor` in a notebook: `%load_ext tfadvisor` once, then the magic over a cell."""

from __future__ import annotations

import shlex
from types import CodeType
from typing import Any

from tfadvisor.errors import AdvisorError
from tfadvisor.record.block import profile

USAGE = "%%tfadvisor [--out DIR] [--no-lines]"


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext tfadvisor` calls."""

    def record_cell(line: str, cell: str) -> None:
        """Records the cell with the profiler of TensorFlow or JAX, and prints where its steps' time went and why.

        --out DIR: the logdir that the trace is kept in. --no-lines: without calls of Python functions, which is quicker.
        """
        words = shlex.split(line)
        settings: dict[str, Any] = {}
        while words:
            word = words.pop(0)
            if word == "--out" and words:
                settings["out"] = words.pop(0)
            elif word == "--no-lines":
                settings["python_tracer"] = False
            else:
                print(f"tfadvisor: {word} is not understood. {USAGE}")
                return
        try:
            with profile(**settings):
                exec(_compiled(shell, cell), shell.user_ns)
        except AdvisorError as error:
            print(f"tfadvisor: {error}")

    shell.register_magic_function(record_cell, "cell", "tfadvisor")


def _compiled(shell: Any, cell: str) -> CodeType:
    """Under the name that IPython has for the cell, so that a traceback and a finding show its lines."""
    source = shell.transform_cell(cell)
    return compile(source, shell.compile.cache(source), "exec")
