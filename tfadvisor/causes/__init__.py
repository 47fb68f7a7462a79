"""What the time at each place is spent on, and how often, by what lies inside."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tfadvisor.causes.account import (
        FIRST_BATCH,
        FIRST_STEP,
        FREEING,
        GRAPH,
        LONG_PAUSES,
        LONG_STAYS,
        PREDICTS,
        STEPS,
        WAITING,
        PipelinePython,
        RunAccount,
        RunDone,
        RunPart,
        RunPlace,
        RunShare,
    )
    from tfadvisor.causes.cause import OPS_ONE_BY_ONE, Cause, Done
    from tfadvisor.causes.compilable import HostWork
    from tfadvisor.causes.compiled_again import CompiledAgain
    from tfadvisor.causes.costly_calls import CostlyCall, MadeCall, Where
    from tfadvisor.causes.eager_ops import EagerOps
    from tfadvisor.causes.frozen import Frozen
    from tfadvisor.causes.growing import Growing
    from tfadvisor.causes.indexed import Indexed
    from tfadvisor.causes.made_anew import MadeAnew
    from tfadvisor.causes.of_activities import causes_of, ties_of
    from tfadvisor.causes.of_samples import NoAccount, account_of
    from tfadvisor.causes.one_after_another import OneAfterAnother
    from tfadvisor.causes.picture_order import PictureOrder
    from tfadvisor.causes.pipeline_maps import PipelineGenerator, PipelineMap
    from tfadvisor.causes.program_source import ProgramSource, Tie
    from tfadvisor.causes.read_each_round import ReadEachRound
    from tfadvisor.causes.rounds import Rounds
    from tfadvisor.causes.row_by_row import RowByRow
    from tfadvisor.causes.unrolled_loops import UnrolledLoop
    from tfadvisor.causes.whole_for_one import WholeForOne
    from tfadvisor.causes.witness import Signature
else:
    from tfadvisor.face import face

    __getattr__ = face(
        __name__,
        {
            "OPS_ONE_BY_ONE": "cause",
            "Cause": "cause",
            "Done": "cause",
            "CostlyCall": "costly_calls",
            "CompiledAgain": "compiled_again",
            "Frozen": "frozen",
            "Growing": "growing",
            "EagerOps": "eager_ops",
            "HostWork": "compilable",
            "Indexed": "indexed",
            "MadeAnew": "made_anew",
            "MadeCall": "costly_calls",
            "NoAccount": "of_samples",
            "OneAfterAnother": "one_after_another",
            "GRAPH": "account",
            "PictureOrder": "picture_order",
            "PipelineGenerator": "pipeline_maps",
            "PipelineMap": "pipeline_maps",
            "PipelinePython": "account",
            "ProgramSource": "program_source",
            "ReadEachRound": "read_each_round",
            "Rounds": "rounds",
            "RowByRow": "row_by_row",
            "RunAccount": "account",
            "RunDone": "account",
            "RunPart": "account",
            "RunPlace": "account",
            "RunShare": "account",
            "Tie": "program_source",
            "UnrolledLoop": "unrolled_loops",
            "WholeForOne": "whole_for_one",
            "Signature": "witness",
            "Where": "costly_calls",
            "FREEING": "account",
            "FIRST_BATCH": "account",
            "FIRST_STEP": "account",
            "LONG_PAUSES": "account",
            "LONG_STAYS": "account",
            "PREDICTS": "account",
            "STEPS": "account",
            "WAITING": "account",
            "account_of": "of_samples",
            "causes_of": "of_activities",
            "ties_of": "of_activities",
        },
    )

__all__ = [
    "FIRST_BATCH",
    "FIRST_STEP",
    "FREEING",
    "GRAPH",
    "LONG_PAUSES",
    "LONG_STAYS",
    "OPS_ONE_BY_ONE",
    "PREDICTS",
    "STEPS",
    "WAITING",
    "Cause",
    "CompiledAgain",
    "CostlyCall",
    "Done",
    "EagerOps",
    "Frozen",
    "Growing",
    "HostWork",
    "Indexed",
    "MadeAnew",
    "MadeCall",
    "NoAccount",
    "OneAfterAnother",
    "PictureOrder",
    "PipelineGenerator",
    "PipelineMap",
    "PipelinePython",
    "ProgramSource",
    "ReadEachRound",
    "Rounds",
    "RowByRow",
    "RunAccount",
    "RunDone",
    "RunPart",
    "RunPlace",
    "RunShare",
    "Signature",
    "Tie",
    "UnrolledLoop",
    "Where",
    "WholeForOne",
    "account_of",
    "causes_of",
    "ties_of",
]
