"""The options of `analyze` that decide what is measured, for the commands that measure in order to compare."""

from __future__ import annotations

from pathlib import Path

from tfadvisor.cli.arguments import Parser, gigabytes_per_second, parameter_count, step_range


def add_reading_options(parser: Parser) -> None:
    """As a group of their own."""
    group = parser.add_argument_group("what to analyse")
    group.add_argument("--run", metavar="NAME", help="the run instead of the newest")
    group.add_argument("--host", metavar="NAME", help="only this host of the run")
    group.add_argument("--steps", type=step_range, metavar="A:B", help="only steps A up to but not B, counted from 0")
    group.add_argument("--params", type=parameter_count, metavar="N", help="model parameters, as 110M or 6.7B")
    group.add_argument("--bandwidth", type=gigabytes_per_second, metavar="GB/S", help="bandwidth between devices")
    group.add_argument(
        "--rules",
        type=Path,
        action="append",
        default=[],
        metavar="DIR",
        help="a folder with more rules; may be repeated",
    )


def add_identity_options(parser: Parser) -> None:
    """Which baseline a run belongs to."""
    group = parser.add_argument_group("which baseline")
    group.add_argument("--model", metavar="NAME", help="the model, where a store holds several (default)")
    group.add_argument(
        "--label",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="what else must be alike to compare, as batch=256 or precision=bf16; may be repeated",
    )
    group.add_argument(
        "--config", type=Path, metavar="FILE", help="tfadvisor.toml or pyproject.toml instead of the nearest one"
    )
