"""pandas frames, for notebooks. pandas is no dependency: a new one brings a NumPy that older TensorFlow cannot work with."""

from __future__ import annotations

from tfadvisor.errors import UsageError


def need_pandas() -> None:
    """Loads it, which takes half a second. Raises UsageError with the line that installs it where it cannot be loaded."""
    try:
        import pandas  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"Frames need pandas, which cannot be loaded ({error}): pip install 'tfadvisor[pandas]'"
        ) from error
