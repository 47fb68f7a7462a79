"""Names of the stats that the profilers of TensorFlow, JAX and XLA hang on events,
event names and planes.
"""

from __future__ import annotations

# Steps and programs.
STEP_NUM = "step_num"
"""Of a user's step marker: its number."""
HLO_OP = "hlo_op"
HLO_MODULE = "hlo_module"
HLO_CATEGORY = "hlo_category"
FLOPS = "flops"
BYTES_ACCESSED = "bytes_accessed"
"""Of a TPU's op, on its name: what the profiler sorts it into, `all-gather fusion`."""
TF_OP = "tf_op"
"""Of a kernel: the framework's path of its op, `dense/MatMul:MatMul` or
`jit(step)/dot_general:`.
"""
OUTERMOST_ANNOTATION = "level 0"
"""The same in TensorFlow 2.3 and 2.4, which write it beside an `annotation` that says
more.
"""
PROGRAM_ID = "program_id"
MODULE_NAME = "module_name"
"""Of the host's `GpuExecutable::ExecuteThunks`: the XLA module whose kernels it
launches.
"""
RUN_ID = "run_id"
"""What all devices' events of one run of an XLA program share."""
INSTANCE_KEY = "instance_key"
"""What all devices' events of one collective of TensorFlow share."""

# From a launching call to its device.
CORRELATION_ID = "correlation_id"
DEVICE_ID = "device_id"
DEVICE_ORDINAL = "device_ordinal"
KERNEL_DETAILS = "kernel_details"
"""How a GPU's kernel was launched: see `names.launches`."""
MEMCPY_DETAILS = "memcpy_details"
"""`kind_src:pageable kind_dst:device size:4096 dest:0 async:1`."""

# A TPU's own clock.
DEVICE_OFFSET_PS = "device_offset_ps"
DEVICE_DURATION_PS = "device_duration_ps"

# TensorFlow's executor and functions.
EXECUTOR_STEP = "id"
"""Which run of a function the executor's work belongs to."""
LOOP_ITERATION = "iter_num"
TF_FUNCTION_CALL = "tf_function_call"
"""`traced-xla`, `notTraced-nonXla`: how the call of a tf.function went."""
TRACED = "traced"
"""What such a stat begins with when the function was traced anew."""

# An event that goes on in another: the first one produces an id, the second one
# consumes it.
PRODUCER_ID = "_p"
CONSUMER_ID = "_c"

# TensorFlow's allocators.
ALLOCATOR_NAME = "allocator_name"
BYTES_ALLOCATED = "bytes_allocated"
BYTES_RESERVED = "bytes_reserved"
BYTES_AVAILABLE = "bytes_available"
PEAK_BYTES_IN_USE = "peak_bytes_in_use"
ALLOCATION_BYTES = "allocation_bytes"
BLOCK_ADDRESS = "addr"
BLOCK_SHAPE = "shape"
REGION_TYPE = "region_type"
"""What the op wants the block for: output, temp, persist/dynamic."""

# Stages of tf.data.
STAGE_NAME = "name"
PARALLELISM = "parallelism"
BUFFER_SIZE = "buffer_size"
"""Elements of a shuffle's buffer."""
STAGE_BOOKKEEPING = ("id", "parent_id", "shapes", "types")
"""Stats of a stage that are none of its settings."""

# Planes.
JAX_VERSION = "jax_version"
GPU_DEVICE_NAME = "gpu_device_name"
DEVICE_TYPE_STRING = "device_type_string"
DEVICE_VENDOR = "device_vendor"
CLOCK_RATE = "clock_rate"
"""kHz."""
CORE_COUNT = "core_count"
"""Multiprocessors of a GPU."""
MEMORY_SIZE = "memory_size"
"""Bytes."""
COMPUTE_CAPABILITY = ("compute_cap_major", "compute_cap_minor")
MEMORY_BANDWIDTH = "memory_bandwidth"
"""Bytes per second."""
PEAK_TERAFLOPS_PER_SECOND = "peak_teraflops_per_second"
PEAK_HBM_GIGABYTES_PER_SECOND = "peak_hbm_bw_gigabytes_per_second"
NVIDIA = "Nvidia"
AMD = "AMD"
