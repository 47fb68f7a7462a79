"""Reports for other programs: TensorBoard, which finds its plugin by an entry point,
agents, Perfetto, XLA.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.serve.agents.reports import root_of
    from tfadvisor.serve.agents.tools import serve
    from tfadvisor.serve.export.perfetto import export_run
    from tfadvisor.serve.export.perfetto_conclusions import export_file
    from tfadvisor.serve.export.pgle import Profile, as_binary, launch_line, profile
    from tfadvisor.serve.export.pgle_events import remarks
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "Profile": "export.pgle",
            "as_binary": "export.pgle",
            "export_file": "export.perfetto_conclusions",
            "export_run": "export.perfetto",
            "launch_line": "export.pgle",
            "profile": "export.pgle",
            "remarks": "export.pgle_events",
            "root_of": "agents.reports",
            "serve": "agents.tools",
        },
    )

__all__ = [
    "Profile",
    "as_binary",
    "export_file",
    "export_run",
    "launch_line",
    "profile",
    "remarks",
    "root_of",
    "serve",
]
