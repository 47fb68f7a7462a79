"""As much of TensorFlow as the recorder touches."""

import time

from tensorflow.python.framework import func_graph
from tensorflow.python.profiler import profiler_v2

__version__ = "0.0-fake"


def function(call):
    time.sleep(0.3)  # it starts up before its first function
    return func_graph.func_graph_from_py_func(call)
