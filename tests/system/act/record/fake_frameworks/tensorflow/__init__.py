"""As much of TensorFlow as the recorder touches."""

import time

from tensorflow.python.eager.polymorphic_function import tracing_compilation
from tensorflow.python.profiler import profiler_v2

__version__ = "0.0-fake"


def function(call):
    time.sleep(0.3)  # it starts up before its first function
    return tracing_compilation.trace_function(call)
