"""What a program has already: no fix prescribes it again.

The program's source shows it, where that is given, and some of it the trace.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from tfadvisor.metrics.input import input_root
from tfadvisor.metrics.registry import MetricAbsent, Question, fact
from tfadvisor.patterns import pattern

_SETTINGS = {
    "jit_compile": r"\b(?:jit_compile|experimental_compile)\s*=\s*True",
    "mixed_precision": r"mixed_b?float16|\bb?float16\b",
    "steps_per_execution": r"\bsteps_per_execution\s*=\s*(?!(?:1|None)\b)\w",
    "run_eagerly": r"\brun_eagerly\s*=\s*True|run_functions_eagerly\(\s*True",
    "batch_callbacks": r"\bdef on_(?:train_)?batch_(?:begin|end)\b",
    "pipeline": r"\btf\.data\b",
    "cache": r"\.(?:cache|snapshot)\(",
    "workers": r"\b(?:workers|num_workers|worker_count)\s*=\s*(?!(?:[01]|None)\b)\w",
    "donation": r"\bdonate_arg(?:num|name)s\b",
    "accumulation": r"\b(?:gradient_accumulation_steps|MultiSteps|apply_every)\b",
}
"""By the name of the setting, how programs write it."""


def _runs_a_pipeline(question: Question) -> bool:
    try:
        return bool(input_root(question))
    except MetricAbsent:
        return False


_SHOWN: dict[str, Callable[[Question], bool]] = {"pipeline": _runs_a_pipeline}
"""What a trace shows by itself."""


def _register(setting: str, pattern: re.Pattern[str]) -> None:
    shows = _SHOWN.get(setting)

    def has(question: Question) -> str:
        if shows is not None and shows(question):
            return "yes"
        source = question.settings.source
        if source is None:
            raise MetricAbsent("the program's source is not given: --source DIR")
        return "yes" if source.mentions(pattern) else "no"

    has.__name__ = f"has_{setting}"
    has.__doc__ = (
        f"Whether the program has {setting.replace('_', ' ')} already: yes or no, by "
        "its source, or by the trace where that shows it."
    )
    fact(has)


for _setting, _pattern in _SETTINGS.items():
    _register(_setting, pattern(_pattern))
