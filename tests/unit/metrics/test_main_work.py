"""Products and convolutions by the types of TensorFlow's ops."""

from __future__ import annotations

import pytest

from tfadvisor.metrics.main_work import CONVOLUTIONS, PRODUCTS, is_of

TYPES = {
    "MatMul": PRODUCTS,
    "_FusedMatMul": PRODUCTS,
    "_MklMatMul": PRODUCTS,
    "BatchMatMulV2": PRODUCTS,
    "Einsum": PRODUCTS,
    "dot_general": PRODUCTS,
    "Conv2D": CONVOLUTIONS,
    "_FusedConv2D": CONVOLUTIONS,
    "Conv3DBackpropFilterV2": CONVOLUTIONS,
    "DepthwiseConv2dNativeBackpropInput": CONVOLUTIONS,
    "conv_general_dilated": CONVOLUTIONS,
    "RFFT": None,
    "SparseTensorDenseMatMul": None,
    "ConvertToListOfUnits": None,
    "convert": None,
    "": None,
}


@pytest.mark.parametrize(("op_type", "kind"), list(TYPES.items()))
def test_each_type_is_of_one_kind_or_none(op_type: str, kind: object) -> None:
    kinds = (PRODUCTS, CONVOLUTIONS)
    found = [types for types in kinds if is_of(op_type, types)]

    assert found == ([] if kind is None else [kind])
