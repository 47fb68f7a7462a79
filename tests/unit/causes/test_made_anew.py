"""Compiled functions that a program makes anew in each call of another one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import MadeAnew, ProgramSource

PROGRAM = """\
import functools
import jax
import tensorflow as tf


class Trainer:
    def __init__(self):
        self.loss = loss

    def net(self, params, x):
        return x

    def score(self, params, x, scale=1):
{body}


def one_step(params, x):
    return Trainer().score(params, x)


def main(params, x):
    for step in range(9):
        params = one_step(params, x)
"""


def made(
    folder: Path,
    body: str,
    compiled: str = "",
    program: str = PROGRAM,
    *,
    is_step: bool = False,
) -> MadeAnew | None:
    """By a line of a method with this body; a loop calls what calls the method."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    (folder / "train.py").write_text(program.replace("{body}", lines))
    return ProgramSource(folder).made_anew("train.py", 14, compiled, is_step=is_step)


@pytest.mark.parametrize(
    ("body", "compiled", "once"),
    [
        (
            "f = jax.jit(lambda p, x: self.net(p, x))\nreturn f(params, x)",
            "<lambda>",
            "# once, in __init__\nself.f = jax.jit(lambda p, x: self.net(p, x))",
        ),
        (
            "return jax.jit(functools.partial(loss, scale))(params, x)",
            "",
            "# once, outside of score; scale as arguments\ncompiled = jax.jit(loss)",
        ),
        (
            "f = jax.jit(self.net, static_argnums=1)\nreturn [f(y) for y in x]",
            "net",
            "# once, in __init__\nself.f = jax.jit(self.net, static_argnums=1)",
        ),
        (
            "@functools.partial(jax.jit, donate_argnums=0)\n"
            "def f(p):\n    y = p * scale\n    return y\nreturn f(params)",
            "f",
            "# once, outside of score; scale as arguments\n"
            "@functools.partial(jax.jit, donate_argnums=0)\ndef f(p, *, scale): ...",
        ),
        (
            "return jax.jit(jax.grad(loss))(params)",
            "",
            "# once, outside of score\ncompiled = jax.jit(jax.grad(loss))",
        ),
        (
            "f = tf.function(loss)\nreturn f(params)",
            "loss",
            "# once, outside of score\nf = tf.function(loss)",
        ),
    ],
    ids=["lambda", "partial", "bound method", "inner function", "gradient", "TF"],
)
def test_what_is_another_object_in_each_call_compiles_anew(
    tmp_path: Path, body: str, compiled: str, once: str
) -> None:
    found = made(tmp_path, body, compiled)

    assert found is not None
    assert (found.around.name, found.compiled, found.once) == ("score", compiled, once)


@pytest.mark.parametrize(
    "body",
    [
        "f = jax.jit(loss)\nreturn f(params)",
        "self.f = jax.jit(lambda p: p * scale)\nreturn self.f(params)",
        "f = jax.jit(lambda p: p * scale)\nreturn f",
        "f = jax.jit(lambda p: p * scale)\ncache[scale] = f\nreturn f(params)",
        "global f\nf = jax.jit(lambda p: p * scale)\nreturn f(params)",
        "f = g = jax.vmap(lambda p: p * scale)\nreturn f(params)",
        "return jax.jit(self.loss)(params)",
        "return jax.jit(loss_of(scale))(params)",
        "f = loss_of(scale)\nreturn jax.jit(f)(params)",
    ],
    ids=[
        "of the module",
        "attribute",
        "given",
        "cached",
        "global",
        "not compiled",
        "a function as attribute",
        "of a function that may keep it",
        "the same by name",
    ],
)
def test_what_is_kept_or_known_again_is_not_made_anew(
    tmp_path: Path, body: str
) -> None:
    assert made(tmp_path, body) is None


LAMBDA = "f = jax.jit(lambda p: p * scale)\nfor y in x:\n    f(y)"


def test_two_of_them_are_both_made_anew(tmp_path: Path) -> None:
    two = f"{LAMBDA}\ng = jax.jit(lambda p: -p)\nreturn g(x)"

    found = made(tmp_path, two, "<lambda>")

    assert found is not None
    assert found.words == (
        "jax.jit of a lambda and g are made anew in each call of score (train.py:13), "
        "which a loop calls (they read scale, which may change)"
    )
    assert found.once == (
        "# once, outside of score; scale as arguments\n"
        "f = jax.jit(lambda p, *, scale: p * scale)\n"
        "# once, outside of score\ng = jax.jit(lambda p: -p)"
    )


def test_what_has_no_name_is_named_by_what_makes_it(tmp_path: Path) -> None:
    calls = "jax.jit(lambda p: -p)(x), jax.jit(functools.partial(loss, 3))(x)"

    found = made(tmp_path, f"f = jax.jit(self.net)\nreturn f(x), {calls}")

    assert found is not None
    assert found.others == ("jax.jit of a lambda", "what jax.jit gives")


EVALUATED = """\
from functools import partial

import jax


class Room:
    def __init__(self, size=3):
        self.size = size

    def enter(self, key):
        return key

    def go(self, state, move):
        return state


def evaluate(params, key{more}):
    {room}
    enter = jax.jit(room.enter)
    go = jax.jit(room.go)
    act = jax.jit(partial(policy, params))
    state = enter(key)
    for _ in range(9):
        state = go(state, act(state))


for step in range(9):
    params = update(params)
    evaluate(params, key)
"""


@pytest.mark.parametrize("compiled", ["enter", "go", "policy"])
@pytest.mark.parametrize("line", [22, 24])
def test_a_line_may_compile_another_one_of_those_that_its_function_makes(
    tmp_path: Path, compiled: str, line: int
) -> None:
    """What compiles most often, and the line that compiles longest, may be of two."""
    program = EVALUATED.format(more="", room="room = Room(size=4)")
    (tmp_path / "train.py").write_text(program)

    found = ProgramSource(tmp_path).made_anew("train.py", line, compiled)

    assert found is not None
    assert found.words.startswith("enter, go and act are made anew in each call of")
    assert found.reads == ("params",)
    assert found.once == (
        "# once, outside of evaluate\nroom = Room(size=4)\n"
        "enter = jax.jit(room.enter)\ngo = jax.jit(room.go)\n"
        "# once, outside of evaluate; params as arguments\nact = jax.jit(policy)"
    )


@pytest.mark.parametrize(
    ("more", "room"),
    [
        (", room", ""),
        (", seed", "room = Room(seed)"),
        ("", "room = Room(draw())"),
        ("", "room = Room(1) if key else Room(2)"),
    ],
    ids=["argument", "of an argument", "of a call", "one of two"],
)
def test_a_method_is_compiled_once_for_each_object(
    tmp_path: Path, more: str, room: str
) -> None:
    """An object is no argument of what is compiled, and no other than it was."""
    program = EVALUATED.format(more=more, room=room or "...")
    (tmp_path / "train.py").write_text(program)

    found = ProgramSource(tmp_path).made_anew("train.py", 24, "go")

    assert found is not None
    assert found.once.startswith(
        "# once, for each room, outside of evaluate\nenter = jax.jit(room.enter)\n"
    )


def test_a_line_that_calls_none_of_them_compiles_something_else(
    tmp_path: Path,
) -> None:
    program = EVALUATED.format(more="", room="room = Room(4)").replace(
        "    state = enter(key)", "    state = enter(key)\n    other(state)"
    )
    (tmp_path / "train.py").write_text(program)

    assert ProgramSource(tmp_path).made_anew("train.py", 23, "enter") is None


def test_a_loop_of_the_function_may_run_the_steps_of_what_it_makes(
    tmp_path: Path,
) -> None:
    assert made(tmp_path, LAMBDA) is not None
    assert made(tmp_path, LAMBDA, is_step=True) is None


@pytest.mark.parametrize(
    "program",
    [
        PROGRAM.replace("for step in range(9):", "if x:"),
        PROGRAM.replace("    def score", "    @functools.cache\n    def score"),
        PROGRAM.replace("    def score", "    @jax.jit\n    def score"),
    ],
    ids=["no loop", "kept by a decorator", "traced"],
)
def test_a_function_that_does_not_run_again_makes_it_once(
    tmp_path: Path, program: str
) -> None:
    assert made(tmp_path, LAMBDA, program=program) is None


@pytest.mark.parametrize(
    "other_name",
    [
        "go = one_step",
        "go = functools.partial(one_step, x=1)",
        "trainer.go = one_step",
    ],
)
def test_a_loop_may_call_it_by_another_name(tmp_path: Path, other_name: str) -> None:
    calls = "trainer.go" if "." in other_name else "go"
    program = PROGRAM.replace("params = one_step", f"params = {calls}")
    assert made(tmp_path, LAMBDA, program=program) is None

    program = program.replace("    for step", f"    {other_name}\n    for step")
    assert made(tmp_path, LAMBDA, program=program) is not None


def test_a_compiled_function_runs_what_it_is_made_of_once(tmp_path: Path) -> None:
    program = PROGRAM.replace("params = one_step", "params = go").replace(
        "    for step", "    go = jax.jit(one_step)\n    for step"
    )
    assert made(tmp_path, LAMBDA, program=program) is None


@pytest.mark.parametrize(
    ("body", "once"),
    [
        (
            "return jax.jit(lambda x: loss(self.params, x))(x)",
            "# once, in __init__; self.params as arguments\n"
            "self.compiled = jax.jit(lambda x, *, params: loss(params, x))",
        ),
        (
            "f = jax.jit(self.net)\nreturn f(x)",
            "# once, in __init__; self.params as arguments\nself.f = jax.jit(self.net)",
        ),
    ],
    ids=["read", "read by a method"],
)
def test_an_attribute_that_changes_must_be_an_argument(
    tmp_path: Path, body: str, once: str
) -> None:
    """Made once, it would keep the first parameters for ever."""
    program = PROGRAM.replace("return x", "return self.params, x").replace(
        "    def score",
        "    def update(self, params):\n        self.params = params\n\n    def score",
    )
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    (tmp_path / "train.py").write_text(program.replace("{body}", lines))

    found = ProgramSource(tmp_path).made_anew("train.py", 17)

    assert found is not None
    assert (found.reads, found.once) == (("self.params",), once)


AROUND = """\
import jax


def main(params, x):
    def score(x):
        def loss(x):
            return params * x

        return jax.jit(lambda x: loss(x))(x)

    for step in range(9):
        params = train(params)
        score(x)
"""
IN_SCRIPT = """\
import jax


def score(x):
    return jax.jit(lambda x: params * x)(x)


for step in range(9):
    params = train(params)
    score(x)
"""


@pytest.mark.parametrize(
    ("program", "line"), [(AROUND, 9), (IN_SCRIPT, 5)], ids=["around it", "script"]
)
def test_what_a_loop_around_writes_must_be_an_argument(
    tmp_path: Path, program: str, line: int
) -> None:
    (tmp_path / "train.py").write_text(program)

    found = ProgramSource(tmp_path).made_anew("train.py", line)

    assert found is not None
    assert found.reads == ("params",)
    assert "params as arguments" in found.once
    assert "(it reads params, which may change)" in found.words


def test_arguments_keep_the_places_that_options_name(tmp_path: Path) -> None:
    """`static_argnums` would name another one behind an argument at the front."""
    body = "f = jax.jit(lambda p, n: p * scale, static_argnums=1)\nreturn f(params, 3)"

    found = made(tmp_path, body)

    assert found is not None
    assert found.once == (
        "# once, outside of score; scale as arguments\n"
        "f = jax.jit(lambda p, n, *, scale: p * scale, static_argnums=1)"
    )


def test_a_partial_keeps_its_options(tmp_path: Path) -> None:
    body = "return jax.jit(functools.partial(loss, scale, train=True))(params)"

    found = made(tmp_path, body)

    assert found is not None
    assert found.once == (
        "# once, outside of score; scale as arguments\n"
        "compiled = jax.jit(functools.partial(loss, train=True))"
    )


@pytest.mark.parametrize(
    ("by", "given", "head"),
    [
        ("", "functools.partial(loss, scale, 3)", "@jax.jit\ndef compiled(params, *, "),
        (
            ", donate_argnums=0",
            "functools.partial(loss, scale)",
            "@functools.partial(jax.jit, donate_argnums=0)\ndef compiled(params, *, ",
        ),
        (
            "",
            "jax.vmap(lambda p: p * scale)",
            "@jax.jit\ndef compiled(params, *, ",
        ),
    ],
    ids=["3 moves", "places move", "not its own"],
)
def test_what_has_no_other_text_moves_into_a_function(
    tmp_path: Path, by: str, given: str, head: str
) -> None:
    """Its arguments keep their places, and what it reads is given by name."""
    found = made(tmp_path, f"return jax.jit({given}{by})(params)")

    assert found is not None
    assert found.once == (
        "# once, outside of score; what changes as arguments\n"
        f"{head}scale):\n    return {given}(params)"
    )


def test_what_is_given_no_names_takes_any_arguments(tmp_path: Path) -> None:
    body = "f = jax.jit(jax.vmap(lambda p: p * scale))\nreturn f(params[0])"

    found = made(tmp_path, body)

    assert found is not None
    assert "def f(*arguments, scale):" in found.once
    assert "return jax.vmap(lambda p: p * scale)(*arguments)" in found.once


def test_a_compiler_that_counts_its_arguments_is_shown_in_words(
    tmp_path: Path,
) -> None:
    found = made(
        tmp_path, "return jax.pmap(functools.partial(loss, scale), in_axes=0)(params)"
    )

    assert found is not None
    assert found.once == (
        "# once, outside of score; scale as arguments, each with its place in in_axes:"
        "\n# jax.pmap(functools.partial(loss, scale), in_axes=0)(...)"
    )


SWEEP = """\
import jax


def controller(gain):
    return lambda x: gain * x


def setup_of(alpha, limit):
    return {"controller": controller(alpha), "noise": limit}


def simulate(setup, keys, starts):
    def path(key, x):
        return setup["controller"](x)

    return jax.jit(jax.vmap(path))(keys, starts)


for alpha in range(9):
    simulate(GIVEN, keys, starts)
"""


@pytest.mark.parametrize(
    ("given", "code"),
    [
        (
            "setup_of(float(alpha), 2.0)",
            "def compiled(keys, starts, *, alpha, limit):\n"
            "    setup = setup_of(alpha, limit)\n"
            "    def path(key, x): ...\n"
            "    return jax.vmap(path)(keys, starts)",
        ),
        (
            "settings[alpha]",
            "def compiled(keys, starts):\n"
            "    # make here what setup holds, of arrays as arguments\n"
            "    def path(key, x): ...\n"
            "    return jax.vmap(path)(keys, starts)",
        ),
    ],
    ids=["of numbers", "of nobody knows what"],
)
def test_functions_that_it_reads_are_made_inside(
    tmp_path: Path, given: str, code: str
) -> None:
    """As arguments they would compile anew, each being another object."""
    (tmp_path / "train.py").write_text(SWEEP.replace("GIVEN", given))

    found = ProgramSource(tmp_path).made_anew("train.py", 16)

    assert found is not None
    assert found.once == (
        "# once, outside of simulate; what changes as arguments\n@jax.jit\n" + code
    )


def test_what_another_line_compiles_is_not_what_is_made_anew(tmp_path: Path) -> None:
    body = "x = predict(x)\nf = jax.jit(lambda p: p * scale)\nreturn f(params)"

    assert made(tmp_path, body) is None


def test_functions_that_it_calls_are_no_arguments(tmp_path: Path) -> None:
    """Each call builds `update` anew: as a static argument it would be compiled for
    each, so what makes all of it is called once.
    """
    program = (
        "import jax\n"
        "def run(method, context, steps):\n"
        "    (state, move), update = context, method.build()\n"
        "    def _step(state):\n        return update(move(state))\n"
        "    step = jax.jit(_step)\n"
        "    for _ in range(steps):\n        state = step(state)\n"
        "    return state\n"
        "for restart in range(9):\n    run(method, context, 100)\n"
    )
    (tmp_path / "train.py").write_text(program, encoding="utf-8")
    found = ProgramSource(tmp_path).made_anew("train.py", 8, "_step")

    assert found is not None
    assert found.reads == ()
    assert found.once.splitlines() == [
        "# once, before the loop: move, update are functions, each compiled for",
        "def make_step(method, context):",
        "    ...                                # as in run",
        "    return jax.jit(_step)",
        "step = make_step(method, context)",
        "# run takes step as an argument",
    ]
