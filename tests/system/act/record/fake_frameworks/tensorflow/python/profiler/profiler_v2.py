"""Writes a run folder, as TensorFlow's session does."""

import os
from types import SimpleNamespace

_profiler = None


class ProfilerSession:
    def start(self, logdir, options):
        self.logdir = logdir
        with open(os.environ["FAKE_LOG"], "a") as out:
            out.write(f"{options}\n")

    def export_to_tb(self):
        folder = os.path.join(self.logdir, "plugins", "profile", "2026_01_01_00_00_00")
        os.makedirs(folder)
        with (
            open(os.environ["FAKE_TRACE"], "rb") as trace,
            open(os.path.join(folder, "h.xplane.pb"), "wb") as out,
        ):
            out.write(trace.read())


_pywrap_profiler = SimpleNamespace(ProfilerSession=ProfilerSession)
