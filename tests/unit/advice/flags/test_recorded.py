"""What the libraries said of themselves, checked against facts that were found out in
another way.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import tfadvisor.advice.flags
from tfadvisor.advice.flags.recorded import order, recording

JAXLIB = recording().table("XLA_FLAGS", "jaxlib")
FILE = Path(tfadvisor.advice.flags.__file__).with_name("recorded.json")
REFUSED_BY_0_10_2 = (
    "xla_gpu_enable_pipelined_collectives",
    "xla_gpu_lhs_enable_gpu_async_tracker",
    "xla_gpu_enable_custom_fusions",
    "xla_gpu_enable_address_computation_fusion",
    "xla_gpu_enable_nccl_per_stream_comms",
    "xla_gpu_cudnn_gemm_fusion",
    "xla_gpu_enable_async_reduce_scatter",
    "xla_gpu_enable_async_all_reduce",
    "xla_gpu_enable_async_all_gather",
    "xla_gpu_enable_triton_softmax_fusion",
    "xla_gpu_enable_cudnn_frontend",
)
"""Tried by hand with jaxlib 0.10.2, before there was a recorder."""


@pytest.mark.parametrize("name", REFUSED_BY_0_10_2)
def test_flags_of_the_guides_that_jaxlib_0_10_2_refuses(name: str) -> None:
    assert JAXLIB.flag(name, "0.10.2") is None


@pytest.mark.parametrize(
    ("name", "kind", "default"),
    [
        ("xla_gpu_enable_latency_hiding_scheduler", "bool", "false"),
        ("xla_gpu_enable_highest_priority_async_stream", "bool", "true"),
        ("xla_gpu_enable_dynamic_slice_fusion", "bool", "false"),
        ("xla_gpu_cudnn_gemm_fusion_level", "int32", "0"),
        ("xla_gpu_autotune_level", "int32", "4"),
        ("xla_gpu_memory_limit_slop_factor", "int32", "95"),
        ("xla_disable_hlo_passes", "string", ""),
    ],
)
def test_flags_that_jaxlib_0_10_2_accepts(name: str, kind: str, default: str) -> None:
    flag = JAXLIB.flag(name, "0.10.2")

    assert flag is not None
    assert (flag.kind, flag.default) == (kind, default)


def test_a_default_changes_with_the_version() -> None:
    """The guide of JAX says that any GEMM on Triton is off; it no longer is."""
    old, new = (
        JAXLIB.flag("xla_gpu_triton_gemm_any", version)
        for version in ("0.4.30", "0.12.0.1")
    )

    assert old is not None
    assert new is not None
    assert (old.default, new.default) == ("false", "true")


def test_what_a_flag_may_hold_changes_with_the_version() -> None:
    old, new = (
        JAXLIB.flag("xla_gpu_enable_command_buffer", version)
        for version in ("0.4.30", "0.12.0.1")
    )

    assert old is not None
    assert old.words is not None
    assert new is not None
    assert new.words is not None
    assert "CONDITIONALS" in old.words.words
    assert "CONDITIONAL" in new.words.words
    assert (
        new.words.several,
        new.words.signs,
        new.words.empty,
        new.words.any_case,
    ) == (True, True, True, True)


@pytest.mark.parametrize(
    "table", recording().tables, ids=lambda table: f"{table.variable}-{table.library}"
)
def test_every_period_is_within_the_versions_and_after_the_one_before(table) -> None:
    assert list(table.versions) == sorted(table.versions, key=order)
    for name, periods in table.periods.items():
        bounds = [
            table.versions.index(version)
            for period in periods
            for version in period[:2]
        ]
        assert bounds == sorted(bounds), name
        assert all(
            first < second
            for first, second in zip(bounds[1::2], bounds[2::2], strict=False)
        ), name
        assert periods[0][5] is not None, name
        assert {period[2] for period in periods} <= {
            "bool",
            "int32",
            "int64",
            "float",
            "string",
        }, name


def test_the_recording_is_sorted_and_small() -> None:
    assert list(JAXLIB.periods) == sorted(JAXLIB.periods)
    assert len(JAXLIB.versions) >= 8
    assert FILE.stat().st_size < 300_000


def test_nothing_of_the_recording_machine_is_in_it() -> None:
    """Defaults that come from a path or a number of cores would be others elsewhere."""
    text = FILE.read_text()

    assert "/tmp" not in text.replace("'/tmp", "")
    assert "/root" not in text
    assert "/home" not in text
