"""Work of recurrent layers, whose many small ops follow from their time steps."""

from __future__ import annotations

from tfadvisor.metrics.compute.parts import compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question, metric
from tfadvisor.timeline.names.op_path import is_recurrent_cell, recurrent_cell
from tfadvisor.units import Unit
from tfadvisor.vocabulary import Better


@metric(unit=Unit.FRACTION, better=Better.NEITHER)
def recurrent_cell_share(question: Question) -> float:
    """Share of the time of all compute ops that belongs to cells of recurrent layers (GRU, LSTM), gradients included."""
    found = compute_parts(question.run)
    if not any(one.layer for one in found.parts):
        raise MetricAbsent("the trace does not name the layers of ops")
    cells = sum(one.total_ps for one in found.parts if is_recurrent_cell(one.layer))
    return cells / found.compute_ps


@metric(unit=Unit.COUNT, better=Better.NEITHER)
def recurrent_cells(question: Question) -> float:
    """Number of cells of recurrent layers that the names of ops tell apart: one for each layer, or one for each time step
    where a Python loop calls the cell.
    """
    layers = [one.layer for one in compute_parts(question.run).parts]
    if not any(layers):
        raise MetricAbsent("the trace does not name the layers of ops")
    return float(len({cell for layer in layers if (cell := recurrent_cell(layer))}))
