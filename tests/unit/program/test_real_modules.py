"""Modules of real traces: numbers that follow from the recorded programs' shapes by
hand.
"""

from __future__ import annotations

import pytest
import yaml
from support import hlo_builder as hlo
from support.places import FIXTURES
from support.shared_traces import FOLDER, needs_shared_traces

from tfadvisor.errors import TraceError
from tfadvisor.program.cost import Costs
from tfadvisor.program.exchanges import collectives
from tfadvisor.program.module import Module
from tfadvisor.program.modules_of_trace import Modules, find_modules
from tfadvisor.program.operations import location_of
from tfadvisor.program.parameters import arguments, parameter_summary
from tfadvisor.timeline.program_ops import find_instruction
from tfadvisor.trace.columns import HostTrace, Selection
from tfadvisor.trace.decode import decode_file

OPS = Selection({"hlo_op": None, "hlo_module": None, "program_id": None})
JAX = sorted(path.parent.name for path in FIXTURES.glob("jax-*/trace.xplane.pb.gz"))


def trace_of(fixture: str) -> HostTrace:
    return decode_file(FIXTURES / fixture / "trace.xplane.pb.gz", OPS)


def train_step(fixture: str) -> Module:
    return find_modules(trace_of(fixture)).named("jit_train_step")[0]


def products(*sizes: tuple[int, int, int]) -> int:
    """Flops of products m×k by k×n."""
    return sum(2 * m * k * n for m, k, n in sizes)


def test_flops_of_a_four_layer_step() -> None:
    """Batch 1024 through 512 → 1024 → 1024 → 1024 → 8: each product once forward, once
    for its weights' gradient and, but for the first, once for its input's gradient."""
    first, middle, last = (1024, 512, 1024), (1024, 1024, 1024), (1024, 1024, 8)

    cost = hlo.cost_of(train_step("jax-healthy"))

    matrix = products(*[first] * 2, *[middle] * 6, *[last] * 3)
    assert matrix == 15_082_717_184
    assert matrix < cost.flops < 1.001 * matrix
    assert not cost.unknown


def test_flops_of_a_two_layer_step() -> None:
    """Batch 1024 through 256 → 64 → 8."""
    cost = hlo.cost_of(train_step("jax-loader"))

    matrix = products(*[(1024, 256, 64)] * 2, *[(1024, 64, 8)] * 3)
    assert matrix < cost.flops < 1.01 * matrix


def test_flops_and_bytes_of_single_instructions() -> None:
    """`dot` is the gradient of the first weights: x, 1024 × 512, transposed, by 1024 ×
    1024.
    """
    module = train_step("jax-healthy")
    dot, fusion = (
        module.instruction("dot"),
        module.instruction("multiply_subtract_fusion"),
    )
    assert dot is not None
    assert fusion is not None
    costs = Costs()

    assert (costs.of(dot).flops, costs.of(dot).bytes) == (
        2 * 512 * 1024 * 1024,
        4 * (1024 * 512 + 1024 * 1024 + 512 * 1024),
    )
    assert (costs.of(fusion).flops, costs.of(fusion).bytes) == (
        2 * 1024 * 8,
        3 * 4 * 1024 * 8,
    )


def test_the_weights_are_the_floating_arguments_that_come_back() -> None:
    """Four weight matrices; the batch x, y does not come back. Nothing is donated in
    this program.
    """
    module = train_step("jax-healthy")
    elements = 512 * 1024 + 2 * 1024 * 1024 + 1024 * 8

    summary = parameter_summary(module)

    assert (summary.elements, summary.is_named) == (elements, True)
    assert [one.name for one in arguments(module)] == [
        *(f"params[{index}]" for index in range(4)),
        "x",
        "y",
    ]
    assert not any(one.donated for one in arguments(module))


@pytest.mark.parametrize("name", ["dot", "ynn_fusion.7", "dot.3", "ynn_fusion.4"])
def test_a_product_leads_to_the_line_that_multiplies(name: str) -> None:
    module = train_step("jax-healthy")
    instruction = module.instruction(name)
    assert instruction is not None
    program = (FIXTURES / "jax-healthy" / "program.py").read_text().splitlines()

    found = location_of(instruction)

    assert found is not None
    assert found.file == "program.py"
    assert found.frames[0].function == "loss_fn"
    assert " @ " in program[found.line - 1]


@pytest.mark.parametrize("fixture", JAX)
def test_every_op_of_every_jax_fixture_is_found_in_its_module(fixture: str) -> None:
    trace = trace_of(fixture)
    modules = find_modules(trace)
    events, programs = trace.stat("program_id").integers()
    program = dict(zip(events.tolist(), programs.tolist(), strict=True))
    ops, names = trace.stat("hlo_op"), trace.stat("hlo_module")
    name = dict(zip(*(values.tolist() for values in names.codes()), strict=True))
    seen = {
        (program[event], name[event], code)
        for event, code in zip(*map(list, ops.codes()), strict=True)
    }

    missing = [
        ops.texts[code]
        for one, module, code in seen
        if find_instruction(
            modules.of_program(one, names.texts[module]), ops.texts[code]
        )
        is None
    ]

    assert seen
    assert missing == []


@pytest.mark.parametrize("fixture", JAX)
def test_every_module_of_every_jax_fixture_answers(fixture: str) -> None:
    modules = find_modules(trace_of(fixture))

    for key in modules.keys:
        module = modules.open(key)
        assert module.name == key.name
        assert hlo.cost_of(module).bytes >= 0
        assert parameter_summary(module).elements >= 0


def with_planted_collectives() -> list[str]:
    truths = {
        name: yaml.safe_load((FIXTURES / name / "truth.yaml").read_text())
        for name in JAX
    }
    return [
        name for name, truth in truths.items() if "collective_bytes_per_step" in truth
    ]


@pytest.mark.parametrize("fixture", with_planted_collectives())
def test_planted_collectives_are_counted_with_their_bytes(fixture: str) -> None:
    truth = yaml.safe_load((FIXTURES / fixture / "truth.yaml").read_text())

    found = collectives(train_step(fixture))

    assert len(found) == truth["collectives_per_step"]
    assert sum(one.bytes for one in found) == truth["collective_bytes_per_step"]
    assert {(one.kind, one.dtype, one.group_size) for one in found} == {
        ("all-reduce", "f32", truth["devices"])
    }


def shared(part: str) -> Modules:
    (path, *_) = sorted(FOLDER.rglob(part))
    return find_modules(decode_file(path, Selection({})))


@needs_shared_traces
def test_library_products_of_an_amd_gpu() -> None:
    """A file that multiplies 256³, 1024³, 4096³, 8192×4096×8192, 2048×8192×2048 and
    16384×1024×4096 in hipBLASLt.
    """
    flops = sorted(
        hlo.cost_of(module).flops for module in shared("jax08_gemm/*").named("jit_dot")
    )

    sizes = [
        (256,) * 3,
        (1024,) * 3,
        (4096,) * 3,
        (8192, 4096, 8192),
        (2048, 8192, 2048),
        (16384, 1024, 4096),
    ]
    assert flops == sorted(products(size) for size in sizes)


@needs_shared_traces
def test_a_library_convolution_of_an_amd_gpu() -> None:
    (module,) = shared("jax_conv_minimal_08/*").named("jit_forward_3d_conv")

    assert hlo.cost_of(module).flops == 32_715_571_200


@needs_shared_traces
def test_an_all_reduce_of_a_tpu() -> None:
    """5 · 1024 · 1024 · 256 floats in pairs of chips."""
    modules = shared("*2cc1243f*")

    (found,) = collectives(modules.of_program(9646411105960254074, "jit__psum"))

    assert (found.bytes, found.group_size) == (5_368_709_120, 2)
    with pytest.raises(TraceError, match="carries no HLO of program 5"):
        modules.of_program(5)
