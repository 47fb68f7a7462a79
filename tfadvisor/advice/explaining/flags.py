"""What a flag of XLA or an environment variable does, and which versions read it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from tfadvisor.advice.explaining.explained import Known, Paragraph, first_sentence
from tfadvisor.advice.flags.advice import Danger, Variable, advice, variables
from tfadvisor.advice.flags.recorded import Table, recording
from tfadvisor.printable import cut, one_line

FLAG, VARIABLE = "flag", "environment variable"
_PREFIXES = ("xla_", "tf_xla_")
_LONGEST = 600
"""Characters of a flag's own help; some go on for a page."""


def is_flag_like(asked: str) -> bool:
    """Whether a text looks like a flag or a variable."""
    name = name_of(asked)
    return asked.startswith("--") or name.startswith(_PREFIXES) or name.isupper()


def name_of(asked: str) -> str:
    """`xla_dump_to` of `--xla_dump_to=x`."""
    return asked.strip().lstrip("-").partition("=")[0]


def flag_names() -> list[str]:
    """Of every flag and variable, sorted."""
    names = set(variables())
    for table in recording().tables:
        names |= set(table.periods)
    return sorted(names)


def flags(asked: str) -> Iterator[Known]:
    """The flag or variable of this name."""
    name = name_of(asked)
    tables = [table for table in recording().tables if name in table.periods]
    if tables:
        title = first_sentence(_help(tables[-1], name))
        yield Known((f"--{name}",), FLAG, title, partial(_about_flag, name, tables))

    variable = variables().get(name)
    if variable is not None:
        title = first_sentence(variable.about)
        yield Known((name,), VARIABLE, title, partial(_about_variable, variable))


def _help(table: Table, name: str) -> str:
    newest = table.periods[name][-1][1]
    flag = table.flag(name, newest)
    return one_line(flag.about) if flag is not None else ""


def _about_flag(name: str, tables: list[Table]) -> tuple[Paragraph, ...]:
    found = [
        Paragraph(cut(_help(tables[-1], name) or "No help is recorded.", _LONGEST))
    ]
    for table in tables:
        found.append(Paragraph(_versions(table, name)))
    for rename in advice().renames:
        if rename.old == name:
            found.append(Paragraph(f"Its name today: --{rename.new}."))
    why, source = advice().gone.get(name, ("", ""))
    if why:
        found.append(Paragraph(f"{why} {source}".strip()))
    found += _dangers(advice().dangers.get(name, ()))
    found.append(Paragraph("`tfadvisor flags check FLAGS` checks it beside others."))
    return tuple(found)


def _dangers(dangers: Iterable[Danger]) -> Iterator[Paragraph]:
    for danger in dangers:
        values = " or ".join(danger.values or ())
        label = f"{danger.level}, {values}" if values else danger.level
        yield Paragraph(f"{label}: {danger.text}", indent=2)


def _versions(table: Table, name: str) -> str:
    """`Read from XLA_FLAGS by jaxlib 0.4.30 to 0.10.2; there bool, default true.`"""
    periods = table.periods[name]
    first, last = periods[0][0], periods[-1][1]
    flag = table.flag(name, last)
    kind = flag.kind if flag is not None else ""
    default = flag.default if flag is not None and flag.default else "empty"
    until = f"{first} to {last}" if first != last else first
    return (
        f"Read from {table.variable} by {table.title} {until}; in {last} a {kind}, "
        f"default {default}."
    )


def _about_variable(variable: Variable) -> tuple[Paragraph, ...]:
    found = [Paragraph(variable.about), Paragraph(f"Read by {variable.owner}.")]
    if variable.values:
        found.append(Paragraph(f"Values: {', '.join(variable.values)}."))
    if variable.default is not None:
        found.append(Paragraph(f"Default: {variable.default or 'empty'}."))
    if variable.gone:
        found.append(Paragraph(variable.gone))
    if variable.renamed:
        found.append(Paragraph(f"Its name today: {variable.renamed}."))
    found += _dangers(variable.dangers)
    if variable.source:
        found.append(Paragraph(f"Source: {variable.source}"))
    return tuple(found)
