"""What a hook does on its lines, and how it does that for each hundredth batch alone,
in the program's own code.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

from tfadvisor.causes.called import FileNames, last_name
from tfadvisor.causes.hooks import Hook
from tfadvisor.causes.walked import calls_in, covers
from tfadvisor.patterns import pattern
from tfadvisor.printable import cut

EVERY = 100
"""Batches."""
_WIDEST = 88
_ENDS = ast.Return | ast.Continue | ast.Break

_DOES = (
    (
        "draws or encodes pictures",
        pattern(
            r"(?:keras|tensorflow\.keras)\.(?:preprocessing\.image|utils)\."
            r"(?:save_img|array_to_img)|(?:PIL|imageio|matplotlib|seaborn)\..*"
            r"|cv2\.im(?:write|encode)|skimage\.io\..*"
            r"|tensorflow\.(?:io\.encode_(?:png|jpeg)|summary\.image)"
            r"|.*\.(?:savefig|imshow|imsave|imwrite|add_images?|add_figure|fromarray)"
        ),
    ),
    (
        "makes histograms",
        pattern(
            r"(?:numpy|jax\.numpy|tensorflow\.summary)\.histogram.*|.*\.add_histogram"
        ),
    ),
    ("predicts with the model", pattern(r".*\.predict(?:_on_batch)?")),
    ("evaluates the model", pattern(r".*\.(?:evaluate|test_on_batch)")),
    (
        "saves",
        pattern(
            r".*\.(?:save|save_weights|save_model|savez\w*|to_bytes|to_csv|to_json)"
            r"|(?:numpy\.save\w*|pickle\.dumps?|joblib\.dump|json\.dumps?)"
        ),
    ),
    (
        "logs",
        pattern(
            r"(?:wandb|mlflow|logging|tensorboardX)\..*|tensorflow\.summary\.\w+"
            r"|.*\.(?:add_scalars?|log|log_metrics?|info|debug|write|writerow|flush)"
        ),
    ),
    ("prints", pattern(r"print")),
    ("computes scores", pattern(r"sklearn\.metrics\..*")),
    ("copies weights to the host", pattern(r".*\.get_weights")),
    ("runs the model", pattern(r"self\.model|.*\.apply")),
)
"""The first that holds of a call: by its path, else as it is written."""


class HookEdit(NamedTuple):
    """Code without its common indent."""

    words: str
    """That nothing of it comes back, or what may, and how often is enough."""
    before: str
    after: str


def done_on(hook: Hook, file: str, line: int) -> str:
    """What the hook does on a line, or calls there: `draws or encodes pictures`; ""
    for unknown.
    """
    for parsed, function in ((hook.parsed, hook.function), *hook.called):
        if parsed.file == file and covers(function, line):
            calls = [call for call in calls_in(function) if covers(call, line)]
            written = [_written(parsed.names, call) for call in calls]
            return next(
                (words for words, of in _DOES if any(map(of.fullmatch, written))), ""
            )
    return ""


def _written(names: FileNames, call: ast.Call) -> str:
    called = names.called(call)
    return called.path or called.words or last_name(call)


def runs_seldom(hook: Hook, line: int) -> bool:
    """Whether what stands on a line of the hook may run for some of the batches alone:
    under a comparison or a remainder, or behind a return under one.
    """
    for node in ast.walk(hook.function):
        if not isinstance(node, ast.If) or not _compares(node.test):
            continue
        is_behind = node.lineno < line and any(
            isinstance(inner, _ENDS) for inner in node.body
        )
        if covers(node, line) or is_behind:
            return True
    return False


def _compares(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Mod | ast.Compare) for node in ast.walk(test))


def _asks_remainder(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Mod) for node in ast.walk(test))


def every_nth(hook: Hook, lines: Sequence[int]) -> HookEdit | None:
    """The statements of a hook on these lines, with what only they need, under a
    condition; None where its code gives no number of batches to ask, or where what it
    counts would be counted less often.
    """
    body = _without_words(hook.function.body)
    asked = [at for at, each in enumerate(body) if any(covers(each, x) for x in lines)]
    if not asked:
        return None
    last = max(asked)
    reader = _only_reader(body, min(asked), last)
    first, last = _block(body, min(asked), last, reader)
    if any(map(_counts, body[first : last + 1])):
        return None
    if reader is not None:
        return _moved(hook, body, first, last, reader)
    counter = hook.counter or _own_counter(hook)
    return _shown(hook, body, first, last, counter) if counter else None


def _block(
    body: list[ast.stmt], first: int, last: int, reader: ast.If | None
) -> tuple[int, int]:
    """The first and the last of the statements that go with these."""
    while reader is None and last + 1 < len(body) and _needed_after(body, first, last):
        last += 1
    while first and _is_only_for(body, first - 1, last, reader):
        first -= 1
    return first, last


def _only_reader(body: list[ast.stmt], first: int, last: int) -> ast.If | None:
    """The statement behind these, under a condition on a remainder, that alone reads
    what they make, where they do nothing else; None for none.
    """
    block, rest = body[first : last + 1], body[last + 1 :]
    made = set[str]().union(*map(_stored, block))
    readers = [each for each in rest if _read(each) & made]
    only = readers[0] if len(readers) == 1 else None
    if not isinstance(only, ast.If) or only.orelse or not _asks_remainder(only.test):
        return None
    is_plain = all(isinstance(each, ast.Assign) for each in block)
    return only if is_plain and not _read(only.test) & made else None


def _without_words(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_words = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if is_words else body


def _needed_after(body: list[ast.stmt], first: int, last: int) -> bool:
    """Whether what follows reads what these statements make, or they leave before."""
    block, rest = body[first : last + 1], body[last + 1 :]
    leaves = any(isinstance(node, _ENDS) for each in block for node in ast.walk(each))
    made = set[str]().union(*map(_stored, block))
    return leaves or any(_read(each) & made for each in rest)


def _is_only_for(
    body: list[ast.stmt], at: int, last: int, reader: ast.stmt | None
) -> bool:
    """Whether a statement only makes what those behind it up to the last read, or the
    one that reads what they make.
    """
    made = _stored(body[at])
    rest = [each for each in body[last + 1 :] if each is not reader]
    inside = body[at + 1 : last + 1] + ([] if reader is None else [reader])
    behind = set[str]().union(*map(_read, inside))
    after = set[str]().union(*map(_read, rest))
    is_plain = isinstance(body[at], ast.Assign | ast.AnnAssign)
    return is_plain and bool(made) and made <= behind and not made & after


def _counts(statement: ast.stmt) -> bool:
    """Whether it counts in an attribute."""
    return any(
        isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute)
        for node in ast.walk(statement)
    )


def _stored(node: ast.AST) -> set[str]:
    return _names(node, ast.Store)


def _read(node: ast.AST) -> set[str]:
    return _names(node, ast.Load)


def _names(node: ast.AST, kind: type[ast.expr_context]) -> set[str]:
    return {
        inner.id
        for inner in ast.walk(node)
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, kind)
    }


def _own_counter(hook: Hook) -> str:
    """Of a method that is given no number: one that it keeps."""
    return "self.batches" if hook.owner else ""


def _shown(
    hook: Hook, body: list[ast.stmt], first: int, last: int, counter: str
) -> HookEdit:
    lines = hook.parsed.lines
    head = lines[hook.function.lineno - 1].strip()
    dots = ["    ..."]
    above = dots if first else []
    below = dots if last + 1 < len(body) else []
    block = _lines_of(lines, body[first : last + 1])
    own = [] if hook.counter else [f"    {counter} += 1            # 0 in __init__"]
    condition = f"    if {counter} % {EVERY} == 0:"
    indented = [f"    {line}" for line in block]
    return HookEdit(
        _words(hook),
        "\n".join([head, *above, *block, *below]),
        "\n".join([head, *own, *above, condition, *indented, *below]),
    )


def _moved(
    hook: Hook, body: list[ast.stmt], first: int, last: int, reader: ast.If
) -> HookEdit:
    """Below the condition of what alone reads it."""
    lines = hook.parsed.lines
    block, condition = _lines_of(lines, body[first : last + 1]), _line_of(lines, reader)
    inner = f"    {_line_of(lines, reader.body[0])}"
    words = (
        f"What that makes is read under `{ast.unparse(reader.test)}` alone: make it "
        "there."
    )
    return HookEdit(
        words,
        "\n".join([*block, condition, inner]),
        "\n".join([condition, *(f"    {line}" for line in block), inner]),
    )


def _words(hook: Hook) -> str:
    doubt = hook.effects.doubt
    begin = (
        f"Does a step need what `{doubt}` changes? If not, do it"
        if doubt
        else f"{_capital(hook.by)} takes nothing back of it, and by the source it "
        "changes nothing that a step reads: do it"
    )
    epochs = ", or move it to on_epoch_end, once an epoch" if hook.has_epochs else ""
    return (
        f"{begin} for each {EVERY}th batch, which leaves a hundredth of its "
        f"time{epochs}."
    )


def _capital(words: str) -> str:
    """`fit` stays as it is written."""
    return words if words == "fit" else f"{words[:1].upper()}{words[1:]}"


def _lines_of(lines: Sequence[str], block: list[ast.stmt]) -> list[str]:
    """The first and the last statement, indented once; of a long one its first line."""
    shown = [_line_of(lines, block[0])]
    if len(block) == 2:
        shown.append(_line_of(lines, block[1]))
    elif len(block) > 2:
        shown += ["    ...", _line_of(lines, block[-1])]
    return shown


def _line_of(lines: Sequence[str], statement: ast.stmt) -> str:
    text = textwrap.dedent(lines[statement.lineno - 1].expandtabs(4))
    is_whole = isinstance(statement, ast.If)
    is_long = (statement.end_lineno or 0) > statement.lineno and not is_whole
    return f"    {cut(text, _WIDEST)}{' ...' if is_long else ''}"
