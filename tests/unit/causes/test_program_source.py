"""How a call in a program's loop is tied to the step, by the program's own lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource
from tfadvisor.causes.program_source import ARGUMENT, RESULT, STEP, Tie

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

    assert found == Tie(STEP, 3, "state = train_step(state, x)")


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


def test_two_files_of_one_name_tell_nothing(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "train.py").write_text("", encoding="utf-8")

    assert tie(tmp_path, "state = train_step(state, call())") is None


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
        ("for x in xs:\n    log(x)\n    log(x)\n", ""),
        ("log(1)\n", ""),
    ],
    ids=["a loop inside of another", "tabs", "in its head", "twice", "in no loop"],
)
def test_the_one_loop_that_calls_a_function_is_shown(
    tmp_path: Path, program: str, shown: str
) -> None:
    (tmp_path / "train.py").write_text(program, encoding="utf-8")

    assert ProgramSource(tmp_path).loop_calling("log") == shown
