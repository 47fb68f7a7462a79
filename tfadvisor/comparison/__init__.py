"""Two runs side by side, and the gate that judges a change. `gate`, `baseline` and
`ledger` are doors of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.comparison.change import Comparison
    from tfadvisor.comparison.change_forms import (
        COMPARISON_FORMS,
        ShownComparison,
        as_text,
        on_page,
    )
    from tfadvisor.comparison.side import Side
    from tfadvisor.comparison.split import compare_sides
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "COMPARISON_FORMS": "change_forms",
            "Comparison": "change",
            "ShownComparison": "change_forms",
            "Side": "side",
            "as_text": "change_forms",
            "compare_sides": "split",
            "on_page": "change_forms",
        },
    )

__all__ = [
    "COMPARISON_FORMS",
    "Comparison",
    "ShownComparison",
    "Side",
    "as_text",
    "compare_sides",
    "on_page",
]
