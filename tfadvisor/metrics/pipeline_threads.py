"""What an input pipeline runs in Python on its own threads, by samples of the run."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tfadvisor.metrics.registry import MetricAbsent, Question, fact, metric
from tfadvisor.units import percent
from tfadvisor.vocabulary import Better

if TYPE_CHECKING:
    from tfadvisor.causes import PipelinePython, RunShare

_READING = frozenset("fastparquet h5py lmdb netCDF4 pyarrow tables zarr".split())
"""Packages whose Python only reads what lies in files."""
_WORTH_NAMING = 0.25
"""Of the program's own time on these threads: what the framework does around each
element is done for the program's functions.
"""
_LEAST_OWN = 0.05
"""Of the threads' time in Python, below which it is the framework's alone."""


def _python(question: Question) -> PipelinePython:
    account = question.settings.account
    if account is None or account.pipeline is None:
        raise MetricAbsent("no samples of a pipeline that runs Python lie beside it")
    return account.pipeline


@metric(better=Better.NEITHER)
def pipeline_own_fraction(question: Question) -> float:
    """Of the time that an input pipeline's threads spend in Python, the share of the
    program's own functions. By samples of the run.
    """
    return _python(question).own


@fact
def pipeline_place(question: Question) -> str:
    """The program's function in which an input pipeline's threads spend most of the
    program's own time, a quarter of it or more, by its costliest line:
    `load (data.py:25)`.
    """
    return _leading(question).places[0].words


def _leading(question: Question) -> RunShare:
    """Raises MetricAbsent."""
    python = _python(question)
    if python.own < _LEAST_OWN:
        raise MetricAbsent("hardly any of that time is the program's own")
    takes: dict[tuple[str, str], float] = defaultdict(float)
    for share in python.lines:
        takes[_function_of(share)] += share.fraction
    most = max(takes, key=takes.__getitem__, default=None)
    if most is None or takes[most] < _WORTH_NAMING * python.own:
        raise MetricAbsent("no function of the program takes a quarter of its time")
    return next(share for share in python.lines if _function_of(share) == most)


def _function_of(share: RunShare) -> tuple[str, str]:
    """File and name."""
    place = share.places[0]
    return place.file, place.function


@fact
def pipeline_library(question: Question) -> str:
    """The installed package that reads files in which most of that line's time lies:
    `h5py`.
    """
    python, leading = _python(question), _leading(question)
    library = python.library if leading is python.lines[0] else ""
    if library not in _READING:
        raise MetricAbsent("most of that line's time lies in no package that reads")
    return library


@fact
def batch_generator_sign(question: Question) -> str:
    """The function of Keras that, by samples of the run, asks a Python generator for
    whole batches: `generator_data_adapter.py get_tf_iterator`.
    """
    found = _python(question).generator
    if not found:
        raise MetricAbsent("Keras is not seen to ask a generator for batches")
    return found


@fact
def pipeline_threads(question: Question) -> str:
    """The end of a sentence, its full stop, and what these threads do as another one;
    the full stop alone where no samples tell.
    """
    account = question.settings.account
    found = None if account is None else account.pipeline
    if found is None:
        return "."
    around = found.around
    if around >= max((share.fraction for share in found.lines), default=0.0):
        what = (
            f"{percent(around)} of it is the framework's own work around each element"
        )
    else:
        if not found.lines:
            return "."
        first = found.lines[0]
        library = f", most of it {found.library}" if found.library else ""
        what = f"{percent(first.fraction)} of it is {first.places[0].words}{library}"
    return f". By samples of its Python, {what}."
