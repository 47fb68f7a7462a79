"""The diagnosis benchmark's form: truth, programs and adapters fit together, and the
counts count what they say.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from support.places import FIXTURES, ROOT

BENCHMARK = ROOT / "benchmarks" / "diagnosis"


def module(name: str) -> ModuleType:
    """A file of the benchmark, which is no package."""
    spec = importlib.util.spec_from_file_location(name, BENCHMARK / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


sources = module("sources")
PROGRAMS: dict[str, str] = sources.programs(BENCHMARK / "programs.txt")
TRUTH: dict[str, Any] = yaml.safe_load(
    (BENCHMARK / "truth.yaml").read_text(encoding="utf-8")
)
CLASSES = set(
    "input host launch compile transfer collective imbalance memory compute".split()
)
REQUIRED = {"framework", "fault", "cause", "steps", "marked"}
OPTIONAL = {"also", "place", "where", "hosts", "notes", "later"}
each_program = pytest.mark.parametrize("program", PROGRAMS)


@pytest.fixture
def benchmark(monkeypatch: pytest.MonkeyPatch) -> dict[str, ModuleType]:
    monkeypatch.syspath_prepend(str(BENCHMARK))
    names = {"answers", "score", "first_sight", "adapters.tfadvisor"}
    return {
        name.removeprefix("adapters."): importlib.import_module(name)
        for name in sorted(names)
    }


def test_each_program_has_its_truth_and_the_other_way_round() -> None:
    assert {*PROGRAMS} == set(TRUTH["programs"])
    assert len(PROGRAMS) >= 30


@each_program
def test_truth_says_all_that_is_needed(program: str) -> None:
    entry = TRUTH["programs"][program]

    assert set(entry) >= REQUIRED
    assert set(entry) <= REQUIRED | OPTIONAL
    assert {"tf": "tensorflow", "jax": "jax"}[program.partition("_")[0]] == entry[
        "framework"
    ]
    assert {entry["cause"], *entry.get("also", [])} <= set(TRUTH["causes"])


@each_program
def test_a_program_profiles_the_steps_that_truth_says_and_has_both_forms(
    program: str,
) -> None:
    tree = ast.parse(PROGRAMS[program])
    steps = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(one, ast.Name) and one.id == "STEPS" for one in node.targets)
    ]
    main = next(
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == "main"
    )
    several = "hosts" in TRUTH["programs"][program]

    assert [ast.literal_eval(one) for one in steps] == [
        TRUTH["programs"][program]["steps"]
    ]
    assert [one.arg for one in main.args.args] == [
        "logdir",
        "faulty",
        *(["peers", "rank"] if several else []),
    ]
    assert any(
        isinstance(node, ast.Name) and node.id == "faulty"
        for node in ast.walk(main)
        if node is not main
    )


@each_program
def test_the_place_of_the_fault_is_in_the_program(program: str) -> None:
    where = TRUTH["programs"][program].get("where")

    assert where is None or where in PROGRAMS[program]


def test_causes_are_of_known_classes_and_cover_known_causes() -> None:
    for cause, about in TRUTH["causes"].items():
        assert cause.split("/")[0] in CLASSES
        assert set(about) <= {"means", "covers"}
        assert set(about.get("covers", [])) <= set(TRUTH["causes"])


def test_scenarios_of_a_gpu_exist_with_their_healthy_forms() -> None:
    for name, entry in TRUTH["gpu"].items():
        for scenario in (name, entry["healthy"]):
            assert (FIXTURES / "gpu" / scenario / "program.py").exists()
        assert {entry["cause"], *entry.get("also", [])} <= set(TRUTH["causes"])


def test_the_adapter_knows_causes_and_takes_a_new_rule_for_its_category(
    benchmark: dict[str, ModuleType],
) -> None:
    adapter, answers = benchmark["tfadvisor"], benchmark["answers"]
    known = {*TRUTH["causes"], *map(answers.class_of, TRUTH["causes"])}

    assert adapter.known_cause("a-new-rule", "host") == "host"
    assert adapter.known_cause("a-new-rule", "kernel") == "compute"
    assert {*adapter.CAUSES.values()} <= known
    assert {cause for _, _, cause in adapter.BY_CATEGORY} <= known


def test_what_counts_as_right(benchmark: dict[str, ModuleType]) -> None:
    answers, score = benchmark["answers"], benchmark["score"]
    planted = answers.Planted(
        "one", "no prefetch", ("input/no-prefetch", "input/uncached"), r"shuffle_\w+"
    )

    def answer(cause: str, sure: bool = True) -> Any:
        return answers.Answer((cause,), sure, cause)

    def case(faulty: bool, *said: Any, place: str = "MatMul") -> Any:
        return score.Case(
            planted,
            faulty,
            1,
            1.0,
            0.0,
            answers.Diagnosis(said, None, (place,)),
            BENCHMARK,
        )

    cases = [
        case(True, answer("input/no-prefetch")),
        case(
            True, answer("host/value-read"), answer("input/preprocessing")
        ),  # covers input/uncached
        case(True, answer("input"), answer("host")),  # the class alone is no cause
        case(True, place="tf.data Shuffle shuffle_7"),
        case(False, answer("input", sure=False)),
        case(False, answer("host")),
    ]
    counted = score.scored(cases, TRUTH["causes"])

    assert (
        counted.faulty,
        counted.cause_first,
        counted.cause_within,
        counted.cause_found,
    ) == (4, 1, 2, 2)
    assert counted.placed == 3
    assert (counted.class_first, counted.class_within, counted.silent) == (2, 3, 1)
    assert (counted.healthy, counted.alarmed, counted.suspected) == (2, 1, 1)
    assert (counted.sure, counted.sure_and_right) == (6, 2)


def test_first_answers_and_changes_are_about_programs_of_the_benchmark(
    benchmark: dict[str, ModuleType],
) -> None:
    first_sight = benchmark["first_sight"]
    kept = json.loads(first_sight.ANSWERS.read_text(encoding="utf-8"))

    assert set(kept) == set(TRUTH["programs"])
    for forms in kept.values():
        assert set(forms) == {"healthy", "faulty"}
    for change in first_sight.changes():
        assert set(change) == {"programs", "changed"}
        assert set(change["programs"]) <= set(TRUTH["programs"])
    assert set(first_sight.why_missed()) <= set(TRUTH["programs"])


@pytest.fixture
def blind(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCHMARK))
    return importlib.import_module("blind")


def test_first_sight_is_published_as_it_was_judged(blind: ModuleType) -> None:
    assert (BENCHMARK / "first-sight.md").read_text(encoding="utf-8") == blind.page()
    assert blind.lead() in (BENCHMARK / "results.md").read_text(encoding="utf-8")


def test_every_faulty_program_of_a_batch_is_judged_or_left_out_by_name(
    blind: ModuleType,
) -> None:
    for batch in blind.judged_batches():
        judged = yaml.safe_load(
            (blind.BATCHES / batch / "judged.yaml").read_text(encoding="utf-8")
        )
        faulty = {
            name
            for name, planted in blind.truth_of(batch).items()
            if "faulty" in planted["forms"]
        }

        assert set(judged["faulty"]) <= faulty
        assert all(
            f"`{name}`" in judged["about"] for name in faulty - set(judged["faulty"])
        )


def test_the_seventh_batch_by_hand(blind: ModuleType) -> None:
    """Five causes, seven classes, two silent and one that led elsewhere; 24 healthy
    forms.
    """
    found = blind.counts("7")

    assert (found["faulty"], found["cause"], found["class"], found["silent"]) == (
        15,
        5,
        12,
        2,
    )
    assert (found["healthy"], found["alarms"]) == (24, [])


def test_unpacking_writes_each_program_once(tmp_path: Path) -> None:
    packed = tmp_path / "programs.txt"
    packed.write_text(
        "# %% one.py\na = 1\n# %% two.py\n# %%\nb = 2\n", encoding="utf-8"
    )

    folder = sources.unpacked(packed, tmp_path / "unpacked")

    assert {file.name: file.read_text("utf-8") for file in folder.iterdir()} == {
        "one.py": "a = 1\n",
        "two.py": "# %%\nb = 2\n",
    }


def test_every_program_of_a_batch_is_in_its_file(blind: ModuleType) -> None:
    for batch in blind.judged_batches():
        assert (
            sources.programs(blind.BATCHES / batch / "programs.txt").keys()
            == blind.truth_of(batch).keys()
        )
