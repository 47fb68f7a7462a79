"""Where functions are traced, and counted."""

from types import SimpleNamespace

_traced = [0]


def _cell():
    return SimpleNamespace(value=lambda: _traced[0])


_graph_building_time_counter = SimpleNamespace(get_cell=_cell)


def trace_function(call):
    _traced[0] += 1000
    return call
