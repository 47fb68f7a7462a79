"""What the loop asks for its next batch is asked ahead by a thread, so that making a batch and running a step overlap.

Only for iterables of Python: a tf.data pipeline has its prefetch.
"""

from __future__ import annotations

from typing import Any

import libcst as cst

from tfadvisor.repair.hits import Hit, Place
from tfadvisor.repair.reading.arguments import keyword, with_keyword
from tfadvisor.repair.reading.compiled import functions_named
from tfadvisor.repair.reading.loops import directly_in, step_loops
from tfadvisor.repair.reading.pipelines import is_pipeline
from tfadvisor.repair.reading.program import Change, Program, called, dotted, pairs, text_of, walk

HELPER = '''
def read_ahead(batches, depth=2):
    """Gives what `batches` gives, made by a thread while the loop works; what goes wrong there is raised here."""
    import queue
    import threading

    ready, end = queue.Queue(depth), object()

    def work():
        try:
            for batch in batches:
                ready.put((batch, None))
            ready.put((end, None))
        except BaseException as error:
            ready.put((end, error))

    threading.Thread(target=work, daemon=True).start()
    while True:
        batch, error = ready.get()
        if error is not None:
            raise error
        if batch is end:
            return
        yield batch
'''
OPENED = ", which may use the database's connection; nothing else may at the same time"
_READY = ("range", "list", "tuple", "sorted", "split", "zeros", "ones", "array", "asarray", "stack")
"""What gives its elements at once."""


def hits(program: Program, _place: Place) -> list[Hit]:
    """One for each iterable that a loop over steps reads."""
    found: dict[Any, Hit] = {}
    opened = open_to_threads(program)
    for loop in step_loops(program):
        for read in _read_by(loop):
            made = _where_made(program, read, loop)
            if made is None or made in found or is_pipeline(program, read) or "read_ahead" in text_of(made):
                continue
            first, last = program.lines(made)
            source = program.changed({made: _ahead, **opened}, helper=HELPER)
            did = f"{text_of(read)} read ahead by a thread{OPENED if opened else ''}"
            found[made] = Hit(first, last, did, source, _functions(made))
    return list(found.values())


def open_to_threads(program: Program) -> dict[cst.CSTNode, Change]:
    """SQLite refuses a connection to all threads but the one that opened it, unless an option says otherwise."""
    return {
        call: _for_all_threads
        for call in program.calls("connect")
        if dotted(call.func) == "sqlite3.connect" and keyword(call, "check_same_thread") is None
    }


def _for_all_threads(node: Any) -> Any:
    return with_keyword(node, "check_same_thread", "False")


def _read_by(loop: Any) -> list[Any]:
    """Names of what the loop is over, or asks with next()."""
    found: list[Any] = []
    if isinstance(loop, cst.For):
        over = loop.iter
        several = isinstance(over, cst.Call) and called(over) in ("enumerate", "zip")
        found += [arg.value for arg in over.args] if several else [over]
    found += [
        one.args[0].value
        for one in directly_in(loop)
        if isinstance(one, cst.Call) and called(one) == "next" and one.args
    ]
    return [one for one in found if isinstance(one, cst.Name)]


def _where_made(program: Program, read: Any, loop: Any) -> Any:
    """An iterator where it was made, since all that read it share it; what can be read anew, where this loop reads it."""
    values = [
        value for target, value in pairs(program) if text_of(target) == read.value and loop not in program.around(value)
    ]
    made = values[-1] if values else None
    by_next = isinstance(program.inside(read, cst.Call), cst.Call) and called(program.inside(read, cst.Call)) == "next"
    if made is None or not isinstance(made, cst.Call | cst.GeneratorExp):
        return None if by_next else _if_parameter(program, read, loop)
    if by_next or _is_iterator(program, made):
        return made
    return None if called(made) in _READY else read


def _if_parameter(program: Program, read: Any, loop: Any) -> Any:
    function = program.inside(loop, cst.FunctionDef)
    return (
        read if function is not None and any(one.name.value == read.value for one in function.params.params) else None
    )


def _is_iterator(program: Program, made: Any) -> bool:
    """A generator, the result of iter(), or an object that gives its own next element."""
    if isinstance(made, cst.GeneratorExp) or called(made) == "iter":
        return True
    if any(
        isinstance(one, cst.Yield) for function in functions_named(program, made.func) for one in walk(function.body)
    ):
        return True
    own = [one for one in program.all(cst.ClassDef) if one.name.value == called(made)]
    return any(
        isinstance(one, cst.FunctionDef) and one.name.value == "__next__" for each in own for one in each.body.body
    )


def _ahead(node: Any) -> Any:
    if isinstance(node, cst.Call) and called(node) == "iter":
        return node.with_changes(func=cst.Name("read_ahead"))
    return cst.Call(cst.Name("read_ahead"), [cst.Arg(node)])


def _functions(made: Any) -> tuple[str, ...]:
    """As a trace may name what makes the batch."""
    return (called(made), "__next__", "generate") if isinstance(made, cst.Call) else ("<genexpr>",)
