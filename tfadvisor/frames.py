"""pandas frames, for notebooks. pandas is no dependency: a new one brings a NumPy that older TensorFlow cannot work with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tfadvisor.errors import UsageError

if TYPE_CHECKING:
    import pandas as pd


def need_pandas() -> None:
    """Loads it, which takes half a second. Raises UsageError with the line that installs it where it cannot be loaded."""
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"Frames need pandas, which cannot be loaded ({error}): pip install 'tfadvisor[pandas]'"
        ) from error


def frame_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pd.DataFrame:
    """One row a mapping, with the columns also where there is no row. Raises UsageError without pandas."""
    need_pandas()
    import pandas as pd

    return pd.DataFrame(list(rows), columns=list(columns))
