"""Patches of the user's program for what a report finds. `applying`, which writes them
into its files, is a door of its own: who only reads never imports it.
"""

from __future__ import annotations

from tfadvisor.act.repair.patch_places import At, at_of
from tfadvisor.act.repair.plan import PatchPlan, plan_of, plan_words, with_patches
from tfadvisor.act.repair.sources import Sources, read_sources

__all__ = [
    "At",
    "PatchPlan",
    "Sources",
    "at_of",
    "plan_of",
    "plan_words",
    "read_sources",
    "with_patches",
]
