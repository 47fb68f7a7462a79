"""Real traces that others recorded, where they lie beside the checkout; tests about
them are skipped elsewhere.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.places import ROOT

FOLDER = ROOT.parent / "shared" / "traces"

needs_shared_traces = pytest.mark.skipif(
    not FOLDER.is_dir(),
    reason="the traces recorded by others are not beside this checkout",
)


def shared_trace_files() -> list[object]:
    """Their `*.xplane.pb` files as test parameters; one skipped parameter when they are
    absent.
    """
    files = sorted(FOLDER.rglob("*.xplane.pb")) if FOLDER.is_dir() else []
    return list(files) or [pytest.param(Path("absent"), marks=needs_shared_traces)]
