"""What stable rules say of a TPU's run of which only ops and their categories are
recorded: why not, or they can judge it.
"""

from __future__ import annotations

from support.trace_builder import TraceBuilder, _set, _stat_id, trace

ABOUT_GPUS = """
    allocation-in-steps gpu-held-down graphs-off-while-recording host-thread-contention loss-scaling-on-host many-small-copies
    products-as-loops products-wait-for-collectives slices-copied-in-loop small-memory-pool staggered-launches
    fallback-kernels fp32-matrix-kernels tf32-matrix-kernels misaligned-matmul-shapes graphs-timed-as-one
""".split()
NEED_HLO = """
    argument-not-donated unrolled-loop random-numbers scatter-loop double-precision general-gathers cumulative-ops
    unfused-attention padded-products same-work-on-every-device
""".split()


def run() -> TraceBuilder:
    builder = trace()
    for step in range(4):
        builder.step(step * 100, step * 100 + 100).call(
            "PjitFunction(train)", step * 100, step * 100 + 5
        )
        builder.on_line(
            "/device:TPU:0",
            "XLA Ops",
            "%fusion.1 = f32[8] fusion(%p)",
            step * 100 + 5,
            step * 100 + 95,
        )
    plane = builder._planes["host", "/device:TPU:0"]
    for entry in plane.event_metadata.values():
        for stat, value in (
            ("hlo_category", "loop fusion"),
            ("flops", 1000),
            ("bytes_accessed", 1000),
        ):
            _set(entry.stats.add(metadata_id=_stat_id(plane, stat)), plane, value)
    return builder


def test_rules_that_cannot_judge_a_tpu_say_why() -> None:
    reasons = {one.rule_id: one.reason for one in run().report().not_applicable}

    assert {
        rule: reasons.get(rule, "")
        for rule in ABOUT_GPUS
        if "GPU" not in reasons.get(rule, "")
    } == {}
    assert {
        rule: reasons.get(rule, "")
        for rule in NEED_HLO
        if "HLO" not in reasons.get(rule, "")
    } == {}
