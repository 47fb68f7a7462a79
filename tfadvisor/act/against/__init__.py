"""Two commits of a checkout, recorded in turns."""

from __future__ import annotations

from tfadvisor.act.against.commit_side import Against, SideUnrecorded
from tfadvisor.act.against.gate_against import judged_against

__all__ = ["Against", "SideUnrecorded", "judged_against"]
