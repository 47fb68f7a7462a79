"""Where an instruction comes from, told by its metadata or its stack."""

from __future__ import annotations

from support import hlo_builder as hlo

from tfadvisor.program.flow import Users
from tfadvisor.program.module import Frame, Module
from tfadvisor.program.operations import location_near, location_of

FRAMES = hlo.stack_frames(
    ("env/site-packages/flax/linen.py", 90, "Dense.__call__", 2),
    ("train.py", 12, "loss_fn", 3),
    ("train.py", 40, "main", 0),
)


def located(metadata: bytes, *, frames: bytes = b""):
    body = hlo.computation(1, hlo.op(1, "constant", "s32[]", metadata=metadata))
    return location_of(Module(hlo.module(body, extra=frames)).entry.root)


def test_the_metadata_names_file_and_line_itself() -> None:
    found = located(hlo.metadata("jit(step)/add", "train.py", 42))

    assert found is not None
    assert (found.op_name, found.file, found.line, found.frames) == (
        "jit(step)/add",
        "train.py",
        42,
        (),
    )


def test_a_stack_frame_leads_to_the_users_own_line() -> None:
    """The innermost frame is a library's; the one around it is the user's."""
    found = located(hlo.metadata("jit(step)/dot_general", frame=1), frames=FRAMES)

    assert found is not None
    assert (found.file, found.line, found.is_installed) == ("train.py", 12, False)
    assert [frame.function for frame in found.frames] == [
        "Dense.__call__",
        "loss_fn",
        "main",
    ]
    assert found.frames[2] == Frame("train.py", 40, "main")


def test_with_libraries_only_the_innermost_frame_is_the_place() -> None:
    frames = hlo.stack_frames(
        ("a/dist-packages/b.py", 3, "f", 2), ("a/dist-packages/c.py", 4, "g", 0)
    )

    found = located(hlo.metadata(frame=1), frames=frames)

    assert found is not None
    assert (found.file, found.line, found.is_installed) == (
        "a/dist-packages/b.py",
        3,
        True,
    )


def test_without_any_trace_of_the_source_there_is_no_location() -> None:
    assert located(b"") is None
    assert located(hlo.metadata(frame=9), frames=FRAMES) is None


def test_an_op_name_alone_is_a_location_without_a_place() -> None:
    found = located(hlo.metadata("jit(step)/mul"))

    assert found is not None
    assert (found.op_name, found.file, found.line) == ("jit(step)/mul", "", 0)


def test_frames_that_call_each_other_in_a_circle_come_to_an_end() -> None:
    frames = hlo.stack_frames(("a.py", 1, "f", 2), ("b.py", 2, "g", 1))

    found = located(hlo.metadata(frame=1), frames=frames)

    assert found is not None
    assert len(found.frames) == 256


def test_a_fusion_without_metadata_is_located_by_its_result() -> None:
    inner = hlo.computation(
        2, hlo.op(21, "constant", "f32[]", metadata=hlo.metadata("mul", "train.py", 7))
    )
    main = hlo.computation(
        1, hlo.op(1, "fusion", "f32[]", calls=[2]), hlo.op(2, "negate", "f32[]", 1)
    )
    module = Module(hlo.module(inner, main))

    found = location_of(module.entry.instructions[0])

    assert found is not None
    assert (found.file, found.line) == ("train.py", 7)
    assert location_of(module.entry.root) is None


def test_a_fusion_that_calls_itself_has_no_location() -> None:
    main = hlo.computation(1, hlo.op(1, "fusion", "f32[]", calls=[1]))

    assert location_of(Module(hlo.module(main)).entry.root) is None


def test_what_the_compiler_made_stands_where_its_neighbours_do() -> None:
    """A cumulative sum became a pad and a window without metadata; who uses it was
    written on line 31.
    """
    computation = Module(
        hlo.module(
            hlo.computation(
                1,
                hlo.op(
                    1, "parameter", "f32[8]", metadata=hlo.metadata("x", "other.py", 3)
                ),
                hlo.op(2, "pad", "f32[8]", 1, name="pad"),
                hlo.op(3, "reduce-window", "f32[8]", 2, name="window"),
                hlo.op(
                    4,
                    "multiply",
                    "f32[8]",
                    3,
                    3,
                    metadata=hlo.metadata("jit(step)/mul", "train.py", 31),
                ),
            )
        )
    ).entry
    pad = next(one for one in computation.instructions if one.name == "pad")
    found = location_near(pad, Users(computation).by_id)

    assert found is not None
    assert (found.op_name, found.file, found.line) == ("", "train.py", 31)
    assert location_near(computation.instructions[2], {}) is None


def fused(*body: bytes, metadata: bytes = b"") -> Module:
    """A program that is one fusion of these instructions."""
    inner = hlo.computation(2, *body)
    call = hlo.op(1, "fusion", "f32[8]", calls=[2], metadata=metadata)
    return Module(hlo.module(inner, hlo.computation(1, call)))


def test_a_sum_that_the_compiler_rewrote_stands_where_what_it_sums_does() -> None:
    """The reduction has no metadata, the product that it reduces line 32."""
    located_product = hlo.metadata("jit(step)/mul", "train.py", 32)
    module = fused(
        hlo.op(21, "parameter", "f32[8,4]"),
        hlo.op(22, "multiply", "f32[8,4]", 21, 21, metadata=located_product),
        hlo.op(23, "reduce", "f32[8]", 22),
    )

    found = location_of(module.entry.root)

    assert found is not None
    assert (found.op_name, found.file, found.line) == ("jit(step)/mul", "train.py", 32)


def test_where_nothing_behind_the_result_names_a_line_most_inside_decide() -> None:
    """An update writes a value of line 9 into a buffer, at an index of line 5: of the
    instructions two name line 9, one line 5.
    """
    index = hlo.metadata("jit(step)/add", "train.py", 5)
    value = hlo.metadata("jit(step)/mul", "train.py", 9)
    module = fused(
        hlo.op(21, "parameter", "f32[8]"),
        hlo.op(22, "add", "s32[]", metadata=index),
        hlo.op(23, "multiply", "f32[1]", metadata=value),
        hlo.op(24, "negate", "f32[1]", 23, metadata=value),
        hlo.op(25, "dynamic-update-slice", "f32[8]", 21, 24, 22),
    )

    found = location_of(module.entry.root)

    assert found is not None
    assert (found.file, found.line) == ("train.py", 9)


def test_the_name_of_an_argument_is_no_path_and_a_path_is_kept() -> None:
    """XLA names a conversion of an argument for the argument."""
    inner = hlo.op(
        21, "convert", "f32[8]", metadata=hlo.metadata("jit(step)/mul", "train.py", 9)
    )
    of_argument = location_of(
        fused(inner, metadata=hlo.metadata("params['w']")).entry.root
    )
    of_path = location_of(
        fused(inner, metadata=hlo.metadata("jit(step)/dense")).entry.root
    )

    assert of_argument is not None
    assert of_path is not None
    assert (of_argument.op_name, of_argument.line) == ("jit(step)/mul", 9)
    assert (of_path.op_name, of_path.line) == ("jit(step)/dense", 9)


def test_a_convolution_without_metadata_is_where_its_kernel_is_turned() -> None:
    """`jnp.convolve` on line 30; what uses its result is a fusion whose own result is
    written on line 25.
    """
    turned = "jit(render)/jit(convolve)/jit(_flip)/rev"
    body = hlo.computation(
        2,
        hlo.op(21, "parameter", "f32[8]"),
        hlo.op(22, "slice", "f32[8]", 21, metadata=hlo.metadata("a/s", "train.py", 31)),
        hlo.op(23, "abs", "f32[8]", 22, metadata=hlo.metadata("a/abs", "train.py", 25)),
    )
    for path, line in ((turned, 30), ("jit(render)/rev", 31)):
        entry = hlo.computation(
            1,
            hlo.op(1, "parameter", "f32[8]"),
            hlo.op(
                2, "reverse", "f32[8]", 1, metadata=hlo.metadata(path, "train.py", 30)
            ),
            hlo.op(3, "convolution", "f32[8]", 1, 2, name="convolution"),
            hlo.op(4, "fusion", "f32[8]", 3, calls=[2]),
        )
        module = Module(hlo.module(body, entry))
        convolution = module.instruction("convolution")
        assert convolution is not None
        found = location_near(convolution, Users(module.entry).by_id)

        assert found is not None
        assert (found.op_name, found.line) == ("", line)
