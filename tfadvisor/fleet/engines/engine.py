"""What every engine needs: the error of a cluster, and names of functions that another process can find."""

from __future__ import annotations

from importlib import import_module

from tfadvisor.errors import AdvisorError
from tfadvisor.timeline.run.one_host import Work


class ClusterError(AdvisorError):
    """The cluster that was to read the input failed, or is none."""

    exit_code = 3


def name_of(work: Work) -> str:
    """`module:function`, as `work_called` finds it again."""
    return f"{work.__module__}:{work.__name__}"


def work_called(name: str) -> Work:
    """The function of the name."""
    module, _, function = name.partition(":")
    found: Work = getattr(import_module(module), function)
    return found
