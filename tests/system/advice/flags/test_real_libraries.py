"""The recording against the jaxlib of this environment, started anew for each flag."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import re
import subprocess
import sys

import pytest

import tfadvisor.metrics  # noqa: F401
from tfadvisor.advice.flags.prescribe import fitted
from tfadvisor.advice.flags.recorded import choose, recording
from tfadvisor.advice.flags.setting_values import fault_of_flag
from tfadvisor.advice.loading.catalogue import built_in_rules

needs_jaxlib = pytest.mark.skipif(
    importlib.util.find_spec("jaxlib") is None,
    reason="no jaxlib here: it is large and only recording and this test need it; "
    "benchmarks/check_flags.py does the same",
)
FLAG = re.compile(r"--xla_\w+=[^\s\"'`;)]*")
PLACEHOLDER = re.compile(r"\{[a-z][a-z0-9_]*\}")
JAXLIB = recording().table("XLA_FLAGS", "jaxlib")


def lives(flags: str) -> bool:
    """Whether a process that reads the flags goes on."""
    code = "from jaxlib import xla_client; xla_client.CompileOptions()"
    environment = {**os.environ, "XLA_FLAGS": flags}
    return not subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=False
    ).returncode


def version() -> str:
    return choose(
        "jaxlib", importlib.metadata.version("jaxlib"), JAXLIB.versions
    ).version


@needs_jaxlib
def test_every_recorded_flag_is_accepted() -> None:
    """One process reads them all, each with its default, but for texts of a format of
    their own: XLA does not take back the "" of xla_fuel."""
    known = [JAXLIB.flag(name, version()) for name in JAXLIB.names(version())]
    flags = [
        one
        for one in known
        if one
        and (one.kind != "string" or one.words)
        and not fault_of_flag(one, one.default)
    ]

    assert len(flags) > 200
    assert lives(" ".join(f'--{one.name}="{one.default}"' for one in flags))


def printed() -> list[str]:
    """Every XLA flag that a rule can print for this jaxlib, with a number where the
    rule fills one in.
    """
    found = {}
    for rule in built_in_rules():
        for fix in rule.fixes:
            for text in (fix.snippet, *fix.env.values()):
                if "LIBTPU_INIT_ARGS" not in text:
                    fitting = fitted(
                        PLACEHOLDER.sub("33554432", text), "jax", version()
                    )
                    found.update(
                        dict.fromkeys(
                            FLAG.findall(fitting.text) if not fitting.refused else ()
                        )
                    )
    return list(found)


@needs_jaxlib
def test_every_flag_that_a_rule_prints_starts() -> None:
    flags = printed()

    assert len(flags) > 15
    assert [flag for flag in flags if not lives(flag)] == []


@needs_jaxlib
def test_flags_of_other_versions_are_refused() -> None:
    others = sorted(set(JAXLIB.periods) - set(JAXLIB.names(version())))[::12]

    assert [name for name in others if lives(f"--{name}=1")] == []


@needs_jaxlib
@pytest.mark.parametrize(
    "flag",
    [
        "--xla_gpu_autotune_level=4",
        "--xla_gpu_autotune_level=4.0",
        "--xla_gpu_autotune_level",
        "--xla_cpu_enable_fast_math=yes",
        "--xla_cpu_enable_fast_math=TRUE",
        "--xla_gpu_enable_command_buffer=",
        "--xla_gpu_enable_command_buffer=+fusion",
        "--xla_gpu_enable_command_buffer=zz",
        '--xla_gpu_enable_command_buffer="FUSION, CUBLAS"',
        "--xla_gpu_enable_command_buffer=+FUSION,CUBLAS",
        '--xla_gpu_disable_async_collectives="allreduce, allgather"',
        "--xla_gpu_shape_checks=ignore",
        "--xla_gpu_shape_checks=IGNORE",
    ],
)
def test_values_are_judged_as_xla_judges_them(flag: str) -> None:
    name, equals, value = flag.lstrip("-").partition("=")
    known = JAXLIB.flag(name, version())

    assert known is not None
    assert (fault_of_flag(known, value.strip('"') if equals else None) == "") is lives(
        flag
    )
