"""What metrics need of a run: named requirements that `@metric` and `@fact` list and the registry checks first.

Each raises MetricAbsent with the reason that the report then gives. A metric whose need is its own checks it itself.
"""

from __future__ import annotations

from tfadvisor.metrics.registry import Question
from tfadvisor.metrics.steady import accelerators, gpus, hosts_with_work, needs_device, needs_steps


def known_steps(question: Question) -> None:
    """Distinct steps."""
    needs_steps(question.run)


def a_device(question: Question) -> None:
    """A device that works, of a host whose steps are known."""
    needs_device(question.run)


def an_accelerator(question: Question) -> None:
    """A GPU or TPU that works."""
    accelerators(question.run)


def a_gpu(question: Question) -> None:
    """A GPU that works."""
    gpus(question.run)


def several_hosts(question: Question) -> None:
    """Several hosts whose devices work."""
    hosts_with_work(question.run)
