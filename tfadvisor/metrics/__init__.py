"""One question, one function. Importing the package registers every metric and fact."""

from tfadvisor.metrics import (
    already,  # noqa: F401
    between_dispatches,  # noqa: F401
    both_branches,  # noqa: F401
    capture,  # noqa: F401
    collective_kinds,  # noqa: F401
    collectives,  # noqa: F401
    copies,  # noqa: F401
    costly_calls,  # noqa: F401
    decompositions,  # noqa: F401
    devices,  # noqa: F401
    driven_rounds,  # noqa: F401
    eager_whole,  # noqa: F401
    element_loops,  # noqa: F401
    evaluated,  # noqa: F401
    far_ops,  # noqa: F401
    few_steps,  # noqa: F401
    frozen,  # noqa: F401
    hooks,  # noqa: F401
    host_ties,  # noqa: F401
    input,  # noqa: F401
    kinds,  # noqa: F401
    launch,  # noqa: F401
    layers,  # noqa: F401
    limits,  # noqa: F401
    loop_rounds,  # noqa: F401
    machine,  # noqa: F401
    mapped,  # noqa: F401
    mapped_loops,  # noqa: F401
    memory,  # noqa: F401
    metric_updates,  # noqa: F401
    needless,  # noqa: F401
    one_by_one,  # noqa: F401
    optimizer,  # noqa: F401
    outside_steps,  # noqa: F401
    own_functions,  # noqa: F401
    pipeline_threads,  # noqa: F401
    place_causes,  # noqa: F401
    precision,  # noqa: F401
    products,  # noqa: F401
    programs,  # noqa: F401
    read_each_round,  # noqa: F401
    repeated,  # noqa: F401
    retraced,  # noqa: F401
    same_in_graph,  # noqa: F401
    signals,  # noqa: F401
    step_arguments,  # noqa: F401
    step_time,  # noqa: F401
    stragglers,  # noqa: F401
    taken_apart,  # noqa: F401
    unchanged,  # noqa: F401
    xla_runs,  # noqa: F401
)
from tfadvisor.metrics.collectives import ring_bytes
from tfadvisor.metrics.registry import (
    PLACES,
    Fact,
    Measured,
    Metric,
    MetricAbsent,
    Metrics,
    Settings,
    measure,
    registered_facts,
    registered_metrics,
)
from tfadvisor.metrics.steady import (
    class_shares,
    counted_hosts,
    device_steps,
    periods_ms,
)

__all__ = [
    "PLACES",
    "Fact",
    "Measured",
    "Metric",
    "MetricAbsent",
    "Metrics",
    "Settings",
    "class_shares",
    "counted_hosts",
    "device_steps",
    "measure",
    "periods_ms",
    "registered_facts",
    "registered_metrics",
    "ring_bytes",
]
