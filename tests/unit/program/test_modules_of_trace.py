"""Which modules a trace carries, and how events lead to them."""

from __future__ import annotations

import pytest
from support import hlo_builder as hlo

from tfadvisor.errors import TraceError
from tfadvisor.program.modules_of_trace import Modules, find_modules
from tfadvisor.trace import compiled_decoder, messages, twin
from tfadvisor.trace.columns import Selection
from tfadvisor.trace.source import Source

BODY = hlo.computation(1, hlo.op(1, "constant", "s32[]"))
LARGE = 12190760917235803885  # a TPU's fingerprint, above 2**63


@pytest.fixture(params=[compiled_decoder, twin], ids=["compiled", "twin"])
def modules(request):
    def of(
        *programs: tuple[int, str, bytes],
        stat: bytes = b"Hlo Proto",
        plane: bytes = b"/host:metadata",
    ) -> Modules:
        space = messages.XSpace()
        made = space.planes.add(name=plane)
        made.stat_metadata[1].name = stat
        for one, name, data in programs:
            entry = made.event_metadata[one]
            entry.id, entry.name = one, name.encode()
            if data:
                entry.stats.add(metadata_id=1).bytes_value = data
        written = space.SerializeToString()
        source = Source("run/host.xplane.pb", memoryview(written), len(written))
        return find_modules(request.param.decode(source, Selection({})))

    return of


def test_a_module_is_found_by_program_and_by_name(modules) -> None:
    found = modules((5, "jit_step(5)", hlo.module(BODY, name="jit_step", one=5)))

    module = found.of_program(5)

    assert [(key.name, key.program_id) for key in found.keys] == [("jit_step", 5)]
    assert module.name == "jit_step"
    assert found.named("jit_step") == (module,)


def test_a_function_compiled_for_two_shapes_is_two_modules(modules) -> None:
    """By program id."""
    larger = hlo.computation(1, hlo.op(1, "constant", "s32[8]"))
    found = modules(
        (9, "jit_step(9)", hlo.module(larger)), (4, "jit_step(4)", hlo.module(BODY))
    )

    assert [module.entry.root.shape.dims for module in found.named("jit_step")] == [
        (),
        (8,),
    ]


def test_program_ids_are_unsigned_whatever_sign_the_event_gives_them(modules) -> None:
    found = modules((LARGE - 2**64, f"jit_f({LARGE})", hlo.module(BODY)))

    assert found.of_program(LARGE - 2**64) is found.of_program(LARGE)


def test_programs_of_one_id_are_told_apart_by_name(modules) -> None:
    found = modules(
        (1, "jit_a(7)", hlo.module(BODY, name="a")),
        (2, "jit_b(7)", hlo.module(BODY, name="b")),
    )

    assert found.of_program(7, "jit_b").name == "b"


def test_a_name_without_an_id_takes_that_of_its_metadata(modules) -> None:
    found = modules((3, "main", hlo.module(BODY)), (4, "SYMBOL_MAP:1", b""))

    assert [(key.name, key.program_id) for key in found.keys] == [("main", 3)]


def test_the_older_spelling_of_the_stat_is_known(modules) -> None:
    assert (
        modules((5, "jit_step(5)", hlo.module(BODY)), stat=b"hlo_proto")
        .of_program(5)
        .entry.id
        == 1
    )


def test_other_planes_carry_no_modules(modules) -> None:
    assert modules((5, "jit_step(5)", hlo.module(BODY)), plane=b"/host:CPU").keys == ()


def test_a_trace_without_hlo_says_so(modules) -> None:
    found = modules()

    for question in (lambda: found.of_program(5), lambda: found.named("x")):
        with pytest.raises(
            TraceError,
            match=r"run/host.xplane.pb: the trace carries no HLO of .*jit_compile",
        ):
            question()


def test_a_damaged_module_leaves_the_others_readable(modules) -> None:
    whole = hlo.module(BODY)
    found = modules(
        (5, "jit_bad(5)", whole[:-3]),
        (6, "jit_good(6)", whole),
        (7, "jit_empty(7)", b""),
    )

    assert found.of_program(6).entry.id == 1
    for _ in range(2):
        with pytest.raises(
            TraceError, match=r"HLO of jit_bad\(5\): byte [\d,]+ of [\d,]+: .*damaged"
        ):
            found.of_program(5)
    with pytest.raises(TraceError, match=r"no HLO of jit_empty\(7\)"):
        found.of_program(7)
