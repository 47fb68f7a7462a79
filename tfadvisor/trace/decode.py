"""One file to one HostTrace, by the compiled decoder where it was built, else by its
twin.
"""

from __future__ import annotations

from pathlib import Path

from tfadvisor.errors import TraceError
from tfadvisor.trace.columns import HostTrace, Selection
from tfadvisor.trace.source import Progress, open_source

try:
    from tfadvisor.trace import compiled_decoder
except ImportError:  # installed without a C compiler
    compiled_decoder = None  # type: ignore[assignment]


def decode_file(
    path: Path,
    selection: Selection,
    progress: Progress | None = None,
) -> HostTrace:
    """Raises TraceError for what is no trace, and for one without a single plane."""
    source = open_source(path)
    if compiled_decoder is not None:
        host = compiled_decoder.decode(source, selection, progress)
    else:
        from tfadvisor.trace import twin  # imports protobuf

        host = twin.decode(source, selection)
    if not host.planes:
        raise TraceError(
            source.place,
            "holds no planes: it is not a profiler trace, or the profiler wrote "
            "nothing.",
            "Give the `*.xplane.pb` that the profiler wrote, or record the trace "
            "again.",
        )
    return host


def is_compiled() -> bool:
    """Whether the compiled decoder is in use."""
    return compiled_decoder is not None
