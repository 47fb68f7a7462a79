"""Typer's commands with what ours add: examples that stay lines, and what was meant by
a wrong word.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import takewhile
from typing import Any, ClassVar, get_type_hints

import typer
from typer.core import HAS_RICH, TyperCommand, TyperGroup

from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError

_MARKUP = re.compile(r"(\[[a-z#/@][^[]*?])")
"""What rich takes for a style."""


def option(
    flags: str, metavar: str, help: str, panel: str | None = None, **more: Any
) -> Any:
    """An option of Typer. flags: with blanks between; metavar: "" for what takes no
    value. Files are looked at later.
    """
    return typer.Option(
        *flags.split(),
        metavar=metavar or None,
        help=help,
        rich_help_panel=panel,
        readable=False,
        **more,
    )


def argument(metavar: str, help: str, **more: Any) -> Any:
    """An argument of Typer, of which help shows no default."""
    return typer.Argument(
        metavar=metavar, help=help, show_default=False, readable=False, **more
    )


def takes(
    group: type, names: str = ""
) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Gives a command the options that a group's fields declare, all or those named, in
    place of its parameter of that type.

    One of those named that the command declares itself stays as it is there, and fills
    the group's field as well.
    """

    def decorated(command: Callable[..., int]) -> Callable[..., int]:
        own = inspect.signature(command, eval_str=True).parameters
        place = next(
            parameter.name
            for parameter in own.values()
            if parameter.annotation is group
        )
        fields = inspect.signature(group).parameters
        kinds = get_type_hints(group, include_extras=True)
        shared = names.split() or list(fields)
        parameters: list[inspect.Parameter] = []
        for declared in own.values():
            if declared.name != place:
                parameters.append(declared.replace(kind=declared.KEYWORD_ONLY))
                continue
            parameters += [
                fields[name].replace(kind=declared.KEYWORD_ONLY, annotation=kinds[name])
                for name in shared
                if name not in own
            ]

        def run(**given: Any) -> int:
            asked = group(**{name: given[name] for name in shared})
            return command(
                **{name: value for name, value in given.items() if name in own},
                **{place: asked},
            )

        run.__doc__, run.__name__ = command.__doc__, command.__name__
        run.__annotations__ = {
            parameter.name: parameter.annotation for parameter in parameters
        }
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return decorated


def spread(command: Any, context: Any, args: Sequence[str], flag: str) -> list[str]:
    """`--flag a b` as `--flag a --flag b`, up to the next option. A program's own words
    stay as they are: those after `--` and, where a command takes a program, from its
    first word on.
    """
    takes_value = _taking_values(command)
    given: list[str] = []
    words = list(args)
    while words:
        word = words[0]
        is_free = _is_value(word) and not context.allow_interspersed_args
        if word == "--" or is_free:
            return given + words

        given.append(words.pop(0))
        if word == flag:
            values = list(takewhile(_is_value, words))
            del words[: len(values)]
            given += values[:1]
            for value in values[1:]:
                given += [flag, value]
        elif word in takes_value:
            given += words[:1]
            del words[:1]
    return given


def _taking_values(command: Any) -> set[str]:
    """The options of a command that take a value."""
    found: set[str] = set()
    for param in command.params:
        if not getattr(param, "is_flag", True):
            found.update(param.opts)
    return found


def _is_value(word: str) -> bool:
    return not word.startswith("-")


class _WithExamples:
    """A command whose epilog, examples and exit codes, is printed as it is written."""

    def __init__(
        self,
        *arguments: Any,
        epilog: str | None = None,
        help: str | None = None,
        **settings: Any,
    ) -> None:
        """As Typer's, which would make one paragraph of an epilog's lines, and keep
        those of a paragraph of help.
        """
        super().__init__(*arguments, help=_paragraphs(help), **settings)  # type: ignore[call-arg]
        self.examples = epilog

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Rich prints at once; without it the formatter collects."""
        with _literal(self):
            super().format_help(ctx, formatter)  # type: ignore[misc]
        _print_examples(self.examples, formatter)


class Command(_WithExamples, TyperCommand):
    """A command."""


class Commands(_WithExamples, TyperGroup):
    """A group of commands, which says what was meant by one that it does not have."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names. Raises UsageError for none."""
        known = self.list_commands(ctx)
        if (
            args[0] not in known
            and not args[0].startswith("-")
            and not ctx.resilient_parsing
        ):
            raise UsageError(
                f"no command is called {args[0]}.{did_you_mean(args[0], known)} Try "
                f"'{ctx.command_path} --help'."
            )
        return super().resolve_command(ctx, args)


class LazyCommands(Commands):
    """The top group: a command's module is imported when the command is asked for, or
    all of them for --help.

    modules: names of commands, in the order of --help, and of modules whose `app` each
    is.
    """

    modules: ClassVar[Mapping[str, str]]
    first: ClassVar[Sequence[str]] = ()
    """Commands that --help shows first; the others stand below `More`."""
    default = "analyze"
    """The command that a path in place of a command is for."""

    def list_commands(self, ctx: Any) -> list[str]:
        """In the order of --help."""
        return list(self.modules)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """None for one that there is not."""
        if cmd_name not in self.modules:
            return None
        module = importlib.import_module(self.modules[cmd_name])
        command: Any = typer.main.get_command(module.app)
        command.name = cmd_name
        command.rich_help_panel = None if cmd_name in self.first else "More"
        return command

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Nothing at all asks for help, and a path alone is to be analysed."""
        if not args and not ctx.resilient_parsing:
            args = ["--help"]
        elif args and args[0] not in self.modules and _is_path(args[0]):
            args = [self.default, *args]
        return super().parse_args(ctx, args)


def _is_path(text: str) -> bool:
    if text.startswith("-"):
        return False
    return (
        "/" in text
        or os.sep in text
        or text.endswith((".pb", ".pb.gz"))
        or os.path.exists(text)  # noqa: PTH110
    )


def _paragraphs(help: str | None) -> str | None:
    """Each paragraph on one line, to be wrapped as wide as the terminal is."""
    return help and "\n\n".join(" ".join(part.split()) for part in help.split("\n\n"))


@contextmanager
def _literal(command: Any) -> Iterator[None]:
    """While rich prints a help, square brackets in it are text: rich would take
    `[rules]` for a style, and drop it.
    """
    texts = [
        (param, param.help)
        for param in (command, *command.params)
        if HAS_RICH and hasattr(param, "help")
    ]
    for documented, text in texts:
        documented.help = text and _MARKUP.sub(r"\\\1", text)
    try:
        yield
    finally:
        for documented, text in texts:
            documented.help = text


def _print_examples(examples: str | None, formatter: Any) -> None:
    if not examples:
        return
    if formatter.getvalue():  # rich is switched off
        formatter.write(f"\n{examples}\n")
        return
    from rich.console import Console
    from rich.text import Text

    text = Text(examples)
    text.highlight_regex(r"(?m)^\w[^:\n]*:", "bold")
    Console(highlight=False).print(text, soft_wrap=True)


# What Typer says about wrong use, as one line in our words.


# Typer brings Click's errors along inside itself since 0.26 and takes them from Click
# before; BadParameter is the one that it exports, and their base is UsageError in both.
WrongUse: Any = typer.BadParameter.__mro__[1]
"""Every error of Typer about a command line."""


def words_of(error: Any) -> str:
    """One line, with the option that was meant where one is near, and where to
    read on.
    """
    context = error.ctx
    where = context.command_path if context is not None else "tfadvisor"
    option = getattr(error, "option_name", None)
    if option is not None and hasattr(error, "possibilities"):
        known = (
            [
                flag
                for param in context.command.get_params(context)
                for flag in param.opts
            ]
            if context
            else []
        )
        said = f"no option is called {option}.{did_you_mean(option, known)}"
    else:
        said = " ".join(error.format_message().split())
    said = said.rstrip(".")
    return f"{said}{'' if said.endswith('?') else '.'} Try '{where} --help'."
