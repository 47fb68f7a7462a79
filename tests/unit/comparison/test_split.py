"""The split of a change adds up, and names the cause that is planted."""

from __future__ import annotations

import random

import pytest
from support.made_runs import op, side

from tfadvisor.comparison.ops import op_speed, weighted_median
from tfadvisor.comparison.side import KnownFinding, Side, error_of_median, hottest
from tfadvisor.comparison.split import compare_sides

OPS = [
    op(f"dot.{number}", 10.0, opcode="dot", flops=100 + number) for number in range(8)
]


def causes(base: Side, new: Side) -> list[tuple[str, str, float]]:
    found = compare_sides(base, new).causes
    return [
        (cause.class_name, cause.name, pytest.approx(cause.change_ms))
        for cause in found
    ]


def test_host_work_between_steps_is_one_cause() -> None:
    base, new = (
        side(100.0, ops=OPS),
        side(130.0, ops=OPS, classes={"host": 30.0, "compute": 100.0}),
    )

    assert causes(base, new) == [("host", "host", 30.0)]


def test_an_op_that_takes_longer() -> None:
    """80 ms of ops in 80 ms: the op's 15 ms are the step's."""
    slower = [op("dot.0", 25.0, opcode="dot", flops=100), *OPS[1:]]

    assert causes(side(80.0, ops=OPS), side(95.0, ops=slower)) == [
        ("compute", "dot.0", 15.0)
    ]


def test_new_ops_of_one_kind_are_told_together() -> None:
    more = [*OPS, *(op(f"wrapped_add.{number}", 2.0) for number in range(5))]
    comparison = compare_sides(side(80.0, ops=OPS), side(90.0, ops=more))

    (cause,) = comparison.causes
    assert cause.op is not None
    assert (cause.name, cause.op.number, cause.op.status) == ("wrapped_add", 5, "new")
    assert cause.change_ms == pytest.approx(10.0)


def test_an_op_that_is_gone() -> None:
    assert causes(side(80.0, ops=OPS), side(70.0, ops=OPS[1:])) == [
        ("compute", "dot.0", -10.0)
    ]


def test_ops_side_by_side_count_for_what_they_take_of_the_step() -> None:
    """Two at a time: 80 ms of ops in 40 ms, so 20 ms more of one op are 10 ms of the
    step.
    """
    slower = [op("dot.0", 30.0, opcode="dot", flops=100), *OPS[1:]]

    assert causes(side(40.0, ops=OPS), side(50.0, ops=slower)) == [
        ("compute", "dot.0", 10.0)
    ]


def test_ops_that_a_slower_machine_slows_alike_are_one_cause_and_lead_only_alone() -> (
    None
):
    """All eight ops take 20% longer, and the host works 30 ms more."""
    slower = [
        op(one.name, one.ms_per_step * 1.2, opcode="dot", flops=one.flops)
        for one in OPS
    ]

    assert causes(side(80.0, ops=OPS), side(96.0, ops=slower)) == [
        ("compute", "unchanged ops", 16.0)
    ]
    both = side(126.0, ops=slower, classes={"compute": 96.0, "host": 30.0})
    assert causes(side(80.0, ops=OPS), both) == [
        ("host", "host", 30.0),
        ("compute", "unchanged ops", 16.0),
    ]


def test_an_op_that_stands_out_from_a_slower_machine_is_told_by_itself() -> None:
    """Seven ops 20% slower, one three times: 2 ms each, and 20 ms."""
    slower = [
        op(
            one.name,
            one.ms_per_step * (3.0 if at == 4 else 1.2),
            opcode="dot",
            flops=one.flops,
        )
        for at, one in enumerate(OPS)
    ]

    assert causes(side(80.0, ops=OPS), side(114.0, ops=slower)) == [
        ("compute", "dot.4", 20.0),
        ("compute", "unchanged ops", 14.0),
    ]


def test_a_new_op_is_told_beside_the_unchanged_ones() -> None:
    more = [
        op(one.name, one.ms_per_step * 1.1, opcode="dot", flops=one.flops)
        for one in OPS
    ] + [op("sort", 12.0)]

    assert causes(side(80.0, ops=OPS), side(100.0, ops=more)) == [
        ("compute", "sort", 12.0),
        ("compute", "unchanged ops", 8.0),
    ]


def test_collectives_that_nothing_hides_any_more() -> None:
    """The same 40 ms of all-reduces; 10 of them were exposed, 30 are now."""
    ops = [*OPS, op("all-reduce.1", 40.0, kind="collective")]
    base = side(90.0, ops=ops, classes={"compute": 80.0, "collective": 10.0})
    new = side(110.0, ops=ops, classes={"compute": 80.0, "collective": 30.0})

    assert causes(base, new) == [("collective", "overlap", 20.0)]


def test_what_is_beyond_the_table_is_summed_up() -> None:
    base = side(100.0, ops=OPS, rest={"compute": 20.0})
    new = side(110.0, ops=OPS, rest={"compute": 30.0})

    assert causes(base, new) == [("compute", "other ops", 10.0)]


def test_a_class_without_ops_has_its_time_all_the_same() -> None:
    """A TensorFlow run whose copies are no ops of the table."""
    base = side(100.0, ops=OPS, classes={"transfer": 5.0})
    new = side(110.0, ops=OPS, classes={"transfer": 15.0})

    assert causes(base, new) == [("transfer", "overlap", 10.0)]


@pytest.mark.parametrize("seed", range(60))
def test_causes_add_up_to_the_change(seed: int) -> None:
    """Random classes and ops, with and without counterparts, in any overlap."""
    generator = random.Random(seed)

    def made() -> Side:
        kinds = ("compute", "collective", "h2d", "d2d", "infeed")
        ops = [
            op(
                f"{generator.choice('abc')}.{number}",
                generator.random() * 10,
                kind=generator.choice(kinds),
            )
            for number in range(generator.randrange(40))
        ]
        classes = {
            name: generator.random() * 30
            for name in ("compute", "collective", "transfer", "input", "host", "idle")
        }
        return side(
            sum(classes.values()),
            ops=ops,
            classes=classes,
            rest={"compute": generator.random()},
        )

    base, new = made(), made()
    comparison = compare_sides(base, new)

    assert sum(cause.change_ms for cause in comparison.causes) == pytest.approx(
        new.mean_ms - base.mean_ms, abs=1e-9
    )
    assert sum(one.change_ms for one in comparison.classes) == pytest.approx(
        new.mean_ms - base.mean_ms, abs=1e-9
    )
    assert abs(comparison.residual_ms) < 1e-9
    backwards = compare_sides(new, base)
    assert backwards.change_ms == pytest.approx(-comparison.change_ms)


def test_findings_that_changed_are_beside_it() -> None:
    late = KnownFinding(
        "input-loader-in-step",
        "input",
        "The loop loads its batch",
        "train.py:3 in load",
        "high",
    )
    base, new = side(100.0), side(120.0, findings=[late])

    comparison = compare_sides(base, new)

    assert [(one.rule_id, one.appeared) for one in comparison.findings] == [
        ("input-loader-in-step", True)
    ]
    assert [one.appeared for one in compare_sides(new, base).findings] == [False]


def test_a_machine_that_is_slower_throughout_is_told() -> None:
    slower = [
        op(one.name, one.ms_per_step * 1.5, opcode="dot", flops=one.flops)
        for one in OPS
    ]

    speed = compare_sides(side(80.0, ops=OPS), side(120.0, ops=slower)).speed

    assert speed is not None
    assert (speed.factor, speed.ops) == (pytest.approx(1.5), 8)


@pytest.mark.parametrize(
    "new",
    [
        OPS[:5],
        [*OPS[:6], op("huge", 900.0)],
        [
            op(
                one.name,
                10_000.0 if one.name == "dot.0" else 0.001,
                opcode="dot",
                flops=one.flops,
            )
            for one in OPS
        ],
    ],
    ids=["few ops", "little of the work", "one op decides"],
)
def test_where_ops_cannot_tell_the_machines_speed(new: list) -> None:
    assert compare_sides(side(80.0, ops=OPS), side(80.0, ops=new)).speed is None


def test_no_ops_at_all() -> None:
    assert op_speed([]) is None


def test_the_weighted_median() -> None:
    assert weighted_median([(3.0, 1.0), (1.0, 1.0), (2.0, 1.0)]) == 2.0
    assert weighted_median([(1.0, 1.0), (2.0, 1.0)]) == pytest.approx(1.5)
    assert weighted_median([(1.0, 1.0), (5.0, 98.0), (9.0, 1.0)]) == pytest.approx(5.0)


def test_the_error_of_a_median() -> None:
    """1…5: middle deviation 1, so 1.2533 · 1.4826 / √5; fewer than three values say
    nothing.
    """
    assert error_of_median([1, 2, 3, 4, 5]) == pytest.approx(1.2533 * 1.4826 / 5**0.5)
    assert error_of_median([1, 2]) is None


def test_the_hottest_ops_and_the_rest_by_class() -> None:
    ops = [
        op("a", 1.0),
        op("b", 5.0),
        op("c", 2.0, kind="h2d"),
        op("d", 0.5, kind="collective"),
    ]

    kept, rest = hottest(ops, {"compute": 3.0}, 1)

    assert [one.name for one in kept] == ["b"]
    assert rest == {"compute": 4.0, "transfer": 2.0, "collective": 0.5}
