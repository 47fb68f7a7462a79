"""tfadvisor reads a TensorFlow or JAX profiler trace and says where the step's time
goes, why, and what to change.

>>> import tfadvisor
>>> report = tfadvisor.analyze("logdir")            # doctest: +SKIP
>>> print(report.verdict.summary)                    # doctest: +SKIP
"""

from __future__ import annotations

TYPE_CHECKING = (
    False  # as `typing` has it, which takes 5 ms in which no signal is heeded
)
if TYPE_CHECKING:
    from typing import Any

    from tfadvisor.act.record.block import profile
    from tfadvisor.analysis import analyze
    from tfadvisor.comparing import compare
    from tfadvisor.comparison.change import Comparison
    from tfadvisor.errors import AdvisorError, RuleError, TraceError, UsageError
    from tfadvisor.report.model import Report
    from tfadvisor.trace import Trace
    from tfadvisor.trace import open_trace as open
    from tfadvisor.version import VERSION as __version__  # noqa: N811

_HOME = {
    "__version__": ("tfadvisor.version", "VERSION"),
    "analyze": ("tfadvisor.analysis", "analyze"),
    "compare": ("tfadvisor.comparing", "compare"),
    "Comparison": ("tfadvisor.comparison.change", "Comparison"),
    "open": ("tfadvisor.trace.trace", "open_trace"),
    "Trace": ("tfadvisor.trace.trace", "Trace"),
    "profile": ("tfadvisor.act.record.block", "profile"),
    "Report": ("tfadvisor.report.model", "Report"),
    "AdvisorError": ("tfadvisor.errors", "AdvisorError"),
    "TraceError": ("tfadvisor.errors", "TraceError"),
    "UsageError": ("tfadvisor.errors", "UsageError"),
    "RuleError": ("tfadvisor.errors", "RuleError"),
}

__all__ = [
    "AdvisorError",
    "Comparison",
    "Report",
    "RuleError",
    "Trace",
    "TraceError",
    "UsageError",
    "__version__",
    "analyze",
    "compare",
    "open",
    "profile",
]


def __getattr__(name: str) -> Any:
    """Imports on first use, so that `import tfadvisor` is instant and the command loads
    only what it needs.
    """
    if name not in _HOME:
        raise AttributeError(f"module 'tfadvisor' has no attribute {name!r}")
    from importlib import import_module

    module, attribute = _HOME[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    """What is public, for completion and `dir(tfadvisor)`."""
    return sorted(__all__)
