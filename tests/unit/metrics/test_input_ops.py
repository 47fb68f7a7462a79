"""Which ops the pipeline's functions spend their time in."""

from __future__ import annotations

from support.trace_builder import TraceBuilder, trace


def mapped(*ops: tuple[str, float, float]) -> TraceBuilder:
    """Four steps of 1,000 µs computed on one thread; on another, tf.data's ops (name,
    from, to) in each step.
    """
    builder = trace()
    for at in range(0, 4000, 1000):
        builder.thread("python").step(at, at + 1000)
        builder.thread("tf_Compute/1").call("dense/MatMul:MatMul", at, at + 900)
        builder.thread("tf_data_private_threadpool/3")
        for name, start, end in ops:
            builder.call(name, at + start, at + end)
    return builder


def test_the_types_of_the_functions_ops_with_their_shares() -> None:
    """Of 800 µs 480 resize, 288 decode, 24 cast and 8 reshape; the step's own product
    is no op of the pipeline.
    """
    metrics = mapped(
        ("resize/ScaleAndTranslate:ScaleAndTranslate", 0, 480),
        ("DecodeJpeg:DecodeJpeg", 500, 788),
        ("Cast:Cast", 800, 824),
        ("Reshape:Reshape", 830, 838),
    ).measure()

    assert (
        metrics.fact("input_ops") == "ScaleAndTranslate 60%, DecodeJpeg 36%, Cast 3.0%"
    )


def test_a_pipeline_without_ops() -> None:
    assert mapped().measure().fact("input_ops") is None
