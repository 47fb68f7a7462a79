"""What a place is spent on is no cost of something else."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stacks import sampled
from support.trace_builder import TraceBuilder, trace

from tfadvisor.causes import ProgramSource, account_of
from tfadvisor.metrics import Metrics, Settings


def calls_of_one_program(nodes: int) -> TraceBuilder:
    """Four steps of 1,000 µs on a GPU: the call of a compiled program lasts 600 µs, in
    which Python flattens so many nodes of 5 µs each; its kernel then runs for 300 µs.
    """
    builder = trace()
    for index in range(4):
        at = index * 1000
        builder.step(at, at + 1000).call("$main.py:5 train", at + 1, at + 999)
        builder.call("PjitFunction(predict)", at + 2, at + 602)
        for node in range(nodes):
            start = at + 10 + node * 6
            builder.call("$variablelib.py:2012 _variable_flatten", start, start + 5)
        of_step = {"hlo_op": "dot", "hlo_module": "jit_predict", "program_id": 7}
        builder.kernel(
            "GPU:0",
            "dot",
            at + 602,
            at + 902,
            launched=(at + 600, at + 601),
            **of_step,
        )
    return builder


@pytest.mark.parametrize(
    ("nodes", "by_number"),
    [(0, 0.6), (90, 0.0)],
    ids=["a call of which nothing more is known", "a call that flattens for 75%"],
)
def test_launches_that_flatten_arguments_are_no_cost_of_many_ops(
    nodes: int, by_number: float
) -> None:
    metrics = calls_of_one_program(nodes).measure()

    assert metrics.value("kernel_launch_gap_fraction") == pytest.approx(0.6, abs=0.01)
    assert metrics.value("tiny_op_fraction") == pytest.approx(by_number, abs=0.01)


def test_samples_tell_what_a_trace_without_python_does_not_know() -> None:
    """A JAX step whose call flattens a module for two of four samples."""
    graph = "/venv/lib/python3.11/site-packages/flax/nnx/graph.py:_graph_flatten:900"
    turn = [(f"train.py:main:53 {graph}", 2), ("train.py:main:53", 1)]
    turn.append(("train.py:main:50", 1))
    account = account_of(sampled(60 * turn), 40.0)
    known = Settings(account=account)

    jax = calls_of_one_program(0).measure(known)

    assert jax.value("flattening_fraction") == pytest.approx(0.5, abs=0.01)
    assert jax.fact("flattening_place") == "main (train.py:53)"
    assert jax.fact("flattening_event") == "_graph_flatten"
    assert jax.value("flattening_count") is None
    assert jax.value("tensor_making_fraction") is None


def made_of_lists(folder: Path, line: str) -> Metrics:
    """Two of four samples look at types under a line, one flattens, one waits."""
    head = "import jax.numpy as jnp\nimport numpy as np\n"
    (folder / "train.py").write_text(f"{head}def main(rows):\n    {line}\n")
    jax = "/venv/lib/python3.11/site-packages/jax/_src"
    array = f"{jax}/numpy/array_constructors.py:array:265"
    turn = [
        (f"train.py:main:4 {array} {jax}/dtypes.py:_dtype_and_weaktype:691", 2),
        (f"train.py:main:4 {array} {jax}/tree_util.py:tree_flatten:88", 1),
        (f"train.py:main:4 {jax}/array.py:_value:637", 1),
    ]
    account = account_of(sampled(60 * turn), 40.0)
    known = Settings(source=ProgramSource(folder), account=account)
    return calls_of_one_program(0).measure(known)


def test_samples_tell_which_arrays_are_made_of_lists(tmp_path: Path) -> None:
    """What is flattened there is no argument of a compiled function."""
    found = made_of_lists(tmp_path, "x = jnp.array(rows['ids'])")

    assert found.value("converting_fraction") == pytest.approx(0.5, abs=0.01)
    assert found.fact("converting_place") == "main (train.py:4)"
    assert found.fact("converting_times") == ", by samples of the whole run"
    assert found.value("flattening_fraction") is None


@pytest.mark.parametrize(
    "line", ["x = jnp.array(np.asarray(rows))", "x = jnp.sum(rows)", "x = step(rows)"]
)
def test_what_makes_no_array_of_lists(line: str, tmp_path: Path) -> None:
    found = made_of_lists(tmp_path, line)

    assert found.value("converting_fraction") is None
    assert found.value("flattening_fraction") == pytest.approx(0.25, abs=0.01)


def test_samples_tell_how_long_results_are_looked_through() -> None:
    """One of four samples is in JAX's check for NaN."""
    api = "/venv/lib/python3.11/site-packages/jax/_src/api.py:_nan_check_posthook:90"
    turn = [(f"train.py:main:58 {api}", 1), ("train.py:main:58", 2)]
    turn.append(("train.py:main:50", 1))
    known = Settings(account=account_of(sampled(60 * turn), 40.0))

    found = calls_of_one_program(0).measure(known)

    assert found.value("nan_check_fraction") == pytest.approx(0.25, abs=0.01)
    assert found.fact("nan_check_place") == "main (train.py:58)"
    assert found.fact("host_cause") is None


def test_samples_tell_how_long_a_graph_is_extended() -> None:
    """Two of four samples are in a session's _extend_graph. A JAX program that calls a
    function of that name has none.
    """
    session = "tensorflow/client/session.py:_extend_graph:1400"
    turn = [(f"train.py:main:64 {session}", 2), ("train.py:main:62", 1)]
    turn.append(("train.py:main:50", 1))
    known = Settings(account=account_of(sampled(60 * turn), 40.0))
    builder = trace().step(0, 100).call("SessionRun", 0, 90)
    builder.thread("tf_Compute/1").call("a:MatMul", 10, 30)

    found = builder.measure(known)

    assert found.value("graph_extension_fraction") == pytest.approx(0.5, abs=0.01)
    assert found.fact("graph_extension_place") == "main (train.py:64)"
    jax = calls_of_one_program(0).measure(known)
    assert jax.value("graph_extension_fraction") is None


def with_python(call: str, inside: str) -> TraceBuilder:
    """Four steps of 1,000 µs on a GPU, in each of which a function of the program works
    for 500 µs, 400 of them in a library's, and then a kernel runs for 400 µs.
    """
    builder = trace()
    for index in range(4):
        at = index * 1000
        builder.step(at, at + 1000).call("$main.py:5 train", at + 1, at + 999)
        builder.call("PjitFunction(step)", at + 2, at + 12)
        builder.kernel("GPU:0", "dot", at + 12, at + 412, launched=(at + 9, at + 10))
        builder.call(call, at + 450, at + 950)
        builder.call(inside, at + 500, at + 900)
    return builder


def test_a_library_below_the_programs_function_tells_that_it_encodes_pictures() -> None:
    """What Pillow's file is called is no name of a program's file."""
    metrics = with_python("$draw.py:9 grid", "$ImageFile.py:672 _encode_tile").measure()

    host = metrics.value("host_fraction")
    assert metrics.value("known_python_share") == pytest.approx(0.5 / host, abs=0.01)
    assert metrics.fact("picturing_place") == "grid (draw.py:9)"
    assert metrics.value("picturing_fraction") == pytest.approx(0.5, abs=0.01)
    assert metrics.value("file_reading_fraction") is None


def test_a_library_below_the_programs_function_tells_that_it_reads_files() -> None:
    inside = "$_npyio_impl.py:239 __getitem__"
    metrics = with_python("$data.py:9 piece", inside).measure()

    assert metrics.fact("file_reading_place") == "piece (data.py:9)"
    assert metrics.value("file_reading_fraction") == pytest.approx(0.5, abs=0.01)
    assert metrics.fact("picturing_place") is None


def test_where_one_function_launches_most_its_share_says_so() -> None:
    """30 and 10 µs of dispatching before the GPU works."""
    builder = trace().steps(4, 100)
    for at in range(0, 400, 100):
        builder.call("PjitFunction(train_step)", at, at + 30)
        builder.call("PjitFunction(log)", at + 30, at + 40)
        builder.busy("GPU:0", (at + 40, at + 100))

    assert builder.measure().value("one_dispatch_share") == pytest.approx(0.75)


def test_ops_one_by_one_are_no_function_that_launches_most() -> None:
    """Of 40 µs of launching each step, 30 are no call of a compiled function."""
    builder = trace().steps(4, 100)
    for at in range(0, 400, 100):
        builder.call("EagerLocalExecute: MatMul", at, at + 30)
        builder.call("PjitFunction(log)", at + 30, at + 40)
        builder.busy("GPU:0", (at + 40, at + 100))

    assert builder.measure().value("one_dispatch_share") == pytest.approx(0.25)
