"""What is done while an event lasts: by the runtime's or the library's own names."""

from __future__ import annotations

import pytest

from tfadvisor.timeline.names.doings import Doing, doing_of


@pytest.mark.parametrize(
    ("name", "doing"),
    [
        ("$dtypes.py:691 _dtype_and_weaktype", Doing.CONVERTING),
        ("$variablelib.py:2012 _variable_flatten", Doing.FLATTENING),
        ("$tree_util.py:85 tree_flatten", Doing.FLATTENING),
        ("ParseArguments", Doing.FLATTENING),
        ("$named_sharding.py:176 is_fully_replicated", Doing.SHARDING),
        ("$pjit.py:263 cache_miss", Doing.LOOKING_UP),
        ("JitCompiler::Compile", Doing.COMPILING),
        ("$mlir.py:2457 _emit_lowering_rule_as_fun", Doing.LOWERING),
        ("$partial_eval.py:2129 trace_to_jaxpr_nocache", Doing.TRACING),
        ("cuMemAlloc_v2", Doing.ALLOCATING),
        ("hipFree", Doing.ALLOCATING),
        ("PjRtCApiCompiler::BufferFromHostBuffer(f32[])", Doing.HOST_TO_DEVICE),
        ("D2H Dispatch", Doing.DEVICE_TO_HOST),
        ("cuMemcpyDtoDAsync_v2", Doing.DEVICE_TO_DEVICE),
        ("$array.py:629 _value", Doing.READING_BACK),
        ("$time sleep", Doing.SLEEPING),
        ("$gc collect", Doing.COLLECTING),
        ("$_format_impl.py:702 write_array", Doing.SAVING),
        ("$builtins print", Doing.LOGGING),
        ("$ImageFile.py:672 _encode_tile", Doing.PICTURING),
        ("$PngImagePlugin.py:1344 _save", Doing.PICTURING),
        ("$backend_agg.py:490 print_png", Doing.PICTURING),
        ("$cv2 imwrite", Doing.PICTURING),
        ("$cv2 imread", Doing.DECODING),
        ("$ImageFile.py:250 load", Doing.DECODING),
        ("$_npyio_impl.py:239 __getitem__", Doing.LOADING),
        ("$_npyio_impl.py:570 save", Doing.SAVING),
        ("$_format_impl.py:795 read_array", Doing.LOADING),
        ("$_io open", Doing.FILES),
        ("EagerLocalExecute: MatMul", Doing.OPS),
        ("EagerLocalExecute: IteratorGetNext", Doing.GETTING),
        ("EagerCopyToDevice", Doing.PUTTING),
        ("$builtins isinstance", Doing.UNKNOWN),
        ("$tree_util.py:387 tree_map", Doing.UNKNOWN),
        ("$nest.py:51 map_structure", Doing.UNKNOWN),
    ],
)
def test_a_runtime_or_a_library_says_what_is_done(name: str, doing: Doing) -> None:
    assert doing_of(name) is doing


@pytest.mark.parametrize(
    "name",
    ["$train.py:3 save_checkpoint", "$loop.py:9 flatten", "$data.py:1 load_batch"],
)
def test_a_name_that_a_user_chose_is_no_evidence(name: str) -> None:
    assert doing_of(name) is Doing.UNKNOWN


def test_each_thing_that_may_be_done_has_words_of_its_own() -> None:
    words = [doing.words for doing in Doing if doing is not Doing.UNKNOWN]

    assert len(set(words)) == len(words)
    assert "" not in words
