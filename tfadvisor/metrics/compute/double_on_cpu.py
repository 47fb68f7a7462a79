"""Which of TensorFlow's ops on a CPU compute in 64-bit floats, by the kernels that 32 bits would get.

TensorFlow fuses a layer's product with its bias (`_FusedMatMul`, `_FusedConv2D`), and runs products by oneDNN where that
is built in (`_MklMatMul`, `_MklNativeFusedMatMul`): of 32 bits and fewer, never of 64 (`IsCpuCompatibleDataType` in
tensorflow/core/grappler/optimizers/remapper.cc). A layer whose product and bias run apart computes in 64.
"""

from __future__ import annotations

from tfadvisor.metrics.compute.parts import Part, compute_parts
from tfadvisor.metrics.registry import MetricAbsent, Question
from tfadvisor.metrics.remember import once
from tfadvisor.timeline.run.run_summary import RunSummary
from tfadvisor.vocabulary import DeviceKind

_PRODUCTS = frozenset(("MatMul", "Conv2D"))
_BIAS = "BiasAdd"
_ONEDNN = "_Mkl"
_FAST = ("_Fused", _ONEDNN)
_CONVERTS = "Cast"
"""Layers of mixed precision convert their weights; their 16 bits are not fused either."""


@once
def double_parts(question: Question) -> tuple[Part, ...]:
    """The ops on 64-bit floats, the largest first. Raises MetricAbsent where op types do not tell."""
    if not is_on_cpu(question.run):
        raise MetricAbsent("this run used an accelerator, whose kernels tell the precision")
    found = compute_parts(question.run).parts
    layers: dict[str, set[str]] = {}
    for one in found:
        if one.path is not None and not one.path.is_gradient and one.layer:
            layers.setdefault(one.layer, set()).add(one.op_type)
    apart = {
        layer for layer, types in layers.items() if _BIAS in types and types & _PRODUCTS and _CONVERTS not in types
    }
    fast = any(one.op_type.startswith(_FAST) for one in found)
    if not apart and not fast:
        raise MetricAbsent("the trace has no HLO, and no op whose type tells its precision")
    onednn = any(one.op_type == f"{_ONEDNN}MatMul" for one in found)
    converting = {layer for layer, types in layers.items() if _CONVERTS in types}
    return tuple(one for one in found if one.layer in apart or (onednn and _is_plain(one, converting)))


def _is_plain(one: Part, converting: set[str]) -> bool:
    """Whether a product is none of oneDNN's, in a program whose other products are."""
    return one.op_type == "MatMul" and one.layer not in converting


def is_on_cpu(run: RunSummary) -> bool:
    """Whether no accelerator works."""
    devices = [device for host in run.hosts for device in host.devices]
    return bool(devices) and all(device.kind is DeviceKind.CPU for device in devices)
