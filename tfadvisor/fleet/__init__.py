"""Many runs as one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.fleet.build import (
        Labels,
        RunsFound,
        TableUpdate,
        bring_up_to_date,
        find_tasks,
        read_rows,
    )
    from tfadvisor.fleet.costs import summed
    from tfadvisor.fleet.fleet_forms import FLEET_FORMS
    from tfadvisor.fleet.table import arrow, read_table
    from tfadvisor.fleet.work import HowToRead, Row
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "FLEET_FORMS": "fleet_forms",
            "HowToRead": "work",
            "Labels": "build",
            "Row": "work",
            "RunsFound": "build",
            "TableUpdate": "build",
            "arrow": "table",
            "bring_up_to_date": "build",
            "find_tasks": "build",
            "read_rows": "build",
            "read_table": "table",
            "summed": "costs",
        },
    )

__all__ = [
    "FLEET_FORMS",
    "HowToRead",
    "Labels",
    "Row",
    "RunsFound",
    "TableUpdate",
    "arrow",
    "bring_up_to_date",
    "find_tasks",
    "read_rows",
    "read_table",
    "summed",
]
