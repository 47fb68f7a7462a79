"""Where the step goes names what was planted; test_reports_agree.py looks whether it
adds up.
"""

from __future__ import annotations

import pytest
from support.places import FIXTURES

import tfadvisor


@pytest.mark.parametrize(
    ("fixture", "kind", "activity"),
    [
        ("jax-logging", "host", "log_metrics (program.py:28)"),
        ("jax-loader", "input", "load_batch (program.py:25)"),
        ("jax-recompile", "compile", "compiles train_step"),
        ("jax-4dev-many-small", "collective", "all-reduce"),
        ("tf-python-map", "input", "tf.data ParallelMap"),
        ("tf-generator", "input", "tf.data Generator"),
        ("tf-no-prefetch", "compute", "_MklMatMul"),
    ],
)
def test_what_is_planted_is_what_takes_most(
    fixture: str, kind: str, activity: str
) -> None:
    report = tfadvisor.analyze(FIXTURES / fixture).report

    (found,) = [one for one in report.attribution if one.kind == kind]
    assert found.parts[0].activity == activity
