"""What the run had: hosts, devices, the GPU's generation and maker."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace


def gpus(number: int, **properties: object) -> TraceBuilder:
    builder = trace().step(0, 100)
    for index in range(number):
        builder.busy(f"GPU:{index}", (0, 90)).plane_stat(
            f"/device:GPU:{index}", **properties
        )
    return builder


def test_hosts_and_devices_are_counted() -> None:
    builder = (
        gpus(2)
        .host("other")
        .step(0, 100)
        .busy("GPU:0", (0, 90))
        .host("coordinator")
        .call("anything", 0, 1)
    )
    metrics = builder.measure()

    assert metrics.value("devices_per_host") == 2


@pytest.mark.parametrize(
    ("properties", "capability", "vendor"),
    [
        (
            {"device_vendor": "Nvidia", "compute_cap_major": 8, "compute_cap_minor": 9},
            8.9,
            "nvidia",
        ),
        ({"compute_cap_major": 7}, 7.0, "nvidia"),
        (
            {"device_vendor": "AMD", "compute_cap_major": 9, "compute_cap_minor": 4},
            None,
            "amd",
        ),
        ({}, None, "nvidia"),
    ],
)
def test_generation_and_maker(
    properties: dict[str, object], capability: float | None, vendor: str
) -> None:
    metrics = gpus(1, **properties).measure()

    assert metrics.value("compute_capability") == capability
    assert metrics.fact("gpu_vendor") == vendor


@pytest.mark.parametrize(
    ("properties", "named"),
    [
        ({"compute_cap_major": 7, "compute_cap_minor": 5}, "float16"),
        ({"compute_cap_major": 8}, "bfloat16"),
        ({"device_vendor": "AMD", "compute_cap_major": 9}, "bfloat16"),
        ({}, "bfloat16"),
    ],
)
def test_the_type_for_products_in_16_bits(
    properties: dict[str, object], named: str
) -> None:
    assert gpus(1, **properties).measure().fact("sixteen_bit_type") == named


def test_the_oldest_gpu_decides() -> None:
    builder = (
        gpus(1, compute_cap_major=9)
        .busy("GPU:1", (0, 90))
        .plane_stat("/device:GPU:1", compute_cap_major=7)
    )

    assert builder.measure().value("compute_capability") == 7


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        (("decode_step", "convert_element_type"), "inference"),
        (("prefill_1024", "decode"), "inference"),
        (("train_step", "generate_batch"), "unknown"),
        (("step",), "unknown"),
        (("update", "predict"), "unknown"),
        (("decoder_block",), "unknown"),
    ],
)
def test_inference_by_the_names_of_compiled_functions(
    functions: tuple[str, ...], expected: str
) -> None:
    builder = trace().step(0, 100).busy("GPU:0", (10, 90))
    for at, name in enumerate(functions):
        builder.call(f"PjitFunction({name})", at, at + 0.5)
    metrics = builder.measure()

    assert metrics.fact("workload") == expected
    assert (metrics.fact("steps_per_execution") is None) == (expected == "inference")


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        ("MegaScale: Communication Transport Receive", "used"),
        (
            "%send.1 = () send(%x), "
            'frontend_attributes={_xla_host_transfer_handler_name="xla_megascale_runtime"}',
            "used",
        ),
        ("x", "not used"),
    ],
)
def test_the_network_between_slices(event: str, expected: str) -> None:
    assert (
        trace()
        .step(0, 100)
        .busy("GPU:0", (0, 9))
        .call(event, 0, 9)
        .measure()
        .fact("slices_network")
        == expected
    )
