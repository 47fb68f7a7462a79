"""Pages to look at: of built traces, and one far larger than any fixture."""

from __future__ import annotations

import tempfile
from pathlib import Path

from msgspec.structs import replace

from support.trace_builder import TraceBuilder
from tfadvisor.analysis import Options, draw_run
from tfadvisor.report.forms.page_data import PageData
from tfadvisor.report.model import Op, StepInfo
from tfadvisor.trace.runs import choose_run


def page_of(builder: TraceBuilder) -> PageData:
    """What the page of a built trace draws."""
    with tempfile.TemporaryDirectory() as folder:
        builder.write(Path(folder) / "run")
        return page_of_folder(Path(folder) / "run")


def page_of_folder(folder: Path) -> PageData:
    """The same of a recorded one."""
    return draw_run(choose_run([folder], None, None)[0], Options())


def enlarged(page: PageData, steps: int, ops: int) -> PageData:
    """The same page with as many steps and ops, each a little different."""
    step, each = page.report.steps.each[0], []
    for index in range(steps):
        duration = 5 + (index * 7919 % 100) / 50 + (40 if index % 997 == 500 else 0)
        each.append(
            StepInfo(
                index,
                f"train {index}",
                step.host,
                index * 6.0,
                duration,
                step.breakdown,
            )
        )
    report = replace(
        page.report, steps=replace(page.report.steps, each=tuple(each), count=steps)
    )
    return replace(page, report=report, ops=tuple(_op(index) for index in range(ops)))


def _op(index: int) -> Op:
    return Op(
        op=f"fusion.{index}",
        kernel=f"loop_multiply_fusion_{index % 977}_kernel_of_some_length",
        module=f"jit_train_step_{index % 7}",
        kind=("compute", "compute", "compute", "collective", "h2d")[index % 5],
        share=1 / (index + 10),
        ms_per_step=10 / (index + 1),
        count_per_step=1 + index % 13,
        precision=("16 bit", "32 bit", "unknown")[index % 3],
        opcode="fusion",
        flops=index * 1000,
        bytes=index * 4096,
        file="train.py",
        line=index,
    )
