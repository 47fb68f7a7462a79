"""Functions that a training loop calls after its batches, and what comes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tfadvisor.causes import ProgramSource

PICTURES = """\
import keras
import numpy as np
class Gallery(keras.callbacks.Callback):
    def __init__(self, samples, folder):
        self.samples, self.folder = samples, folder
    def on_train_batch_end(self, batch, logs=None):
        images = np.asarray(self.model(self.samples, training=False))
        sheet = images.reshape(8, 8)
        keras.utils.save_img(f"{self.folder}/{batch}.png", sheet[..., None])
        if batch % 10 == 0:
            print(logs["loss"])
"""
BEGIN = """\
import keras, random
import matplotlib.pyplot as plt
from tensorflow.keras.callbacks import Callback
def f(x):
    return x, x
class Own(Callback):
    def __init__(self, sampler):
        self.sampler, self.kept, self.seen = sampler, [], 0
        self.best = 9.0
"""


def source_of(folder: Path, program: str) -> ProgramSource:
    (folder / "train.py").write_text(program, encoding="utf-8")
    return ProgramSource(folder)


def line_of(program: str, text: str) -> int:
    return 1 + next(at for at, line in enumerate(program.splitlines()) if text in line)


def edited(folder: Path, program: str, text: str) -> str:
    """The edit of the hook around a line; "" for no hook."""
    source, at = source_of(folder, program), ("train.py", line_of(program, text))
    hook = source.hook_at(*at)
    edit = None if hook is None else source.hook_edit(hook, [at])
    return "" if edit is None else edit.after


def test_a_callback_of_keras_that_draws(tmp_path: Path) -> None:
    source = source_of(tmp_path, PICTURES)
    hook = source.hook_at("train.py", 9)
    assert hook is not None
    edit = source.hook_edit(hook, [("train.py", 9), ("train.py", 7)])
    assert edit is not None

    assert hook.words == "Gallery.on_train_batch_end (train.py:6)"
    assert hook.by == "fit"
    assert hook.effects.doubt == ""
    assert source.done_by_hook(hook, "train.py", 9) == "draws or encodes pictures"
    assert source.done_by_hook(hook, "train.py", 7) == "runs the model"
    assert "fit takes nothing back of it" in edit.words
    assert "move it to on_epoch_end" in edit.words
    assert edit.after.splitlines() == [
        "def on_train_batch_end(self, batch, logs=None):",
        "    if batch % 100 == 0:",
        "        images = np.asarray(self.model(self.samples, training=False))",
        "        ...",
        '        keras.utils.save_img(f"{self.folder}/{batch}.png", sheet[..., None])',
        "    ...",
    ]


@pytest.mark.parametrize(
    ("body", "costly"),
    [
        (
            "self.kept.append([w.mean() for w in self.model.get_weights()])",
            "kept.append",
        ),
        (
            "for layer in self.model.layers:\n            print(layer.get_weights())",
            "print",
        ),
        (
            "plt.hist(self.model.get_weights()[0])\n        plt.savefig('a.png')",
            "savefig",
        ),
        (
            "fig, ax = plt.subplots()\n        ax.set_title('a')\n        ax.w = 1",
            "ax.w",
        ),
        ("self.seen += 1\n        print(self.model.predict(x))", "predict"),
        ("rows = {}\n        rows['a'] = logs\n        print(rows)", "print"),
    ],
)
def test_what_only_shows_or_keeps(body: str, costly: str, tmp_path: Path) -> None:
    program = f"{BEGIN}    def on_batch_end(self, batch, logs=None):\n        {body}\n"

    assert "if batch % 100 == 0:" in edited(tmp_path, program, costly)


@pytest.mark.parametrize(
    "body",
    [
        "self.model.optimizer.learning_rate = 0.1",
        "opt = self.model.optimizer\n        opt.learning_rate = 0.1",
        "self.model.optimizer.learning_rate.assign(0.1)",
        "self.model.set_weights(self.model.get_weights())",
        "for layer in self.model.layers:\n            layer.trainable = False",
        "for v in self.model.trainable_variables:\n            v.assign(0.9 * v)",
        "self.model.stop_training = True",
        "keras.backend.set_value(self.model.optimizer.lr, 0.1)",
        "self.model(x, training=True)",
        "logs['rate'] = 1.0",
        "global rate\n        rate = 0.1",
        "self.sampler.difficulty = logs['loss']",
        "if logs['loss'] != logs['loss']:\n            raise ValueError",
        "helper(self.model)",
    ],
)
def test_what_a_step_reads_is_none(body: str, tmp_path: Path) -> None:
    program = (
        f"{BEGIN}    def on_batch_end(self, batch, logs=None):\n        {body}\n"
        "        print(self.model.predict(x))\n"
        "def helper(model):\n    model.layers[0].trainable = False\n"
    )
    source = source_of(tmp_path, program)

    assert source.hook_at("train.py", line_of(program, "predict")) is None


@pytest.mark.parametrize(
    ("body", "doubt"),
    [
        ("self.sampler.tell(logs['loss'])", "self.sampler.tell(logs['loss'])"),
        ("self.best = 0.9 * self.best + logs['loss']", "self.best"),
        ("self.best += logs['loss']", "self.best"),
        ("print(next(self.sampler))", "next(self.sampler)"),
        ("self.sampler(logs)", "self.sampler(logs)"),
        ("self.best, x = f(self.best)", "self.best"),
    ],
)
def test_what_may_come_back_is_asked(body: str, doubt: str, tmp_path: Path) -> None:
    program = (
        f"{BEGIN}    def on_batch_end(self, batch, logs=None):\n        {body}\n"
        "        print(self.model.predict(x))\n"
    )
    source, line = source_of(tmp_path, program), line_of(program, "predict")
    hook = source.hook_at("train.py", line)
    assert hook is not None
    edit = source.hook_edit(hook, [("train.py", line)])
    assert edit is not None

    assert hook.effects.doubt == doubt
    assert f"Does a step need what `{doubt}` changes? If not" in edit.words


@pytest.mark.parametrize(
    "body",
    [
        "if batch % 50 == 0:\n            print(self.model.predict(x))",
        "if batch % 50:\n            return\n        print(self.model.predict(x))",
        "if logs['loss'] < 0.1:\n            print(self.model.predict(x))",
    ],
)
def test_what_comes_seldom_already_is_none(body: str, tmp_path: Path) -> None:
    program = f"{BEGIN}    def on_batch_end(self, batch, logs=None):\n        {body}\n"
    source = source_of(tmp_path, program)

    assert source.hook_at("train.py", line_of(program, "predict")) is None


@pytest.mark.parametrize(
    "program",
    [
        "class Model:\n    def on_batch_end(self, batch):\n        print(batch)\n",
        "import keras\nclass A(keras.callbacks.Callback):\n"
        "    def on_epoch_end(self, epoch, logs=None):\n        print(epoch)\n",
        "import keras\nclass A(keras.Model):\n"
        "    def train_step(self, batch):\n        print(batch)\n",
    ],
)
def test_a_method_that_fit_does_not_call_after_batches_is_none(
    program: str, tmp_path: Path
) -> None:
    source = source_of(tmp_path, program)

    assert source.hook_at("train.py", line_of(program, "print")) is None


def test_what_a_hook_alone_calls_is_of_it(tmp_path: Path) -> None:
    """The edit is of the line in the hook; a function that others call too is none."""
    program = (
        f"{BEGIN}    def on_batch_end(self, batch, logs=None):\n"
        "        self.draw(batch)\n"
        "        shared(batch)\n"
        "    def draw(self, batch):\n        plt.savefig(f'{batch}.png')\n"
        "def shared(batch):\n    plt.show()\n"
        "shared(1)\n"
    )
    source = source_of(tmp_path, program)

    assert "        self.draw(batch)" in edited(tmp_path, program, "savefig")
    assert source.hook_at("train.py", line_of(program, "show")) is None


def test_a_function_that_a_callback_is_given(tmp_path: Path) -> None:
    program = (
        "import keras\n"
        "def report(batch, logs):\n    print(model.predict(x))\n"
        "model.fit(x, callbacks=[keras.callbacks.LambdaCallback(on_batch_end=report)])\n"
    )

    assert edited(tmp_path, program, "predict").splitlines() == [
        "def report(batch, logs):",
        "    if batch % 100 == 0:",
        "        print(model.predict(x))",
    ]


LOOP = """\
class Recorder:
    def __init__(self):
        self.kept = []
    def after_step(self, step, state, loss):
        {body}
def train(hooks, state, batches):
    for step, batch in enumerate(batches):
        state, loss = update(state, batch)
        for hook in hooks:
            {call}
"""


def test_a_hook_of_a_loop_of_the_program(tmp_path: Path) -> None:
    program = LOOP.format(
        body="self.kept.append(np.histogram(state))",
        call="hook.after_step(step, state, loss)",
    ).replace("class", "import numpy as np\nclass", 1)
    source = source_of(tmp_path, program)
    hook = source.hook_at("train.py", line_of(program, "kept.append"))

    assert hook is not None
    assert hook.by == "the loop at train.py:8"
    assert hook.effects.doubt == ""
    assert edited(tmp_path, program, "kept.append").splitlines() == [
        "def after_step(self, step, state, loss):",
        "    if step % 100 == 0:",
        "        self.kept.append(np.histogram(state))",
    ]


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("return state", "state = hook.after_step(step, state, loss)"),
        ("state.rate = 0.1", "hook.after_step(step, state, loss)"),
        ("self.kept, x = step(self.kept, state)", "hook.after_step(step, state, loss)"),
        ("self.train(state)", "hook.after_step(step, state, loss)"),
        ("step.act(state)", "hook.after_step(step, state, loss)"),
        ("self.kept = print(learn(state))", "hook.after_step(step, state, loss)"),
        ("print(loss)", "hook.after_step(step, state, loss)\nx = y.after_step(1)"),
    ],
)
def test_a_hook_whose_result_or_change_comes_back_is_none(
    body: str, call: str, tmp_path: Path
) -> None:
    program = LOOP.format(body=body, call=call)
    source = source_of(tmp_path, program)

    assert source.hook_at("train.py", line_of(program, body)) is None


def test_a_hook_that_is_given_no_number_counts_itself(tmp_path: Path) -> None:
    program = (
        "class Recorder:\n"
        "    def after_step(self, trainer):\n        print(trainer.loss)\n"
        "class Trainer:\n"
        "    def train(self, batches):\n"
        "        for batch in batches:\n"
        "            self.loss = self.step(batch)\n"
        "            for hook in self.hooks:\n"
        "                hook.after_step(self)\n"
    )

    assert edited(tmp_path, program, "print").splitlines() == [
        "def after_step(self, trainer):",
        "    self.batches += 1            # 0 in __init__",
        "    if self.batches % 100 == 0:",
        "        print(trainer.loss)",
    ]


def test_what_is_read_under_a_condition_alone_is_made_there(tmp_path: Path) -> None:
    program = (
        f"{BEGIN}    def on_batch_end(self, batch, logs=None):\n"
        "        text = f'{sum(self.kept)}'\n"
        "        if batch % 50 == 0:\n            print(text)\n"
    )

    assert edited(tmp_path, program, "text =").splitlines() == [
        "    if batch % 50 == 0:",
        "        text = f'{sum(self.kept)}'",
        "        print(text)",
    ]


@pytest.mark.parametrize(
    ("after", "doubt"),
    [
        ("model.fit(x, callbacks=[own])\nprint(own.kept)", ""),
        ("def rows():\n    yield own.kept\nmodel.fit(rows())", "own.kept"),
    ],
)
def test_what_it_keeps_may_be_read_by_what_makes_batches(
    after: str, doubt: str, tmp_path: Path
) -> None:
    program = (
        f"{BEGIN}    def on_batch_end(self, batch, logs=None):\n"
        f"        self.kept = self.model.predict(x)\nown = Own(1)\n{after}\n"
    )
    source = source_of(tmp_path, program)
    hook = source.hook_at("train.py", line_of(program, "predict"))

    assert hook is not None
    assert hook.effects.doubt == doubt


def test_names_that_stand_for_each_other_are_told_soon(tmp_path: Path) -> None:
    """Each of 20 is given all the others: 20 ** 6 ways, were each asked again."""
    names = [f"a{number}" for number in range(20)]
    body = "\n        ".join(f"{each} = {one}" for each in names for one in names)
    body += "\n        a0.append(1)\n        print(self.model.predict(x))"
    program = f"{BEGIN}    def on_batch_end(self, batch, logs=None):\n        {body}\n"

    assert "if batch % 100 == 0:" in edited(tmp_path, program, "predict")


def test_a_callback_is_one_through_classes_of_several_bases(tmp_path: Path) -> None:
    """40 classes, each of the next three, are 3**8 ways to the eighth one."""
    bases = [f"class C{at}(C{at + 1}, C{at + 2}, C{at + 3}): pass" for at in range(40)]
    own = [f"class C{at}(Callback): pass" for at in (40, 41, 42)]
    hook = "class Own(C0):\n    def on_batch_end(self, batch):\n        print(batch)"
    program = "\n".join([BEGIN, *own, *bases[::-1], hook])
    source = source_of(tmp_path, program)

    found = source.hook_at("train.py", line_of(program, "print(batch)"))
    assert found is not None
    assert found.by == "fit"
