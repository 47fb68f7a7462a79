"""Kernel names from public traces and the libraries' sources, where the list of them
lies beside the checkout.
"""

from __future__ import annotations

import csv
import re

import pytest
from support.places import ROOT

from tfadvisor.timeline.names.classes import COPIES, DeviceClass, is_derived
from tfadvisor.timeline.names.device_events import device_class, is_whole_graph
from tfadvisor.timeline.names.kernels import kernel_kind

NAMES = ROOT.parent / "shared" / "reference" / "kernel-names.tsv"
MATRIX = ("matmul", "conv", "attention", "gemm part")
FROM_MEMORY = "memory"


def rows() -> list[list[str]]:
    """(name, class, precision and Tensor Cores, source) of the names that were looked
    up.
    """
    with NAMES.open(encoding="utf-8", newline="") as lines:
        found = list(csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]
    return [row for row in found if FROM_MEMORY not in row[3]]


def is_right(name: str, expected: str) -> bool:
    """Whether the class that is read from the name is the expected one."""
    found = device_class(name)
    classes = {
        "collective": (DeviceClass.COLLECTIVE,),
        "copy": COPIES,
        "no device work": (DeviceClass.NO_WORK,),
    }
    if expected in classes:
        return found in classes[expected]
    if expected.startswith("no device work"):  # what the line says
        return is_derived("_counters_", 1)
    if expected.startswith("graph"):
        return is_whole_graph(name)
    is_told = expected == "conv (helper)" or kernel_kind(name).is_matrix is (
        expected in MATRIX
    )
    return found is DeviceClass.COMPUTE and is_told


@pytest.mark.skipif(
    not NAMES.is_file(), reason="the list of kernel names is not beside this checkout"
)
def test_classes_and_precisions_of_real_names() -> None:
    known = rows()
    wrong = [name for name, expected, *_ in known if not is_right(name, expected)]
    imprecise, precise = [], 0
    for name, _, told, _ in known:
        precision, cores = re.findall(r"(?:precision|tensor cores) (\S+?)(?:;|$)", told)
        kind = kernel_kind(name)
        if precision not in ("-", "unknowable"):
            precise += 1
            if (kind.precision.value, kind.tensor_cores) != (
                precision,
                {"yes": True, "no": False}.get(cores),
            ):
                imprecise.append(name)

    assert len(known) > 600
    assert len(wrong) <= 0.01 * len(known), wrong
    assert len(imprecise) <= 0.02 * precise, imprecise
