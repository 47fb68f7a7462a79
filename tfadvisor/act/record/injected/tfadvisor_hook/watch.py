"""Notices the first import of a framework, in this process or in one that it forks, and
starts the recorder's thread.
"""

from __future__ import annotations

import os
import sys
from _thread import start_new_thread
from typing import Any

from .recorder import FRAMEWORKS, Recorder


class ForFrameworks:
    """A finder of modules that finds none: it only sees who is asked for."""

    def __init__(self, folder: str) -> None:
        """folder: where orders and answers lie."""
        self.folder = folder
        self.started = False
        self.recorder: Any = None

    def wait(self) -> None:
        """From now on, here and in forked processes."""
        finders: list[Any] = sys.meta_path
        finders.insert(0, self)
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self.after_fork)

    def find_spec(
        self,
        name: str,
        _path: Any = None,
        _target: Any = None,
    ) -> None:
        """Always None: the next finder does the work."""
        if name in FRAMEWORKS and not self.started:
            self.start(forked=False)

    def start(self, *, forked: bool) -> None:
        """Starts the thread; the program never learns of a failure."""
        self.started = True
        try:
            # Of a thread like this `threading` knows nothing, nor does a program that
            # waits for all of its threads.
            self.recorder = Recorder(self.folder, forked=forked)
            start_new_thread(self.recorder.follow, ())
        except Exception as error:
            why = f"{type(error).__name__}: {error}"
            sys.stderr.write(f"tfadvisor: this process is not recorded: {why}\n")

    def after_fork(self) -> None:
        """The thread has stayed with the parent. A child that trains gets one of its
        own.
        """
        if self.recorder is not None:
            self.recorder.forked()
        if self.started and os.path.isdir(self.folder):
            self.start(forked=True)
