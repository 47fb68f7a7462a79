"""As much of TensorFlow as a program on the invented clock needs: a data set that is
quicker with a prefetch, and XLA's flags.
"""

import os
import re

from invented import work

from tensorflow.python.eager import context
from tensorflow.python.eager.polymorphic_function import tracing_compilation

__version__ = "2.21.0"
_FLAGS = os.environ.get("XLA_FLAGS", "")
_DUMPED = (
    "module_0001.jit_step.0001.simplification.after_algsimp.before_cse.txt",
    "module_0001.jit_step.0002.simplification.after_cse.before_pipeline-end.txt",
    "module_0001.jit_step.0003.copies.after_copy-insertion.before_pipeline-end.txt",
)


class Dataset:
    def __init__(self, milliseconds):
        self.milliseconds = milliseconds

    def __iter__(self):
        while True:
            work(self.milliseconds)
            yield 1.0

    def prefetch(self, _count):
        return Dataset(0)


class data:
    AUTOTUNE = -1

    class Dataset:
        @staticmethod
        def from_tensor_slices(_values):
            return Dataset(4.5)


def train(batch):
    work(6 if "--xla_disable_hlo_passes=algsimp" in _FLAGS else 3)
    return 1.0 / (batch + 1)


def _dump(folder):
    os.makedirs(folder, exist_ok=True)
    for name in _DUMPED:
        with open(os.path.join(folder, name), "w") as file:
            file.write("HloModule")


for _folder in re.findall(r"--xla_dump_to=(\S+)", _FLAGS):
    _dump(_folder)
