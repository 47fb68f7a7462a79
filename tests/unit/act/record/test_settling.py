"""When a program has settled, by what its processes told; times in seconds."""

from __future__ import annotations

from support.told_processes import process

from tfadvisor.act.record.answers import names_of
from tfadvisor.act.record.settling import Patience, settled


def names(found: list[object]) -> list[str]:
    return [one.name for one in found]  # type: ignore[attr-defined]


def test_nothing_is_settled_before_the_first_compilation() -> None:
    assert settled([process("a", jax=0.0)], 0.3, now=100.0) == []


def test_a_process_is_settled_when_it_has_been_quiet_for_long_enough() -> None:
    trains = process("a", jax=0.0, compiled_at=5.0)

    assert settled([trains], 0.3, now=5.2) == []
    assert names(settled([trains], 0.3, now=5.4)) == ["a"]


def test_all_wait_for_the_one_that_compiles() -> None:
    early, late = (
        process("a", jax=0.0, compiled_at=5.0),
        process("b", jax=0.0, compiled_at=9.0),
    )

    assert settled([early, late], 1.0, now=9.5) == []
    assert names(settled([early, late], 1.0, now=10.5)) == ["a", "b"]


def test_tensorflow_may_never_compile_and_jax_always_does() -> None:
    eager, loader = process("a", tensorflow=0.0), process("b", jax=0.0)

    assert settled([eager, loader], 0.3, now=9.0) == []
    assert names(settled([eager, loader], 0.3, now=11.0)) == ["a"]


def test_a_forked_process_that_does_nothing_is_left_alone() -> None:
    assert settled([process("a", tensorflow=0.0, forked=True)], 0.3, now=60.0) == []


def test_those_that_have_left_or_failed_are_not_waited_for() -> None:
    gone = process("a", jax=0.0, compiled_at=9.9, left=True)
    broken = process("b", jax=0.0, compiled_at=9.9, error="RuntimeError: no")
    trains = process("c", jax=0.0, compiled_at=5.0)

    assert names(settled([gone, broken, trains], 1.0, now=10.0)) == ["c"]


def waited(*compiled: tuple[float, int]) -> tuple[float, float] | None:
    """(when, seconds of a window) it is ready, asked at these times of a process that
    compiles just then, so many in all.
    """
    patience = Patience(0.3)
    for now, number in compiled:
        found = patience.ready(
            [process("a", tensorflow=0.0, compiled_at=now, compiled=number)], now
        )
        if found is not None:
            return now, found.seconds
    return None


def test_one_whose_every_step_compiles_is_ready_after_ten_seconds() -> None:
    """20 in the ten seconds: six of them take three."""
    assert waited((5.0, 10), (14.9, 29), (15.0, 30), (16.0, 31)) == (15.0, 3.0)


def test_where_each_takes_long_four_are_waited_for() -> None:
    """Three in ten seconds, the fourth after sixteen: six of them take 24."""
    assert waited((5.0, 10), (15.0, 13), (21.0, 14)) == (21.0, 24.0)


def test_one_long_compilation_is_waited_for() -> None:
    assert waited((5.0, 10), (15.0, 10), (300.0, 11)) is None


def test_a_process_that_compiled_much_and_then_waits_hides_no_other() -> None:
    """Which compiles five times in ten seconds."""
    patience = Patience(0.3)
    waits = process("a", tensorflow=0.0, compiled_at=1.0, compiled=300)

    for now, compiled, expected in ((5.0, 2, None), (15.0, 7, 12.0)):
        trains = process("b", tensorflow=0.0, compiled_at=now, compiled=compiled)
        found = patience.ready([waits, trains], now)
        assert (found and found.seconds) == expected


def test_one_that_settles_is_ready_at_once() -> None:
    patience = Patience(0.3)
    busy = process("a", tensorflow=0.0, compiled_at=5.0, compiled=30)

    assert patience.ready([busy], 5.1) is None
    found = patience.ready([busy], 5.4)
    assert found is not None
    assert (names(found.processes), found.seconds) == (["a"], 0.0)


def test_a_trace_is_named_after_its_host_and_numbered_where_several_share_one() -> None:
    found = [
        process("y", host="one", pid=9),
        process("x", host="one", pid=7),
        process("z", host="two", pid=1),
    ]

    assert names_of(found) == {"x": "one-0", "y": "one-1", "z": "two"}
