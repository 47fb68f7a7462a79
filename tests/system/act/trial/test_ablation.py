"""Each part of a program taken out by hooks, on programs whose clock is invented: what
they cost is what they say.
"""

from __future__ import annotations

import json
import sys

import pytest
from jsonschema import Draft202012Validator
from support.places import ROOT
from support.tried_programs import Place

pytestmark = [pytest.mark.subprocess, pytest.mark.slow]

PYTHON = sys.executable
PARTS_OF_40 = """
    from invented import work
    import jax


    def load(number):
        work(8)
        return number


    def train_step(state, batch):
        work(8)
        return state + 1, jax.ArrayImpl(4)


    def log_metrics(value):
        work(2)


    def evaluate(state):
        work(6)
        return 0.5


    def save_checkpoint(state):
        work(12)


    def main():
        state = 0
        for number in range(3000):
            batch = load(number)
            state, loss = train_step(state, batch)
            value = float(loss)
            log_metrics(value)
            accuracy = evaluate(state)
            save_checkpoint(state)


    main()
"""
KERAS = """
    from invented import work
    from keras.src.callbacks import CallbackList


    class Histograms:
        def on_train_batch_end(self, batch, logs):
            work(10)


    class ModelCheckpoint:
        def on_train_batch_end(self, batch, logs):
            work(20)


    told = CallbackList([Histograms(), ModelCheckpoint()])
    for epoch in range(4):
        told.on_epoch_begin(epoch)
        for batch in range(1000):
            told.on_train_batch_begin(batch)
            work(10)
            told.on_train_batch_end(batch, {"loss": 0.5})
        told.on_epoch_end(epoch)
"""


def ablated(place: Place, *more: object) -> tuple[dict, dict[str, dict]]:
    """The result, and its arms by name."""
    result = place.tried("--ablate", *more, "--", PYTHON, "train.py", 5000)
    return result, {arm["name"]: arm for arm in result["arms"]}


def cost(arm: dict) -> float:
    return 1 - arm["ratio"]["estimate"]


def test_each_part_of_a_loop_costs_what_it_takes(place: Place) -> None:
    """Of 40 ms a step 8 are input, 4 reading, 2 logging, 6 evaluation, 12 checkpoints:
    behind the step are 24.
    """
    place.write("train.py", PARTS_OF_40)

    result, arms = ablated(place)

    Draft202012Validator(
        json.loads((ROOT / "schemas" / "trial-1.json").read_text())
    ).validate(result)
    wanted = {"input": 0.2, "values read back": 0.1, "callbacks": 0.05, "evaluation": 0.15, "checkpoints": 0.3,
              "work behind the step": 0.6}  # fmt: skip
    assert {name: cost(arms[name]) for name in wanted} == pytest.approx(wanted)
    assert all(
        arms[name]["ratio"]["low"] <= 1 - share <= arms[name]["ratio"]["high"]
        for name, share in wanted.items()
    )
    assert result["profile"].startswith(
        "work behind the step 60% (60 to 60), checkpoints 30% ("
    )
    assert result["outcome"] == "winner"
    places = {
        name: [
            PARTS_OF_40.splitlines()[int(place.split(":")[1])].strip()
            for place in arms[name]["places"]
        ]
        for name in wanted
    }
    assert places == {
        "input": ["batch = load(number)"],
        "values read back": ["value = float(loss)"],
        "callbacks": ["log_metrics(value)"],
        "evaluation": ["accuracy = evaluate(state)"],
        "checkpoints": ["save_checkpoint(state)"],
        "work behind the step": [
            "value = float(loss)",
            "log_metrics(value)",
            "accuracy = evaluate(state)",
            "save_checkpoint(state)",
        ],
    }


BRANCH = """
    from invented import work
    import jax


    def train_step(state, batch):
        work(8)
        return state + 1, jax.ArrayImpl(4)


    def main():
        state = 0
        for batch in range(3000):
            state, loss = train_step(state, batch)
            if loss == 1.0:
                print("never")


    main()
"""


@pytest.mark.parametrize(
    "fused",
    ["", "if len(sys.argv) > 9:\n                params = whole(params, batch)"],
)
def test_gradients_are_neither_input_nor_behind_the_step(
    place: Place, fused: str
) -> None:
    """Of 20 ms 6 load, 4 compute a loss that nobody needs, 8 the gradients and 2 apply
    them; or the step is taken for a branch that never runs."""
    place.write("train.py", f"""
        import sys
        from invented import work
        import jax


        def load(number):
            work(6)
            return number


        def get_loss(params, batch):
            work(4)
            return 0.5


        def gradients(params, batch):
            work(8)
            return 1


        def apply(params, grads):
            work(2)
            return params + grads


        params = 0
        for number in range(5000):
            batch = load(number)
            {fused}
            loss = get_loss(params, batch)
            grads = gradients(params, batch)
            params = apply(params, grads)
    """)  # fmt: skip

    _, arms = ablated(place)

    assert cost(arms["input"]) == pytest.approx(0.3, abs=0.02)
    behind = arms["work behind the step"]
    assert (
        behind["ratio"] is None
        if not fused
        else cost(behind) == pytest.approx(0.2, abs=0.02)
    )


def test_a_branch_on_a_value_of_the_device_reads_it(place: Place) -> None:
    """4 of 12 ms."""
    place.write("train.py", BRANCH)

    _, arms = ablated(place)

    assert cost(arms["values read back"]) == pytest.approx(1 / 3)
    assert arms["values read back"]["places"] == [
        f"train.py:{BRANCH.splitlines().index('            if loss == 1.0:')}"
    ]


def test_parts_that_a_program_has_not_are_named_with_the_reason(place: Place) -> None:
    """12 of 20 ms are `load`."""
    result, arms = ablated(place)

    assert cost(arms.pop("input")) == pytest.approx(0.6)
    assert {arm["outcome"] for arm in arms.values()} == {"broken"}
    assert arms["evaluation"]["why"] == "the program evaluates nothing in its steps"
    assert arms["one device"]["why"] == "it uses one device as it is"
    assert result["profile"] == "input 60% (59 to 61)"


def test_keras_callbacks_and_those_that_keep_weights_are_two_parts(
    place: Place,
) -> None:
    """10 ms of training, 10 of a callback and 20 of ModelCheckpoint in each of
    40 ms.
    """
    place.write("train.py", KERAS)

    _, arms = ablated(place)

    assert cost(arms["callbacks"]) == pytest.approx(0.25)
    assert cost(arms["checkpoints"]) == pytest.approx(0.5)


def test_a_step_that_is_not_compiled_is_a_switch(place: Place) -> None:
    """jax.jit of the fake framework takes 2 ms for 8, so that 12 ms a step become 6."""
    place.write("train.py", """
        from invented import work
        import jax

        def train_step(state, batch):
            work(8)
            return state + batch

        state = 0
        for batch in [1] * 5000:
            state = train_step(state, batch)
            work(4)
    """)  # fmt: skip

    result, arms = ablated(place)

    assert (arms["step compiled"]["outcome"], arms["step compiled"]["kind"]) == (
        "better",
        "switch",
    )
    assert "step compiled saves 50%" in result["profile"]


def test_half_of_the_batch_tells_whether_a_step_depends_on_it(place: Place) -> None:
    """18 ms of launches and 1 ms for each of two rows: with one row 19 of 20 ms."""
    place.write("train.py", """
        from invented import work
        import jax

        def train_step(state, rows):
            work(18 + rows.shape[0])
            return state + 1

        state, rows = 0, jax.ArrayImpl(0, [1.0, 2.0])
        for number in range(5000):
            state = train_step(state, rows)
    """)  # fmt: skip

    result, arms = ablated(place)

    assert arms["half the batch"]["ratio"]["estimate"] == pytest.approx(0.95)
    assert (
        "half the batch takes 95% of the time, so its size hardly matters"
        in result["profile"]
    )


def test_a_report_of_another_step_is_not_taken_for_this_program(place: Place) -> None:
    trace = ROOT / "fixtures" / "jax-recompile"
    place.run("analyze", trace, "--format", "json", "-o", "report.json")

    place.write(
        "train.py",
        "import jax\nfrom invented import work\n\nfor number in range(5000):\n    "
        "work(1000)\n",
    )

    code, out, err = place.run(
        "try", "--from", "report.json", "--env", "A=1", "--", PYTHON, "train.py"
    )

    assert (code, out) == (4, "")
    assert "a round of train.py:4 takes 1 s, the report's step" in err
