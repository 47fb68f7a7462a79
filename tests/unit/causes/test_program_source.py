"""How a call in a program's loop is tied to the step, by the program's own lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource
from tfadvisor.causes.loop_data import ARGUMENT, RESULT, STEP
from tfadvisor.causes.program_source import Tie

STEPS = frozenset({"train_step"})


def tie(folder: Path, body: str, function: str = "call") -> Tie | None:
    """Of a function that a loop with this body calls."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    program = f"import time\nfor i in range(9):\n{lines}"
    (folder / "train.py").write_text(program, encoding="utf-8")
    return ProgramSource(folder).tie("train.py", function, STEPS)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("state = train_step(state, call())", ARGUMENT),
        ("x, y = call(i)\nstate = train_step(state, x, y)", ARGUMENT),
        ("state = train_step(state, *call(i))", ARGUMENT),
        ("batch = call()\nx = batch['x']\nstate = train_step(state, x)", ARGUMENT),
        ("self.batch = call()\nself.state = trainer.train_step(self.batch)", ARGUMENT),
        ("state, loss = train_step(state, x)\ncall(loss)", RESULT),
        ("out = train_step(x)\nloss = out[0]\nlog.call(i, value=loss)", RESULT),
        ("raw = call()\nx = jnp.asarray(raw)\nstate = train_step(state, x)", ARGUMENT),
    ],
)
def test_a_call_is_tied_by_what_flows_into_it_and_out_of_it(
    tmp_path: Path, body: str, expected: str
) -> None:
    found = tie(tmp_path, body)

    assert found is not None
    assert found.tie == expected


def test_the_step_itself_is_the_step(tmp_path: Path) -> None:
    found = tie(tmp_path, "state = train_step(state, x)", function="train_step")

    assert found is not None
    assert (found.tie, found.line) == (STEP, 3)
    assert found.text == "state = train_step(state, x)"


@pytest.mark.parametrize(
    "body",
    [
        "state = train_step(state, x)\ncall(i)",
        "call(buffer)\nstate = train_step(state, buffer)",
        "loader.call()\nstate = train_step(state, loader.batch)",
        "state, loss = train_step(state, x)\nrate = call(loss)",
    ],
)
def test_a_call_that_may_change_what_the_step_reads_is_left_open(
    tmp_path: Path, body: str
) -> None:
    assert tie(tmp_path, body) is None


@pytest.mark.parametrize("body", ["call()", "train_step(x)", "pass"])
def test_without_both_calls_in_one_loop_nothing_is_known(
    tmp_path: Path, body: str
) -> None:
    assert tie(tmp_path, body) is None


@pytest.mark.parametrize("text", ["for (", "\0", "é" * 3])
def test_a_file_that_is_no_program_tells_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "train.py").write_text(text, encoding="utf-8")

    assert ProgramSource(tmp_path).tie("train.py", "call", STEPS) is None


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    source = ProgramSource(tmp_path / "absent")

    assert source.tie("train.py", "call", STEPS) is None


def called(folder: Path, body: str) -> bool | None:
    """Whether what call gives may go into train_step, in a loop with this body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    (folder / "train.py").write_text(f"for i in range(9):\n{lines}", encoding="utf-8")
    found = ProgramSource(folder).called("call", "train_step")
    return None if found is None else found.may_feed_step


@pytest.mark.parametrize(
    "body",
    [
        "train_step()\nloss = call()\nprint('loss', loss)",
        "state = train_step(state, x)\nloss = call(state)\nwriter.scalar('loss', loss)",
        "state = train_step(state, x)\nloss = call(state)\nlosses.append(loss)",
        "state = train_step(state, x)\nif call(state) < best:\n    break",
    ],
    ids=["printed", "logged", "kept for a plot", "compared"],
)
def test_what_is_shown_or_kept_elsewhere_feeds_no_step(
    tmp_path: Path, body: str
) -> None:
    assert called(tmp_path, body) is False


@pytest.mark.parametrize(
    "body",
    [
        "action = call(obs)\nobs = env.step(action)\nstate = train_step(state, obs)",
        "action = call(obs)\nmemory.add(action)\nx = memory.draw()\ntrain_step(x)",
        "fake = call(noise)\nstate = train_step(state, jnp.append(real, fake))",
        "state = train_step(state, call(x))",
        "agent.remember(call(obs))\nagent.train_step()",
        "buffer.append(call(obs))\ntrain_step()",
        "state = train_step(state, x)\nother, loss = call(other, x)",
    ],
    ids=[
        "by the environment",
        "by a memory",
        "made of",
        "given",
        "agent",
        "hidden",
        "trains too",
    ],
)
def test_what_acts_or_generates_may_feed_the_step(tmp_path: Path, body: str) -> None:
    assert called(tmp_path, body) is True


def test_without_a_loop_of_both_nothing_is_known(tmp_path: Path) -> None:
    assert called(tmp_path, "train_step(x)") is None


def test_calls_of_a_step_are_those_in_loops(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "state = train_step(state, x)\nfor i in range(9):\n    state = train_step(\n"
        "        state, x)\n"
    )

    assert ProgramSource(tmp_path).calls_of("train_step") == {("train.py", 3)}


@pytest.mark.parametrize(
    ("program", "shown"),
    [
        (
            "for e in epochs:\n    for x in xs:\n        y = f(x)\n        log(y,\n"
            "            e)\n",
            "for x in xs:\n    ...\n    log(y,\n        e)",
        ),
        ("while True:\n\tlog(1)\n", "while True:\n    log(1)"),
        ("while log(1): pass\n", "while log(1): pass"),
        (f"while 1: log({'1' * 200})\n", f"while 1: log({'1' * 86}…"),
        ("for x in xs:\n    log(x)\n    log(x)\n", ""),
        ("log(1)\n", ""),
    ],
    ids=[
        "a loop inside of another",
        "tabs",
        "in its head",
        "long",
        "twice",
        "in no loop",
    ],
)
def test_the_one_loop_that_calls_a_function_is_shown(
    tmp_path: Path, program: str, shown: str
) -> None:
    (tmp_path / "train.py").write_text(program, encoding="utf-8")

    assert ProgramSource(tmp_path).loop_calling("log") == shown


HEAD = """\
import time
import jax
import numpy as np
from functools import partial
from jax import random
from data import read
import distrax
rng = np.random.default_rng(0)
@partial(jax.jit, donate_argnums=0)
def train_step(state, x):
    return state
def augment(x):
    y = np.roll(x, rng.integers(9))
    return y * 2
def make_step():
    return jax.jit(train_step)
def learn(state, x):
    return train_step(state, x)
def main(x, state):
    for i in range(9):
"""


def ahead(folder: Path, body: str, function: str = "") -> bool:
    """Whether what the first line of a loop makes can be made before its step."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    (folder / "train.py").write_text(HEAD + lines, encoding="utf-8")
    first = HEAD.count("\n") + 1
    steps = frozenset({first + body.count("\n")})
    return ProgramSource(folder).can_be_made_ahead("train.py", first, function, steps)


@pytest.mark.parametrize(
    ("body", "function"),
    [
        ("b = augment(x[i])\nstate = train_step(state, b)", "augment"),
        ("b = augment(x[i])\nstate = trainer.advance(state, b)", "augment"),
        ("b = x[i] + 1\nstate = learn(state, b)", ""),
        ("b *= rng.normal()\nstate = learn(state, b)", ""),
        ("rows = read(i)\nb = np.stack(rows)\nstate = learn(state, b)", "read"),
        ("buffer.append(read(i))\nstate = learn(state, buffer)", "read"),
        ("state = train_step(state, augment(x[i]))", "augment"),
        ("b = augment(x)\nstate, loss = learn(state, b)\nlog(loss)\npass", "augment"),
        ("b = augment(x)\nlosses.append(float(learn(state, b)))", "augment"),
        ("b = augment(x[i])\nlosses[i] = learn(state, b)", "augment"),
    ],
)
def test_what_goes_into_the_step_and_comes_of_none_can_be_made_ahead(
    tmp_path: Path, body: str, function: str
) -> None:
    assert ahead(tmp_path, body, function)


@pytest.mark.parametrize(
    ("body", "function"),
    [
        ("x = augment(x)\nx, state = train_step(state, x)", "augment"),
        ("b = augment(a)\na = train_step(state, b)", "augment"),
        ("b = augment(world.x)\nout = learn(state, b)\nworld.x = out", "augment"),
        ("b = buffer.sample()\nout = learn(state, b)\nbuffer.add(out)", ""),
        ("b = agent.observe()\nagent.train_step(b)", ""),
        ("rate = augment(i)\nprint(rate)\nstate = learn(state, x)", "augment"),
        ("b = augment(x[i])\nprint(b)\npass", "augment"),
        ("state = train_step(state, x)", "train_step"),
        ("b = augment(x[i])\nout = learn(state, b)\nfill(x, out)\npass", "augment"),
        ("b = augment(x[i])\nout = learn(state, b)\nmake_step(out)\npass", "augment"),
        ("b = augment(a)\nif learn(state, b) > 0: a = x", "augment"),
        ("if out > 0: b = augment(x)\nout = learn(state, b)", "augment"),
        ("b = augment(a)\na = learn(state, b)\nif i: a = x", "augment"),
        ("b = augment(x)\nrng.append(learn(state, b))", "augment"),
    ],
    ids=[
        "the same array goes round",
        "an action of the last round",
        "kept in an attribute",
        "kept in a buffer",
        "an object that the step may change",
        "only shown",
        "no step",
        "the step",
        "filled with what a step gave",
        "a function that may keep what a step gave",
        "chosen by what a step gave",
        "made only where a step gave so",
        "written again later",
        "kept in what the function reads",
    ],
)
def test_what_a_step_gives_or_does_not_take_is_not_made_ahead(
    tmp_path: Path, body: str, function: str
) -> None:
    assert not ahead(tmp_path, body, function)


AGENT = """\
class Agent:
    def sample(self):
        return self.shuffled()[: self.size]
    def shuffled(self):
        return self.rng.permutation({read})
    def learn(self, batch):
        self.params = step(self.params, batch)
    def train(self):
        for i in range(9):
            batch = self.{make}()
            self.learn(batch)
"""


@pytest.mark.parametrize(
    ("read", "make", "can"),
    [
        ("self.data", "sample", True),
        ("self.params", "sample", False),
        ("self.data", "inherited", False),
    ],
    ids=["other attributes", "what the step changes", "defined elsewhere"],
)
def test_methods_of_one_object_are_tied_by_the_attributes_that_they_touch(
    tmp_path: Path, read: str, make: str, can: bool
) -> None:
    text = AGENT.format(read=read, make=make)
    (tmp_path / "train.py").write_text(text, encoding="utf-8")

    found = ProgramSource(tmp_path)

    assert found.can_be_made_ahead("train.py", 10, make, frozenset([11])) is can


def test_what_a_generator_gives_to_the_loop_can_be_made_ahead(tmp_path: Path) -> None:
    program = HEAD.replace("for i in range(9):", "for b in read(x):")
    text = f"{program}        state = train_step(state, b)\n"
    (tmp_path / "train.py").write_text(text, encoding="utf-8")
    line = HEAD.count("\n")

    found = ProgramSource(tmp_path)

    assert found.can_be_made_ahead("train.py", line, "read", frozenset())


@pytest.mark.parametrize(
    ("line", "on_host"),
    [
        ("b = np.roll(x, 3)", True),
        ("b = rng.normal(size=x.shape).astype('f4')", True),
        ("b = x[i] * 2", True),
        ("b = sorted(augment(x), key=len)", True),
        ("b = read(x)", True),
        ("b = train_step(state, x)", False),
        ("b = learn(state, x)", False),
        ("b = jax.device_get(x)", False),
        ("b = random.permutation(x)", False),
        ("x.block_until_ready()", False),
        ("b = step(state, x)", False),
        ("b = model.apply(x)", False),
        ("b = distrax.Normal(0, 1).sample()", False),
    ],
)
def test_a_line_is_on_the_host_where_each_of_its_calls_is_known_to_be(
    tmp_path: Path, line: str, on_host: bool
) -> None:
    (tmp_path / "train.py").write_text(f"{HEAD}        {line}\n", encoding="utf-8")
    number = HEAD.count("\n") + 1

    assert ProgramSource(tmp_path).runs_on_host("train.py", number) is on_host


def test_an_array_of_a_device_may_be_waited_for_where_it_is_read(
    tmp_path: Path,
) -> None:
    """`images[rows]` waits for rows, though it calls nothing."""
    body = "order = random.permutation(9)\nrows = order[i]\nb = images[rows]\nc = x[i]"
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    (tmp_path / "train.py").write_text(HEAD + lines, encoding="utf-8")
    first = HEAD.count("\n") + 1

    found = ProgramSource(tmp_path)

    assert [found.runs_on_host("train.py", first + at) for at in range(4)] == [
        False,
        False,
        False,
        True,
    ]


def test_what_a_compiled_function_gives_is_not_compiled(tmp_path: Path) -> None:
    """`batch` is an array that a step gave, and a function that prepares others."""
    lines = "        batch = train_step(state, x)\ndef batch(x):\n    return x + 1\n"
    (tmp_path / "train.py").write_text(f"{HEAD}{lines}y = batch(3)\n", "utf-8")

    assert ProgramSource(tmp_path).runs_on_host("train.py", HEAD.count("\n") + 4)


def test_what_a_function_compiles_for_others_is_compiled(tmp_path: Path) -> None:
    lines = "        step = make_step()\n        b = step(state, x)\n"
    (tmp_path / "train.py").write_text(HEAD + lines, encoding="utf-8")
    number = HEAD.count("\n") + 2

    found = ProgramSource(tmp_path)

    assert not found.runs_on_host("train.py", number)
    assert not found.can_be_made_ahead("train.py", number, "step", frozenset())


@pytest.mark.parametrize(
    ("program", "asked"),
    [
        ("while s[3] > tol * b:\n    s = turn(s)\n", "s[3] > tol * b"),
        ("while i < 9 and s[3] > tol:\n    s = turn(s)\n", "s[3] > tol"),
        (
            "for i in range(9):\n    s, err = turn(s)\n    e = float(err)\n"
            "    if e < tol:\n        print(i)\n        break\n",
            "e < tol",
        ),
        ("while float(jnp.max(s)) > 1:\n    s = turn(s)\n", "float(jnp.max(s)) > 1"),
        ("while i < 9:\n    s = turn(s)\n    i += 1\n", ""),
        ("for i in range(9):\n    s = turn(s)\n    if s < 1:\n        print(s)\n", ""),
        (
            "for i in range(9):\n    s = turn(s)\n    if clock.over(s) == 1:\n"
            "        break\n",
            "",
        ),
        (
            "for i in range(9):\n    s = turn(s)\n"
            "    if i % 10 == 0 and s < 1:\n        break\n",
            "",
        ),
        ("s = turn(s)\n", ""),
        ("while True:\n    s = turn(s)\n    if s is None:\n        break\n", ""),
        ("while s.ndim < 3:\n    s = turn(s)\n", ""),
        ("while 'x' not in s:\n    s = turn(s)\n", ""),
    ],
    ids=[
        "a condition",
        "beside a count",
        "an early end, of what is made of it",
        "reduced",
        "a count alone",
        "no end",
        "what an object says",
        "each tenth round",
        "no loop",
        "whether there is any",
        "a shape",
        "a name in a tree",
    ],
)
def test_what_a_loop_asks_of_its_steps(
    tmp_path: Path, program: str, asked: str
) -> None:
    (tmp_path / "solve.py").write_text(program, encoding="utf-8")

    assert ProgramSource(tmp_path).asked_of("turn")[0] == asked


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("ds = ds.batch(8).map(parse)", True),
        ("losses = [*map(loss, batches)]", False),
        ("ds.map", False),
    ],
)
def test_whether_the_program_calls_a_method(
    tmp_path: Path, line: str, calls: bool
) -> None:
    (tmp_path / "train.py").write_text(line)

    assert ProgramSource(tmp_path).calls_method("map") is calls
