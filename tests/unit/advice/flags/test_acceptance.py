"""Which version accepts a flag, and what it calls it."""

from __future__ import annotations

import pytest

from tfadvisor.advice.flags.acceptance import accepts
from tfadvisor.advice.flags.recorded import choose, order


def test_a_flag_that_the_version_has() -> None:
    known = accepts("--xla_gpu_enable_latency_hiding_scheduler=true", "0.10.2")

    assert (known.accepted, known.name, known.value, known.note) == (
        True,
        "xla_gpu_enable_latency_hiding_scheduler",
        "true",
        "",
    )


def test_a_flag_that_a_later_version_has() -> None:
    known = accepts("xla_gpu_detect_nan", "0.6.0")

    assert known.accepted is False
    assert known.name == "xla_gpu_detect_nan"
    assert known.note == "jaxlib accepts it from 0.8.1 on"


def test_a_flag_that_is_gone() -> None:
    known = accepts("xla_gpu_enable_custom_fusions", "0.10.2")

    assert known.accepted is False
    assert (
        known.note
        == "jaxlib 0.7.2 and newer refuse it; 0.7.1 is the last that accepts it"
    )


@pytest.mark.parametrize(
    ("flag", "version", "name", "value"),
    [
        (
            "xla_gpu_enable_address_computation_fusion=true",
            "0.10.2",
            "xla_gpu_enable_dynamic_slice_fusion",
            "true",
        ),
        (
            "xla_gpu_enable_dynamic_slice_fusion=true",
            "0.4.31",
            "xla_gpu_enable_address_computation_fusion",
            "true",
        ),
        ("xla_gpu_cudnn_gemm_fusion", "0.10.2", "xla_gpu_cudnn_gemm_fusion_level", "1"),
        (
            "xla_gpu_pipeline_all_reduce=on",
            "0.10.2",
            "xla_gpu_enable_pipelined_all_reduce",
            "true",
        ),
        (
            "xla_gpu_pipeline_all_reduce=off",
            "0.10.2",
            "xla_gpu_pipeline_all_reduce",
            "off",
        ),
        (
            "xla_gpu_enable_pipelined_all_reduce=1",
            "0.12.0",
            "xla_gpu_pipeline_all_reduce",
            "on",
        ),
        (
            "xla_gpu_enable_pipelined_all_reduce=1",
            "0.10.2",
            "xla_gpu_enable_pipelined_all_reduce",
            "1",
        ),
    ],
)
def test_names_and_values_go_with_the_version(
    flag: str, version: str, name: str, value: str
) -> None:
    """A value without a counterpart leaves the flag as it is, refused."""
    known = accepts(flag, version)

    assert (known.name, known.value) == (name, value)


def test_flags_of_libtpu_are_not_known() -> None:
    known = accepts("--xla_tpu_enable_async_collective_fusion=true", "0.10.2")

    assert known.accepted is None
    assert "LIBTPU_INIT_ARGS" in known.note


def test_flags_of_tensorflow() -> None:
    assert accepts("--tf_xla_auto_jit=2", None).accepted is True
    assert accepts("xla_gpu_detect_nan", None, "tensorflow").accepted is True
    assert accepts("xla_gpu_detect_nan", "2.19.1", "tensorflow").accepted is False


@pytest.mark.parametrize(
    ("asked", "version", "note"),
    [
        ("0.10.2", "0.10.2", ""),
        ("0.10.2+cuda12", "0.10.2", ""),
        ("0.4.30.dev20240601", "0.4.30", ""),
        ("0.8", "0.8.0", ""),
        ("0.4.32", "0.4.31", "judged by jaxlib 0.4.31, the nearest older one recorded"),
        ("7.0", "0.12.0.1", "judged by jaxlib 0.12.0.1, the newest recorded"),
        ("0.3.0", "0.4.30", "judged by jaxlib 0.4.30, the oldest recorded"),
        (
            None,
            "0.12.0.1",
            "judged by jaxlib 0.12.0.1, the newest recorded, as no version is known",
        ),
        (
            "new",
            "0.12.0.1",
            "judged by jaxlib 0.12.0.1, the newest recorded, as 'new' is not a version",
        ),
    ],
)
def test_the_version_that_judges(asked: str | None, version: str, note: str) -> None:
    chosen = choose(
        "jaxlib", asked, ("0.4.30", "0.4.31", "0.8.0", "0.10.2", "0.12.0.1")
    )

    assert (chosen.version, chosen.note) == (version, note)


def test_versions_are_ordered_by_number() -> None:
    assert sorted(["0.10.0", "0.9.2", "0.9.0.1", "0.4.38"], key=order) == [
        "0.4.38",
        "0.9.0.1",
        "0.9.2",
        "0.10.0",
    ]
    assert order("0.8") == order("0.8.0")
    assert order("newest") is None
