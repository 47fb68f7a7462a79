"""What once broke a target breaks it no more, and each target still says what
is wrong.
"""

from __future__ import annotations

import random
import sys

import pytest
from support.places import ROOT

sys.path.append(str(ROOT / "fuzz"))
import engine
import mutate
import targets

KEPT = [
    (target, path)
    for target in targets.TARGETS
    for path in sorted((ROOT / "fuzz" / "corpus" / target).glob("*"))
]


@pytest.mark.parametrize(
    ("target", "path"), KEPT, ids=lambda one: getattr(one, "name", one)
)
def test_what_once_broke_it_breaks_it_no_more(target: str, path: object) -> None:
    found: dict[str, tuple[str, bytes]] = {}

    engine.execute(targets.TARGETS[target].check, path.read_bytes(), found)  # type: ignore[attr-defined]

    assert found == {}


@pytest.mark.parametrize("target", targets.TARGETS)
def test_a_few_neighbours_of_each_seed(target: str) -> None:
    """The same ones each time; a seed itself is accepted."""
    one, chance, found = targets.TARGETS[target], random.Random(11), {}
    seeds = one.seeds()
    accepted = [engine.execute(one.check, seed, found) for seed in seeds[:3]]
    for _ in range(30):
        change = mutate.mutated if one.binary else engine._as_text
        engine.execute(one.check, change(chance.choice(seeds), seeds, chance), found)

    assert found == {}
    assert all(accepted) or target in ("gate-config", "flags")


def test_a_fault_is_found_and_named() -> None:
    found: dict[str, tuple[str, bytes]] = {}

    engine.execute(lambda data: 1 // len(data) > 0, b"", found)

    assert next(iter(found)).startswith("ZeroDivisionError at test_fuzz_corpus.py:")


def test_a_message_taken_apart_and_put_together_is_the_same() -> None:
    for seed in targets.trace_seeds()[:3]:
        fields = mutate.fields_of(seed)

        assert b"".join(one.raw for one in fields) == seed
        assert (
            b"".join(mutate.field_of(one.number, one.kind, one.value) for one in fields)
            == seed
        )


@pytest.mark.parametrize(
    ("taken_kb", "told"),
    [((200 << 10) + 100, []), ((200 << 10) + 101, ["Large at engine.py:"])],
)
def test_too_much_memory_is_a_fault(
    monkeypatch: pytest.MonkeyPatch, taken_kb: int, told: list[str]
) -> None:
    """200 MB and twenty times the file are allowed: 100 kB for one of 5 kB. The process
    had 50 MB before.
    """
    peaks = iter((50 << 10, (50 << 10) + taken_kb))
    monkeypatch.setattr(engine, "_peak_kb", lambda: next(peaks))
    found: dict[str, tuple[str, bytes]] = {}
    watch = engine.Watch()
    try:
        engine.execute(lambda _: True, bytes(5 << 10), found, watch)
    finally:
        watch.stop()

    assert [one[: len("Large at engine.py:")] for one in found] == told


def test_a_hang_is_told_by_the_processors_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_LONGEST_S", 0.5)
    found: dict[str, tuple[str, bytes]] = {}
    watch = engine.Watch()

    def work(data: bytes) -> bool:
        while data:
            pass
        return True

    try:
        engine.execute(work, b"x", found, watch)
    finally:
        watch.stop()

    assert next(iter(found)).startswith("Hang at ")
