"""Names of jitted functions' calls and of the programs that XLA compiles of them, as
JAX 0.4 to 0.10 write both.
"""

from __future__ import annotations

import pytest

from tfadvisor.timeline.names.program_calls import calls_module, function_of_module


@pytest.mark.parametrize(
    ("call", "module"),
    [
        ("PjitFunction(train_step)", "jit_train_step"),
        ("PjitFunction(__call__)", "jit___call__"),  # JAX 0.4.30 to 0.6
        ("PjitFunction(__call__)", "jit___call"),  # JAX 0.7 and newer
        ("PjitFunction(<lambda>)", "jit__lambda_"),
        ("PjitFunction(<lambda>)", "jit__lambda"),
    ],
)
def test_a_call_and_its_program(call: str, module: str) -> None:
    assert calls_module(call, module)


@pytest.mark.parametrize(
    ("call", "module"),
    [
        ("PjitFunction(f)", "jit_g"),
        ("PjitFunction(_f)", "jit_f"),
        ("Execute", "jit_Execute"),
        ("DevicePut", ""),
    ],
)
def test_other_names(call: str, module: str) -> None:
    assert not calls_module(call, module)


@pytest.mark.parametrize(
    ("module", "function"),
    [
        ("jit_step(12)", "step"),
        ("pmap_step", "step"),
        ("jit__lambda_", None),
        ("jit__lambda", None),
        ("main.4", None),
    ],
)
def test_the_function_of_a_program(module: str, function: str | None) -> None:
    assert function_of_module(module) == function
