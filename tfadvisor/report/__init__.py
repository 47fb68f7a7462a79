"""The report: how outcomes become it, and every form of it. `report.forms` has a face
of its own, and `report.assembly` is for the chain in `analysis` alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.report.forms.page_data import CauseRow, ComparedRuns, PageData
    from tfadvisor.report.light import light_line
    from tfadvisor.report.model import (
        MetricValue,
        Op,
        Report,
        StepInfo,
        StepsInfo,
        Tool,
    )
    from tfadvisor.report.of_the_run import run_words
    from tfadvisor.report.wording import (
        advice,
        evidence_words,
        location_words,
        saving_words,
    )
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "CauseRow": "forms.page_data",
            "ComparedRuns": "forms.page_data",
            "MetricValue": "model",
            "Op": "model",
            "PageData": "forms.page_data",
            "Report": "model",
            "StepInfo": "model",
            "StepsInfo": "model",
            "Tool": "model",
            "advice": "wording",
            "evidence_words": "wording",
            "light_line": "light",
            "location_words": "wording",
            "run_words": "of_the_run",
            "saving_words": "wording",
        },
    )

__all__ = [
    "CauseRow",
    "ComparedRuns",
    "MetricValue",
    "Op",
    "PageData",
    "Report",
    "StepInfo",
    "StepsInfo",
    "Tool",
    "advice",
    "evidence_words",
    "light_line",
    "location_words",
    "run_words",
    "saving_words",
]
