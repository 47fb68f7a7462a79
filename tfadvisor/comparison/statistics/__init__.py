"""Tests and intervals for step times."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.comparison.statistics.distributions import t_quantile, t_tail
    from tfadvisor.comparison.statistics.ranks import (
        levels,
        middle_of,
        p_above,
        shift,
        smallest_p,
        surely_above,
    )
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "levels": "ranks",
            "middle_of": "ranks",
            "p_above": "ranks",
            "shift": "ranks",
            "smallest_p": "ranks",
            "surely_above": "ranks",
            "t_quantile": "distributions",
            "t_tail": "distributions",
        },
    )

__all__ = [
    "levels",
    "middle_of",
    "p_above",
    "shift",
    "smallest_p",
    "surely_above",
    "t_quantile",
    "t_tail",
]
