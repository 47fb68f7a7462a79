"""Kernels called SendRecv: NCCL runs all-to-alls, permutes and gathers through them."""

from __future__ import annotations

import pytest
from support.trace_builder import TraceBuilder, trace

SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


def exposed_send_recv(**stats: object) -> TraceBuilder:
    """Four steps of 100 µs: 60 µs of kernels, then 36 µs that only exchange."""
    builder = trace().steps(4, period=100)
    for at in range(0, 400, 100):
        builder.busy("GPU:0", (at + 2, at + 62), name="some_fusion")
        builder.on_line(
            "/device:GPU:0",
            "Stream #13(Compute)",
            SEND_RECV,
            at + 62,
            at + 98,
            **stats,
        )
    return builder


def test_a_send_recv_that_no_op_names_is_an_exchange_with_a_finding() -> None:
    report = exposed_send_recv().report()

    assert report.metrics["exposed_permute_fraction"].value == pytest.approx(0.0)
    assert report.metrics["exposed_rest_fraction"].value == pytest.approx(0.36)
    assert "exposed-exchanges" in {one.rule_id for one in report.findings}


def test_a_send_recv_whose_op_is_a_permute_stays_one() -> None:
    report = exposed_send_recv(
        hlo_op="collective-permute-start.1", hlo_module="jit_step"
    ).report()

    assert report.metrics["exposed_permute_fraction"].value == pytest.approx(0.36)
