"""The program's own functions that a change would edit."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.gpu_step import gpu_steps
from support.stacks import sampled
from support.trace_builder import TraceBuilder, trace

from tfadvisor.causes import ProgramSource, account_of
from tfadvisor.metrics import own_functions
from tfadvisor.metrics.registry import Metrics, Settings

JAX = "/venv/lib/python3.11/site-packages/jax/_src/numpy/ufuncs.py:multiply:99"
MAIN = "train.py:<module>:20 train.py:main"
PROGRAM = """\
def act(params, seen):
    logits = params * seen
    return logits


def main():
    for step in range(9):
        action = act(params, seen)
        params = update(params, action)


main()
"""


def eager(calls: str, program: str, folder: Path) -> Metrics:
    """Of a program that spends three of four samples in these calls, on line 8 of main,
    and one in `update`, on line 9.
    """
    (folder / "train.py").write_text(program)
    turn = [(f"{MAIN}:8 {calls}".strip(), 3), (f"{MAIN}:9", 1)]
    account = account_of(sampled(60 * turn), 40.0)
    settings = Settings(source=ProgramSource(folder), account=account)
    return trace().step(0, 1000).call("$main.py:5 train", 1, 999).measure(settings)


def test_the_function_below_the_loop_that_runs_all_ops_can_be_compiled(
    tmp_path: Path,
) -> None:
    metrics = eager(f"train.py:act:2 {JAX}", PROGRAM, tmp_path)

    assert metrics.fact("eager_place") == "act (train.py:2)"
    assert metrics.fact("eager_function") == "act"
    assert metrics.fact("eager_head") == "def act(params, seen):"
    assert metrics.fact("one_by_one_place") == "act (train.py:2)"
    assert metrics.fact("one_by_one_calls") == (
        "by samples of the steps they run under train.py:2 75%"
    )


def test_ops_of_the_loop_itself_are_in_no_function_of_their_own(tmp_path: Path) -> None:
    metrics = eager(JAX, PROGRAM, tmp_path)

    assert metrics.fact("eager_place") == "main (train.py:8)"
    assert metrics.fact("eager_function") is None
    assert metrics.fact("eager_head") is None


@pytest.mark.parametrize(
    "head",
    [
        "def act(self, seen):",
        "@partial(vmap)\ndef act(params, seen):",
        "def act(params, seen):\n    yield 0",
    ],
    ids=["a method", "decorated", "a generator"],
)
def test_what_is_no_plain_function_is_not_compiled_as_it_is(
    tmp_path: Path, head: str
) -> None:
    program = PROGRAM.replace("def act(params, seen):", head)
    metrics = eager(f"train.py:act:2 {JAX}", program, tmp_path)

    assert metrics.fact("eager_place") == "act (train.py:2)"
    assert metrics.fact("eager_function") is None
    maker = "act (yield)" if "yield" in head else None
    assert metrics.fact("eager_maker") == maker


# What is compiled again.

MAKES = """\
def trainer(model, x):
    @tf.function
    def step():
        return tf.nn.relu(x)

    return step()


for epoch in range(9):
    trainer(model, x)
import tensorflow as tf
"""
CALLS = """\
from jax import lax
def sample(key, state):
    return lax.scan(body, state, key)


for epoch in range(9):
    state = sample(key, state)
"""
ONCE = """\
def train(model, x):
    @tf.function
    def step(x):
        return model(x)

    for epoch in range(9):
        step(x)


for fold in range(3):
    train(model, x)
"""


LAMBDA = """\
import jax
def evaluate(params, x):
    return float(jax.jit(lambda p: accuracy(p, x))(params))


for epoch in range(9):
    evaluate(params, x)
"""
LAMBDA_ONCE = """\
accuracy_of = jax.jit(lambda p, x: accuracy(p, x))
def evaluate(params, x): return float(accuracy_of(params, x))


for epoch in range(9):
    evaluate(params, x)
"""


def compiled_again(function: str, frame: str = "$train.py:2 called") -> TraceBuilder:
    """Four steps of 1,000 µs, in each of which a function is compiled for 400 µs on
    line 2 of train.py.
    """
    builder = trace()
    for index in range(4):
        at = index * 1000
        builder.step(at, at + 1000).call(frame, at + 1, at + 999)
        builder.call(f"PjitFunction({function})", at + 2, at + 900)
        builder.call("backend_compile", at + 100, at + 500)
        builder.thread("tf_XLATfrtCpuClient/1")
        builder.call("dot.1", at + 600, at + 800, hlo_op="dot.1")
        builder.thread("python")
    return builder


def anew(function: str, program: str, folder: Path) -> Metrics:
    (folder / "train.py").write_text(program)
    settings = Settings(source=ProgramSource(folder))
    return compiled_again(function).measure(settings)


def test_a_function_that_another_one_defines_in_each_call_is_made_anew(
    tmp_path: Path,
) -> None:
    metrics = anew("step", MAKES, tmp_path)

    assert metrics.fact("recompiled_function") == "step"
    assert metrics.fact("recompiled_anew") == (
        "step is made anew in each call of trainer (train.py:1), which a loop calls "
        "(it reads x, which may change)"
    )
    assert metrics.fact("recompiled_anew_before") == (
        "def trainer(model, x):\n    @tf.function\n    def step(): ..."
    )
    assert metrics.fact("recompiled_anew_once") == (
        "# once, outside of trainer; x as arguments\n@tf.function\ndef step(*, x): ..."
    )


def test_a_librarys_function_is_compiled_by_what_calls_it(tmp_path: Path) -> None:
    metrics = anew("scan", CALLS, tmp_path)

    assert metrics.fact("recompiled_anew") == (
        "scan is none of this program's functions: what sample (train.py:2) calls "
        "compiles it"
    )
    assert metrics.fact("recompiled_anew_once") == (
        "# once, before the loop\n@jax.jit\ndef sample(key, state):\n    ..."
    )


SEARCHES = """\
import optax
def main():
    search = optax.scale_by_zoom_linesearch(15)
    for step in range(9):
        x = numpy.asarray(x)
        x, state = search.update(x, state, value_fn=loss)
        print(step)


main()
"""


@pytest.mark.parametrize(("compiling", "is_known"), [(1.0, True), (0.0, False)])
def test_a_call_that_samples_see_compile_is_compiled_alone(
    tmp_path: Path, compiling: float, is_known: bool
) -> None:
    """The trace holds no frames, and its function prints. Where no recorded step
    compiles, what samples see compile came once.
    """
    compiler = "/venv/lib/python3.11/site-packages/jax/_src/compiler.py"
    (tmp_path / "train.py").write_text(SEARCHES)
    turn = (f"train.py:<module>:10 train.py:main:5 {JAX}", 3)
    compiles = f"train.py:<module>:10 train.py:main:6 {compiler}:backend_compile:9"
    account = account_of(
        sampled(40 * [turn, (compiles, 30)]), 10.0, compiling=compiling
    )
    settings = Settings(source=ProgramSource(tmp_path), account=account)
    metrics = compiled_again("while", "not a frame").measure(settings)

    assert (metrics.fact("recompiled_anew") is not None) == is_known
    if is_known:
        assert metrics.fact("recompiled_anew") == (
            "while is none of this program's functions: what main (train.py:6) calls "
            "compiles it"
        )
        assert metrics.fact("recompiled_anew_before") == (
            "x, state = search.update(x, state, value_fn=loss)  # compiled in each call"
        )
        assert metrics.fact("recompiled_anew_once") == (
            "# once, before the loop\n@jax.jit\ndef compiled_update(x, state):\n"
            "    return search.update(x, state, value_fn=loss)\n# in the loop\n"
            "x, state = compiled_update(x, state)"
        )


def test_a_lambda_that_is_compiled_in_each_call_of_a_function_is_made_anew(
    tmp_path: Path,
) -> None:
    """The function reads the result, so it cannot be compiled itself."""
    metrics = anew("<lambda>", LAMBDA, tmp_path)

    assert metrics.fact("recompiled_anew") == (
        "jax.jit of a lambda is made anew in each call of evaluate (train.py:2), which "
        "a loop calls (it reads x, which may change)"
    )
    assert metrics.fact("recompiled_anew_once") == (
        "# once, outside of evaluate; x as arguments\n"
        "compiled = jax.jit(lambda p, *, x: accuracy(p, x))"
    )


def test_what_a_function_makes_and_gives_is_made_anew_by_the_loop_that_calls_it(
    tmp_path: Path,
) -> None:
    metrics = anew("step", MAKES.replace("return step()", "return step"), tmp_path)

    assert (metrics.fact("recompiled_anew") or "").startswith(
        "step is made anew in each call of trainer (train.py:1), which a loop calls"
    )


@pytest.mark.parametrize(
    ("program", "is_known"), [(LAMBDA, True), (LAMBDA_ONCE, False)]
)
def test_several_lambdas_differ_in_their_arguments_and_are_made_anew_all_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, program: str, is_known: bool
) -> None:
    monkeypatch.setattr(own_functions, "recompiled_cause", lambda _: "arguments")
    metrics = anew("<lambda>", program, tmp_path)

    assert (metrics.fact("recompiled_anew") is not None) == is_known


@pytest.mark.parametrize(
    ("function", "program"),
    [
        ("<lambda>", LAMBDA_ONCE),
        ("<lambda>", LAMBDA.partition("for")[0] + "evaluate(params, x)"),
        ("step", ONCE),
        ("train_function", CALLS),
        ("body", "def body(x): ...\nfor i in range(9):\n    body(i)\n"),
    ],
    ids=[
        "a lambda that is compiled once",
        "a lambda of a function that no loop calls",
        "called in a loop of the function that defines it",
        "Keras' own",
        "defined",
    ],
)
def test_what_is_defined_once_is_not_made_anew(
    tmp_path: Path, function: str, program: str
) -> None:
    metrics = anew(function, program, tmp_path)

    assert metrics.fact("recompiled_function") == function
    assert metrics.fact("recompiled_anew") is None
    assert metrics.fact("recompiled_anew_once") is None


@pytest.mark.parametrize(
    ("function", "owner"),
    [
        ("step", "program"),
        ("train_function", "Keras"),
        ("one_step_on_data_distributed", "Keras"),
    ],
)
def test_keras_functions_are_known_by_their_names(function: str, owner: str) -> None:
    assert compiled_again(function).measure().fact("recompiled_owner") == owner


def solving(folder: Path, program: str, called: str = "PjitFunction(step)") -> Metrics:
    """Steps of 100 µs of which the device works for 40, in ops of `step`."""
    (folder / "solve.py").write_text(program)
    steps = gpu_steps(("a", 10, "a.1"), ("b", 10, "b.1"), ("c", 20, "c.1"))
    for at in range(0, 400, 100):
        steps.call(called, at, at + 10)
    return steps.measure(Settings(source=ProgramSource(folder)))


def test_a_loop_that_asks_the_device_loses_all_time_without_its_work(
    tmp_path: Path,
) -> None:
    metrics = solving(tmp_path, "while err > tol:\n    state, err = step(state)\n")

    assert metrics.fact("loop_question") == "err > tol (solve.py:1)"
    assert metrics.value("loop_question_fraction") == pytest.approx(0.6)


@pytest.mark.parametrize(
    ("program", "beside"),
    [
        (
            "while i < 9 and err > tol:\n    state, err = step(state)\n    i += 1\n",
            "no",
        ),
        (
            "for i in range(9):\n    state, err = step(state, tol)\n"
            "    e = float(err)\n    if e < tol:\n        print(i)\n        break\n",
            "no",
        ),
        (
            "for batch in data:\n    state, err = step(state, batch)\n"
            "    if err < tol:\n        break\n",
            "yes",
        ),
        (
            "for i in range(9):\n    x = data[i]\n    state, err = step(state, x)\n"
            "    if err < tol:\n        break\n",
            "yes",
        ),
        (
            "while err > tol:\n    state, err = step(state)\n    errors.append(err)\n",
            "yes",
        ),
        (
            "while err > tol:\n    state, err = step(state)\n    errors[i] = err\n",
            "yes",
        ),
        (
            "while err > tol:\n    state, err = step(state)\n"
            "    if i % 10 == 0:\n        save(state)\n",
            "yes",
        ),
    ],
    ids=[
        "rounds alone",
        "which says something at its end",
        "batches",
        "slices of data",
        "a list",
        "an array",
        "a file",
    ],
)
def test_a_loop_that_does_more_than_its_rounds(
    tmp_path: Path, program: str, beside: str
) -> None:
    assert solving(tmp_path, program).fact("loop_beside_rounds") == beside


def test_the_rules_about_each_wait_speak_of_a_loop_of_tensorflow(
    tmp_path: Path,
) -> None:
    """They are silent where a question is known, and its rule is about JAX."""
    program = "while err > tol:\n    state, err = step(state)\n"

    metrics = solving(tmp_path, program, "EagerLocalExecute: __inference_step_310")

    assert metrics.fact("framework") == "tensorflow"
    assert metrics.fact("loop_question") is None


def test_a_loop_that_asks_for_nothing_has_no_question(tmp_path: Path) -> None:
    metrics = solving(tmp_path, "for i in range(9):\n    s = step(s)\n")

    assert metrics["loop_question_fraction"].reason == (
        "no loop around step asks for its results"
    )


INNER = """\
import jax
def generate(params, x):
    @jax.jit
    def sample(x):
        return model(params, x)
    for t in range(9):
        x = sample(x)


for epoch in range(9):
    generate(params, x)
"""


@pytest.mark.parametrize(
    ("by", "is_known"),
    [("@jax.jit", True), ("@jax.jit(static_argnums=0)", False)],
    ids=["made anew", "a value is static, too"],
)
def test_a_function_that_is_made_anew_holds_other_values(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, by: str, is_known: bool
) -> None:
    """Its programs differ in the parameters that it reads around it."""
    monkeypatch.setattr(own_functions, "recompiled_cause", lambda _: "value")
    metrics = anew("sample", INNER.replace("@jax.jit", by), tmp_path)

    assert (metrics.fact("recompiled_anew") is not None) == is_known


def test_a_body_that_is_made_anew_is_no_puzzle_for_the_log(tmp_path: Path) -> None:
    """What calls it prints, so that it is not compiled as a whole."""
    program = "from jax import lax\ndef sample(key, state):\n    return float(" + (
        "lax.scan(lambda s, k: (s, k), state, key))\n\n\nfor epoch in range(9):\n"
        "    state = sample(key, state)\n"
    )
    (tmp_path / "train.py").write_text(program)
    settings = Settings(source=ProgramSource(tmp_path))
    metrics = compiled_again("scan", "$train.py:3 called").measure(settings)

    assert metrics.fact("recompiled_anew") == (
        "the body of jax.lax.scan, a lambda, is made anew in each call of sample "
        "(train.py:2), which a loop calls"
    )


def test_a_number_of_python_that_a_loop_gives_is_given_as_a_tensor(
    tmp_path: Path,
) -> None:
    program = (
        "import tensorflow as tf\n@tf.function\ndef update(x, rate): return x * rate\n"
        "def main(x):\n    for step in range(9):\n        x = update(x, 0.1 / step)\n"
    )
    found = anew("update", program, tmp_path)

    assert found.fact("one_signature") == (
        "update is traced again for each number of Python that it is given: `0.1 / "
        "step`, which `for step in range(9)` changes (main (train.py:6)). Give it as a "
        "tensor."
    )
    assert found.fact("one_signature_after") == "update(x, tf.constant(0.1 / step))"


def test_without_such_a_number_all_that_may_change_is_named(tmp_path: Path) -> None:
    found = anew("update", "def update(x): return x\n", tmp_path)

    assert "tensors instead of Python numbers" in (found.fact("one_signature") or "")
    assert "input_signature" in (found.fact("one_signature_after") or "")
