"""Writes a run folder, as TensorFlow's session does."""

import os
from collections import namedtuple
from types import SimpleNamespace

ProfilerOptions = namedtuple("ProfilerOptions", "host_tracer_level python_tracer_level device_tracer_level")
_profiler = None


class ProfilerSession:
    def start(self, logdir, options):
        self.logdir = logdir
        with open(os.environ["FAKE_LOG"], "a") as log:
            log.write(f"{options['host_tracer_level']} {options['python_tracer_level']}\n")

    def export_to_tb(self):
        folder = os.path.join(self.logdir, "plugins", "profile", "2026_01_01_00_00_00")
        os.makedirs(folder)
        with open(os.environ["FAKE_TRACE"], "rb") as trace, open(os.path.join(folder, "h.xplane.pb"), "wb") as out:
            out.write(trace.read())


_pywrap_profiler = SimpleNamespace(ProfilerSession=ProfilerSession)
