"""A driver that logs each of its attempts: what the command says is one line."""

from __future__ import annotations

import subprocess
import sys

DRIVER = """
import logging, sys, fsspec
from fsspec import AbstractFileSystem

class Store(AbstractFileSystem):
    protocol = "gs"
    def info(self, path, **_):
        for attempt in range(5):
            try:
                raise OSError("no route to the metadata server")
            except OSError:
                logging.getLogger("gcsfs.retry").exception("out of retries")
                logging.getLogger("google.auth._default").warning("no credentials, attempt %s", attempt)
        raise PermissionError("anonymous caller")
    ls = find = info

fsspec.register_implementation("gs", Store, clobber=True)
from tfadvisor.cli.main import guarded_main
sys.exit(guarded_main(["gs://bucket/run"]))
"""


def test_one_line_whatever_the_driver_logs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", DRIVER], capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.stderr.startswith("tfadvisor: gs://bucket/run")
