"""Whose file a Python frame is of: the user's program, or Python and the libraries that it calls.

The profilers write a file's name without its folder, so installed packages are known by the names of their files. Names
that programs use as well (`train.py`, `data.py`, `utils.py`, `model.py`, `trainer.py`) count as the user's. Beside the names
here `installed_files.txt` lists those of some eighty packages, written by `fixtures/record_package_files.py`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tfadvisor.timeline.names.frames import frame_place

_INSTALLED = ("site-packages/", "dist-packages/", "lib/python3.")
_PYTHON = """
    __init__.py _base.py _bootlocale.py _weakrefset.py abc.py argparse.py ast.py base64.py codecs.py collections.py
    contextlib.py copy.py copyreg.py dataclasses.py decoder.py encoder.py enum.py functools.py genericpath.py glob.py gzip.py
    heapq.py inspect.py ipkernel.py kernelapp.py kernelbase.py interactiveshell.py json.py linecache.py locale.py os.py
    pathlib.py pickle.py pool.py popen_fork.py popen_spawn_posix.py posixpath.py process.py queue.py queues.py random.py re.py
    reduction.py resource_sharer.py runpy.py selectors.py shutil.py socket.py ssl.py stat.py string.py subprocess.py
    synchronize.py tempfile.py textwrap.py thread.py threading.py tokenize.py traceback.py typing.py uuid.py warnings.py
    weakref.py zipfile.py connection.py context.py popen_forkserver.py spawn.py asyncio.py base_events.py events.py
    selector_events.py tasks.py _methods.py fromnumeric.py numeric.py function_base.py shape_base.py npyio.py format.py
    arrayprint.py _npyio_impl.py _function_base_impl.py _shape_base_impl.py std.py
"""
_JAX = """
    _api_boundary.py ad.py ad_util.py api.py api_util.py array.py array_constructors.py array_creation.py array_methods.py
    basearray.py batching.py cache_key.py callback.py compilation_cache.py compiler.py config.py control_flow.py core.py
    custom_derivatives.py custom_transpose.py debugging.py dispatch.py dtypes.py einsum.py indexing.py jaxpr_util.py
    lax.py lax_numpy.py linear_util.py lowering.py lru_cache.py mesh.py mlir.py named_sharding.py partial_eval.py
    pjit.py pmap.py prng.py profiler.py pxla.py reductions.py sharding.py sharding_impls.py slicing.py
    source_info_util.py special.py stages.py traceback_util.py tree_util.py ufunc_api.py ufuncs.py util.py weakref_lru_cache.py
    xla.py xla_bridge.py xla_client.py conditionals.py loops.py convolution.py linear.py scope.py
    lift.py module_lifting.py frozen_dict.py nnx.py _module.py _jit.py _ad.py functions.py train_state.py
"""
_CHECKPOINTS = """
    abstract_checkpoint_manager.py async_checkpointer.py async_manager.py asyncio_utils.py atomicity.py
    array_metadata_store.py base_pytree_checkpoint_handler.py checkpoint_manager.py checkpointer.py checkpointers.py
    composite_checkpoint_handler.py future.py json_checkpoint_handler.py jax_array_handlers.py multihost.py
    ocdbt_utils.py proto_checkpoint_handler.py pytree_checkpoint_handler.py serialization.py standard_checkpoint_handler.py
    standard_checkpointer.py step_lib.py tensorstore_utils.py type_handlers.py
"""
_TENSORFLOW = """
    array_ops.py atomic_function.py autograph.py autograph_util.py backprop.py base_layer.py
    callback_list.py compat.py concrete_function.py constant_op.py data_adapter.py data_adapter_utils.py
    dataset_ops.py def_function.py device.py distribute_lib.py dispatch.py error_utils.py errors_impl.py execute.py
    func_graph.py function.py function_type_utils.py gen_array_ops.py gen_dataset_ops.py gen_math_ops.py
    gen_nn_ops.py gen_resource_variable_ops.py gen_training_ops.py indexed_slices.py iterator_ops.py mirrored_run.py
    mirrored_strategy.py math_ops.py nn_ops.py numpy_backend.py ops.py owned_iterator.py polymorphic_function.py
    profiler_v2.py progbar.py resource_variable_ops.py saver.py summary_ops_v2.py tensor.py tensor_conversion.py
    tensor_conversion_registry.py tensor_util.py tf_decorator.py tf_dataset_adapter.py tf_logging.py trace.py
    trace_type_builder.py traceback_utils.py tracing_compilation.py training_utils.py values.py variable_utils.py
    epoch_iterator.py py_dataset_adapter.py array_data_adapter.py jax_trainer.py backend_utils.py
"""
_TORCH = """
    _tensor.py _utils.py collate.py dataloader.py fetch.py pin_memory.py sampler.py signal_handling.py worker.py
"""
_NNX_WALKS = {
    "extract.py": frozenset("to_tree to_tree2 from_tree from_tree2 broadcast_prefix check_consistent_aliasing".split()),
    "compilation.py": frozenset(("__call__", "jit_wrapper")),
    **dict.fromkeys(
        ("graph.py", "graphlib.py"),
        frozenset(
            "flatten unflatten split merge update_context split_context merge_context _graph_flatten _graph_unflatten".split()
        ),
    ),
}
"""Functions of Flax NNX, in files whose names programs have too."""
_CHECKPOINT_FILES = frozenset(one for one in _CHECKPOINTS.split() if "checkpoint" in one or one == "serialization.py")
_LIBRARY_FILES = frozenset(" ".join((_PYTHON, _JAX, _CHECKPOINTS, _TENSORFLOW, _TORCH)).split())


def is_users_frame(name: str) -> bool:
    """Whether an event is a named function of the user's own program: Python with a file that no known library has.

    A comprehension or a lambda is part of the function around it.
    """
    place = frame_place(name)
    if place is None or is_package_file(place[0]) or walks_modules(place[0], place[2]):
        return False
    return not place[2].startswith("<") or place[2] == "<module>"


def walks_modules(file: str, function: str) -> bool:
    """Whether a function of Flax NNX takes modules and optimizers apart into arrays, or puts them together again, in Python."""
    return function in _NNX_WALKS.get(file.rpartition("/")[2], ())


def is_package_file(file: str) -> bool:
    """Whether a file of Python is Python's own or an installed package's."""
    if any(folder in file for folder in _INSTALLED):
        return True
    name = file.rpartition("/")[2]
    return name in _LIBRARY_FILES or name in _installed()


@cache
def _installed() -> frozenset[str]:
    """Names that installed packages give their files, and programs hardly do."""
    return frozenset(Path(__file__).with_name("installed_files.txt").read_text(encoding="utf-8").split())
