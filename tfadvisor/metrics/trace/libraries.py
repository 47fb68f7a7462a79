"""Which libraries a program is written with, so that a fix can be given in their words."""

from __future__ import annotations

from tfadvisor.metrics.registry import MetricAbsent, Question, fact


@fact
def keras_sign(question: Question) -> str:
    """The name in the trace that proves Keras' own training loop: `EagerLocalExecute: __inference_one_step_on_data_310`."""
    found = [host.evidence.libraries.keras for host in question.run.hosts if host.evidence.libraries.keras]
    if not found:
        raise MetricAbsent("no name in the trace is of Keras' training loop")
    return found[0]


@fact
def py_dataset_sign(question: Question) -> str:
    """The name in the trace that proves that Keras takes its batches from a PyDataset, or a Sequence in Keras 2:
    `py_dataset_adapter.py:241 get`.
    """
    found = [host.evidence.libraries.py_dataset for host in question.run.hosts if host.evidence.libraries.py_dataset]
    if not found:
        raise MetricAbsent("no name in the trace is of a PyDataset or Sequence of Keras")
    return found[0]
