"""What of a run is no step: by samples of the whole program, else by a clock around its
loop. Each part is a finding as large as its share of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from tfadvisor.advice.findings import OUTSIDE, Evidence, Finding, Fix, Location, Verdict
from tfadvisor.advice.measured import Measured
from tfadvisor.advice.op_by_op import cure_of
from tfadvisor.causes import (
    FIRST_BATCH,
    FIRST_STEP,
    FREEING,
    GRAPH,
    LONG_PAUSES,
    LONG_STAYS,
    PREDICTS,
    WAITING,
    RunAccount,
    RunPart,
    RunShare,
)
from tfadvisor.patterns import pattern
from tfadvisor.units import duration, percent
from tfadvisor.vocabulary import Severity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tfadvisor.causes import (
        CompiledAgain,
        EagerOps,
        Growing,
        MadeCall,
        OneAfterAnother,
        ProgramSource,
        RowByRow,
        RunPlace,
        UnrolledLoop,
    )

MADE_ANEW = "a compiled function that is made anew in each call"
LARGE_OUTSIDE = 0.1
"""Of the run: from here on a run is not healthy, whatever its steps are."""
_WORTH_A_FINDING = 0.03
_NAMES_THE_RUN = 0.15
_MOST_PLACES = 3
_SOME, _MUCH, _MOSTLY = 0.1, 0.3, 0.5
"""Of a part's time."""
_MUCH_ONCE, _LONG_ONCE_SECONDS = 0.2, 3.0
"""Of the run so far, and at least, that what compiles once takes to be a finding."""
_IN_NO_STEP = "It is in no ordinary step: no share of the step counts it."


class Outside(msgspec.Struct, frozen=True):
    """A part of a run that is no step."""

    share: float
    """Of the run, 0..1."""
    title: str
    how: str
    """How that is known, in a sentence."""
    seen: str
    category: str
    places: tuple[Location, ...]
    proof: str
    """shown by samples, or measured by a clock."""
    fix: Fix | None
    in_steps: bool = False
    """Whether it is a part of steps all the same, as what each of many fast steps
    does."""
    once: bool = False
    """Whether it came once: of a longer run it is a smaller share."""

    def _capped(self, severity: Severity) -> Severity:
        is_less = severity.rank < Severity.MEDIUM.rank
        return severity if is_less or not self.once else Severity.MEDIUM

    def finding(self, severity: Severity) -> Finding:
        """It is in no step, so that it saves nothing of one."""
        return Finding(
            rule_id=OUTSIDE,
            category=self.category,
            severity=self._capped(severity),
            title=self.title,
            summary=self.how if self.in_steps else f"{self.how} {_IN_NO_STEP}",
            evidence=(Evidence(None, "outside the steps", self.seen, "text"),),
            saving=None,
            fixes=() if self.fix is None else (self.fix,),
            locations=self.places,
            source=(),
            caveat="",
            proof=self.proof,
            takes=self.share,
        )


def covers_all_of(outside: Sequence[Outside], finding: Finding, share: float) -> bool:
    """Whether a part of the run is the Python that a finding saw in a few steps: on its
    line, and as large. share: of the run, which that Python takes.
    """
    if finding.category != "host" or not finding.few_steps:
        return False
    lines = {(place.file, place.line) for place in finding.locations}
    return any(
        part.category == "host"
        and not part.in_steps
        and part.share >= share
        and any((place.file, place.line) in lines for place in part.places[:1])
        for part in outside
    )


def outside_of(
    account: RunAccount | None,
    measured: Measured | None,
    framework: str = "",
    source: ProgramSource | None = None,
) -> tuple[Outside, ...]:
    """The largest first; of what came once there is nothing to do less often, but for
    a loop that is compiled round by round.
    framework: of the run, "" for unknown. source: the program's own files, None where
    they are not known.
    """
    if account is not None:
        unrolled = _unrolled_once(account, source)
        account = account.lasting
        beside = [
            _with_what_is_new(
                _by_its_source(_by_samples(part, account), part, framework, source),
                part,
                source,
            )
            for part in account.outside
            if part.fraction >= _WORTH_A_FINDING and _is_known(part)
        ]
        found = [
            *beside,
            *unrolled,
            *_predicted_in_steps(account, source),
            *_graphs_in_steps(account, source),
            *_compiled_in_steps(account, framework, source),
            *_op_by_op_in_steps(account, framework, source),
        ]
        found = [_of_a_hook(part, source) for part in found]
        return tuple(sorted(found, key=lambda part: -part.share))
    if measured is None or measured.between < LARGE_OUTSIDE:
        return ()
    share = percent(measured.between)
    return (
        Outside(
            share=measured.between,
            title=f"{share} of the time passes between turns of the loop at "
            f"{measured.loop}",
            how="By the program's clock, without the profiler, which waits for the "
            "devices before and behind.",
            seen=share,
            category="host",
            places=(),
            proof="measured",
            fix=None,
        ),
    )


def _of_a_hook(found: Outside, source: ProgramSource | None) -> Outside:
    """With how a callback of the program does it less often, where its first line is
    of one that nothing comes back from.
    """
    if source is None or not found.places or found.category not in ("host", "launch"):
        return found
    file, line = found.places[0].file, found.places[0].line or 0
    hook = source.hook_at(file, line)
    edit = None if hook is None else source.hook_edit(hook, [(file, line)])
    if hook is None or edit is None:
        return found
    fix = Fix(
        "code",
        f"It is in {hook.words}. {edit.words}",
        edit.after,
        {},
        "any framework",
        "What it shows, saves or keeps comes less often.",
        cures="work after every batch that the step does not need",
        before=edit.before,
    )
    return replace(found, fix=fix)


def _unrolled_once(account: RunAccount, source: ProgramSource | None) -> list[Outside]:
    """What compiled once for much of the run so far, where the source shows that its
    function goes through a Python loop of many rounds.
    """
    found = []
    for part in account.outside:
        is_much = part.fraction >= _MUCH_ONCE and part.seconds >= _LONG_ONCE_SECONDS
        place = next(iter(part.places), None)
        if part.kind != "compile" or part.turns != 1 or not is_much or place is None:
            continue
        loop = None if source is None else source.unrolled_on(place.file, place.line)
        if loop is not None:
            known = _by_samples(replace(part, turns=None), account)
            found.append(
                replace(
                    known,
                    title=f"{percent(part.fraction)} of the run so far is compiling a "
                    f"Python loop round by round ({loop.file}:{loop.line})",
                    how=f"{known.how} It came once: a longer run has no more of it.",
                    places=(
                        Location(loop.file, loop.line, loop.function),
                        *known.places,
                    ),
                    fix=_as_one_loop(loop),
                    in_steps=False,
                    once=True,
                )
            )
    return found


def _as_one_loop(loop: UnrolledLoop) -> Fix:
    return Fix(
        "code",
        f"{loop.words}. {loop.change}",
        loop.after,
        {},
        "any JAX" if loop.is_jax else "any TensorFlow 2",
        loop.cost,
        cures="a Python loop that puts each round into the program",
        before=loop.before,
    )


def _predicted_in_steps(
    account: RunAccount, source: ProgramSource | None
) -> list[Outside]:
    """Keras' predict on a line of the program that a training loop comes to, as in a
    callback after each batch or some; where the loop does nothing else, if the calls
    mostly build their pipelines.
    """
    statements = account.parts[0].statements if account.parts else ()
    predicted = sum(part.fraction for part in statements if part.kind == PREDICTS)
    # of a library's loop only the lines that it calls back are statements
    is_all = predicted > (1 - _SOME) * (account.parts[0].fraction if statements else 0)
    within = " within the loop" if is_all else " within the training loop"
    return [
        _of_a_model(_by_samples(part, account, within), part, source)
        for part in statements
        if part.kind == PREDICTS
        and part.fraction >= _WORTH_A_FINDING
        and (not is_all or _share_of(part, "building") >= _MOSTLY)
    ]


def _graphs_in_steps(
    account: RunAccount, source: ProgramSource | None
) -> list[Outside]:
    """A line of the loop that mostly builds a graph of TensorFlow: each round does."""
    statements = account.parts[0].statements if account.parts else ()
    return [
        _of_a_graph(_by_samples(part, account, " within the loop"), part, source)
        for part in statements
        if part.kind == GRAPH and part.fraction >= LARGE_OUTSIDE
    ]


def _of_a_graph(found: Outside, part: RunPart, source: ProgramSource | None) -> Outside:
    """With the function that builds it, where the source shows one."""
    place = next(iter(part.places), None)
    if part.kind != GRAPH or place is None:
        return found
    title = (
        f"{percent(part.fraction)} of the run is {place.file}:{place.line}, mostly "
        "building a graph anew"
    )
    inside = [at.line for inner in part.parts for at in inner.places]
    lines = list(dict.fromkeys([place.line, *inside]))
    anew = None
    if source is not None:
        anew = source.graph_anew(place.file, lines)
        made = None if anew else _traced_again(source, place.file, lines)
        if made is not None or (anew is None and not source.mentions(_SESSION)):
            fix = _COMPILE_SELDOM if made is None else _make_once(made)
            return replace(found, title=title, fix=fix)
    fix = _BUILD_ONCE
    if anew is not None:
        fix = replace(
            fix, do=f"{anew.words}. {fix.do}", before=anew.before, snippet=anew.once
        )
    return replace(found, title=title, fix=fix)


def _traced_again(
    source: ProgramSource, file: str, lines: Sequence[int]
) -> CompiledAgain | None:
    """A tf.function that one of the lines traces, made anew each time."""
    found = (source.compiled_again(file, line) for line in lines)
    return next(filter(None, found), None)


def _compiled_in_steps(
    account: RunAccount, framework: str, source: ProgramSource | None
) -> list[Outside]:
    """What the statements of the loop compile, where most steps do."""
    statements = account.parts[0].statements if account.parts else ()
    found = []
    for compiles in (inner for part in statements for inner in part.parts):
        if compiles.kind == "compile" and compiles.fraction >= _WORTH_A_FINDING:
            part = RunPart(
                compiles.what,
                compiles.kind,
                compiles.fraction,
                compiles.seconds,
                compiles.seen,
                compiles.places,
            )
            outside = _by_samples(part, account, " within the loop")
            known = _with_its_compiler(outside, part, framework, source)
            found.append(_of_a_model(known, part, source))
    return found


def _op_by_op_in_steps(
    account: RunAccount, framework: str, source: ProgramSource | None
) -> list[Outside]:
    """A statement of the loop in which Python runs ops one by one; a finding about the
    launches of each step says the same better.
    """
    statements = account.parts[0].statements if account.parts else ()
    if not statements:
        return []
    within = (*account.parts[0].places[:1], *account.ops_within)
    found: dict[str, tuple[RunPart, Fix]] = {}
    for part in statements:
        is_most = part.op_by_op >= _MOSTLY * part.fraction
        if is_most and part.op_by_op >= _WORTH_A_FINDING and part.kind == "other":
            eager = _eager_ops(part.ops_at, within, framework, source)
            fix = _COMPILE_THE_CALL if eager is None else cure_of(eager)
            ops = _only_ops(part, account)
            # lines of one loop, or that one edit mends, are one part
            key = ops.what if eager is None else eager.before.partition("\n")[0]
            known, cure = found.get(key, (None, fix))
            found[key] = (ops if known is None else _with_ops(known, ops), cure)
    return [
        replace(
            _by_samples(ops, account, " within the loop"),
            title=_op_by_op_title(ops),
            category="launch",
            fix=fix,
        )
        for ops, fix in found.values()
        if ops.fraction >= LARGE_OUTSIDE
    ]


def _only_ops(part: RunPart, account: RunAccount) -> RunPart:
    return replace(
        part,
        fraction=part.op_by_op,
        seconds=part.op_by_op * account.seconds,
        seen=round(part.seen * part.op_by_op / part.fraction),
    )


def _with_ops(part: RunPart, other: RunPart) -> RunPart:
    """Of two lines, the larger first."""
    return replace(
        part,
        fraction=part.fraction + other.fraction,
        seconds=part.seconds + other.seconds,
        seen=part.seen + other.seen,
        places=(*part.places, *other.places)[:_MOST_PLACES],
    )


def _op_by_op_title(part: RunPart) -> str:
    place = next((f" ({at.file}:{at.line})" for at in part.places), "")
    return f"{percent(part.fraction)} of the run is ops one by one{place}"


def _is_known(part: RunPart) -> bool:
    """Whether a library's function says what it does, or one of the program's own has a
    name. A line of the loop where neither is seen, or that waits for the devices, may
    wait for the steps.
    """
    if part.what == WAITING or part.turns == 1:
        return False
    lines = [f"{place.file}:{place.line}" for place in part.places]
    return part.kind != "other" or (bool(lines) and part.what not in lines)


def part_words(part: RunShare) -> str:
    """`evaluate (train.py:84)`; a part that is named by its line is not named twice."""
    what = f"the {part.what}" if part.what.endswith(" of each epoch") else part.what
    if not part.places:
        return what
    place = f"{part.places[0].file}:{part.places[0].line}"
    return what if place in what else f"{what} ({place})"


def _by_samples(part: RunPart, account: RunAccount, within: str = "") -> Outside:
    """within: where in the steps it is, "" for outside of them."""
    took, whole = (duration(1000 * span.seconds) for span in (part, account))
    times = ""
    if part.turns:
        each = duration(1000 * part.seconds / part.turns)
        times = f", {part.turns:,} times, {each} each"
    fills = f" Where an iterator begins, it fills {part.fills}." if part.fills else ""
    return Outside(
        share=part.fraction,
        title=f"{percent(part.fraction)} of the run is {part_words(part)}"
        f"{_mostly_does(part)}",
        how=f"{took} of the {whole} since the {account.since}{times}{within}, by "
        f"samples of the main thread.{fills}",
        seen=f"{part.seen:,} of {account.samples:,} samples",
        category=_CATEGORIES.get(part.kind, "host"),
        places=tuple(
            Location(place.file, place.line, place.function) for place in part.places
        ),
        proof="shown",
        fix=_fix_of(part),
        in_steps=bool(within) or part.turns is None,
    )


_CATEGORIES = {"input": "input", "compile": "compile", "loading": "input"}
_MOSTLY_DOES = {
    "loading": ", mostly reading files",
    "pictures": ", mostly drawing or encoding pictures",
}
"""Of a part that is named for the program's function."""


_BUILDS_ANEW = ", mostly building an input pipeline for each call"


def _mostly_does(part: RunPart) -> str:
    """In words after its name; "" where that says it."""
    if part.kind == PREDICTS and _share_of(part, "building") >= _MOSTLY:
        return _BUILDS_ANEW
    return _MOSTLY_DOES.get(part.kind, "") if _has_name(part) else ""


def _has_name(part: RunPart) -> bool:
    return part.what.isidentifier()


def _code(do: str, side_effect: str) -> Fix:
    return Fix("code", do, "", {}, "", side_effect)


_LESS_OFTEN = _code(
    "Do it less often, or with less data.", "what it tells or keeps comes less often"
)
_SAVE_LESS = _code(
    "Save less often, or less; or hand a copy of what is saved to another thread, "
    "which writes it while the steps go on.",
    "a program that ends in between loses more steps, and the copy takes memory",
)
_ASK_HOW_OFTEN = _code(
    "Is it needed so often? If not, do it less often, or with less data.",
    "what it tells or keeps comes less often",
)
_BEGIN_ONCE = _code(
    "Keep one input pipeline through all epochs where that can be, so that what it "
    "does before its first batch, as starting workers or filling buffers, happens "
    "once. Does a shuffle buffer fill with what a costly map() made? Then shuffle "
    "before it, or cache() behind it.",
    "",
)
_COMPILE_ONCE = _code(
    "Make the compiled function once, outside of what is called again and again, and "
    "call it with the same shapes.",
    "",
)
_COMPILE_SELDOM = Fix(
    "code",
    "It compiles again and again: for each new shape of an argument, for each new "
    "Python number, or since the function is made anew. Which of them is it? Pad to a "
    "few sizes; pass numbers as arrays; make the function once, outside of what is "
    "called again and again.",
    "tokens = np.pad(tokens, (0, size - len(tokens)))       # one of a few sizes",
    {},
    "any TensorFlow 2 or JAX",
    "What is padded is computed, too, and may need a mask.",
    cures="a function that compiles for each size, number or call",
    before="predict(tokens)                # each length is traced anew",
)
_ANY_LENGTH = (
    "any_length = tf.TensorSpec([None, None], tf.int32)\n"
    "@tf.function(input_signature=[any_length])             # traced once, or\n"
)
"""In TensorFlow alone."""
_COMPILE_THE_CALL = _code(
    "Python runs it op by op: put what is computed for a batch into one compiled "
    "function (tf.function, jax.jit), or do it less often.",
    "it is traced anew for another shape: pad the last batch, or drop it",
)
_COMPILE_THE_MODEL = Fix(
    "code",
    "predict runs the model's ops one by one, as Keras does where run_eagerly=True or "
    "tf.config.run_functions_eagerly(True) asks for it: let it compile them. Does it "
    "get a few rows at a time? Then predict on all rows in one call.",
    "model.compile(optimizer, loss, run_eagerly=False)\n"
    "scores = model.predict(rows, verbose=0)            # one call",
    {},
    "any TensorFlow 2",
    "What Python in the model's layers prints or counts, it does once, when it is "
    "traced.",
    cures="a model that predict runs op by op",
    before="model.compile(optimizer, loss, run_eagerly=True)\n"
    "for row in rows:\n    scores.append(model.predict(row[None], verbose=0))",
)
_ASK_WHAT_FILLS = _code(
    "The samples do not show what happens then. Does a shuffle buffer or a "
    "cache fill, as at the beginning of each epoch? Then shuffle before the costly "
    "map(), where elements are small, or with a smaller buffer.",
    "a smaller buffer shuffles less well",
)
_REPEAT = Fix(
    "code",
    "Freeing an iterator waits for tf.data's own threads. Does each epoch make one of "
    "a dataset that ends? Then let one go on through all epochs.",
    "model.fit(dataset.repeat(), steps_per_epoch=steps, epochs=epochs)",
    {},
    "any TensorFlow 2",
    "An epoch is a number of steps then, and a shuffle mixes across its end.",
    cures="an iterator for each epoch",
    before="model.fit(dataset, epochs=epochs)",
)
_SHUFFLE_FIRST = Fix(
    "code",
    "Shuffle where elements are small, as file names or indexes are, and map() behind "
    "it; or repeat before the shuffle, so that its buffer fills once.",
    "dataset = dataset.shuffle(n).map(load, num_parallel_calls=tf.data.AUTOTUNE)\n"
    "# or dataset.map(load).repeat().shuffle(n), with a number of steps an epoch",
    {},
    "any TensorFlow 2",
    "After repeat() an epoch mixes with the next at its end.",
    cures="a shuffle buffer that fills with costly elements again and again",
    before="dataset = dataset.map(load).shuffle(n)",
)
_PREDICT_AT_ONCE = Fix(
    "code",
    "Predict on all rows in one call; where they come a few at a time, call the model "
    "on the batch itself. Each call of predict builds an input pipeline of its own.",
    "scores = model.predict(rows, verbose=0)            # one call\n"
    "scores = model.predict_on_batch(few_rows)         # no pipeline",
    {},
    "any TensorFlow 2",
    "One call holds the results of all rows in memory.",
    cures="a pipeline that Keras builds for each call of predict or evaluate",
    before="for row in rows:\n    scores.append(model.predict(row[None], verbose=0))",
)
_PREDICT = pattern(r"\.predict\(")
_SESSION = pattern(r"[Ss]ession|placeholder|\bv1\b")
"""In a program of TensorFlow 1; a tf.function builds its graphs without."""
_BUILD_ONCE = Fix(
    "code",
    "Build the graph once, with placeholders for what differs between calls (None for "
    "sizes), keep its session, and only run that in each call.",
    "outputs = model(inputs)                # once, with its placeholders and session\n"
    "result = session.run(outputs, {inputs: batch})        # in each call",
    {},
    "TensorFlow 1, and tf.compat.v1",
    "A graph that is kept takes its memory all the time.",
    cures="a graph that is built anew in each call",
    before="for batch in batches:\n    result = session.run(model(batch))",
)
_PICTURES = _code(
    "Hand the array to another process, which draws and encodes it while the steps go "
    "on (for Pillow a thread does), with less compression (compress_level=1 for a "
    "PNG). Or, where not each picture is needed, write each Nth.",
    "pictures come later, or less often; larger files",
)
_BY_NAME: dict[str, Fix | None] = {
    FIRST_BATCH: _BEGIN_ONCE,
    FIRST_STEP: _BEGIN_ONCE,
    FREEING: _REPEAT,
    LONG_PAUSES: _ASK_WHAT_FILLS,
    LONG_STAYS: None,
}
_SOMETIMES = ("evaluation", "logging")
_OFTEN = 4
"""A program of several stages compiles in fewer turns."""


def _fix_of(part: RunPart) -> Fix | None:
    if _is_much(part, "building") or _is_freed_by_predict(part):
        return _PREDICT_AT_ONCE
    if part.kind == "compile" or _is_much(part, "compile"):
        again = (part.turns or _OFTEN) >= _OFTEN
        return _COMPILE_SELDOM if again else _COMPILE_ONCE
    if part.fills and part.what != LONG_PAUSES:
        return _SHUFFLE_FIRST
    if part.what in _BY_NAME:
        return _BY_NAME[part.what]
    if part.op_by_op >= _MUCH * part.fraction:
        return _COMPILE_THE_MODEL if part.kind == PREDICTS else _COMPILE_THE_CALL
    return _of_kind(part)


def _is_freed_by_predict(part: RunPart) -> bool:
    calls = (_PREDICT.search(place.text) for place in part.places)
    return part.what == FREEING and any(calls)


def _load_ahead(part: RunPart) -> Fix:
    """The program's names, where a function of its own loads."""
    load = part.what if _has_name(part) and part.what[:2] != "__" else "load"
    return Fix(
        "code",
        f"Does what {load} reads depend on the steps? If not, read the next piece on a "
        "thread while the steps use this one: reads and decompression release Python's "
        "global lock, Python that decodes needs a process. Keep in memory what is read "
        "again, as in each epoch.",
        f"ahead = executor.submit({load}, pieces[0])     "
        "# concurrent.futures.ThreadPoolExecutor(1)\n"
        "for following in [*pieces[1:], pieces[0]]:\n"
        f"    data, ahead = ahead.result(), executor.submit({load}, following)",
        {},
        "any framework",
        "One more piece is in memory.",
        cures="files that are read between steps",
        before=f"for piece in pieces:\n    data = {load}(piece)",
    )


def _of_kind(part: RunPart) -> Fix | None:
    if part.kind == "loading":
        return _load_ahead(part)
    if part.kind == "pictures":
        return _PICTURES
    if part.kind == "saving":
        return _SAVE_LESS
    if part.kind in _SOMETIMES:
        return _LESS_OFTEN
    is_named = part.kind == "other" and not part.what.endswith(" of each epoch")
    return _ASK_HOW_OFTEN if is_named else None


def _is_much(part: RunPart, kind: str) -> bool:
    return _share_of(part, kind) >= _MUCH


def _share_of(part: RunPart, kind: str) -> float:
    """Of a part's time, what in it is of a kind."""
    inside = sum(inner.fraction for inner in part.parts if inner.kind == kind)
    return inside / part.fraction if part.fraction else 0.0


def _by_its_source(
    found: Outside, part: RunPart, framework: str, source: ProgramSource | None
) -> Outside:
    """With the cure that the program's source shows, mostly on its first line."""
    if found.fix is _COMPILE_THE_CALL:
        ops = _eager_ops(part.ops_at, _calls_within(part), framework, source)
        return found if ops is None else replace(found, fix=cure_of(ops))
    often = None if source is None else _often(found, part, source)
    if often is not None:
        return replace(found, fix=often)
    if found.fix is not None and found.fix is not _ASK_HOW_OFTEN:
        return _with_its_compiler(found, part, framework, source)
    if source is None or not part.places:
        return found
    fix = _fix_of_its_line(part, framework, source)
    return found if fix is None else replace(found, fix=fix)


def _often(found: Outside, part: RunPart, source: ProgramSource) -> Fix | None:
    """What saves, or evaluates, less often by the program's own settings."""
    place = next(iter(part.places), None)
    setting = None
    if place is not None and found.fix is _SAVE_LESS:
        setting = source.saved_often(place.file, place.line)
    elif part.kind == "evaluation" and place is not None:
        setting = source.validated_on(place.file, place.line)
    if setting is None:
        return None
    return Fix(
        "code",
        setting.words,
        setting.after,
        {},
        "any version of the library that it names",
        "What it tells or keeps comes less often.",
        cures="a setting by which the training loop saves or evaluates often",
        before=setting.before,
    )


def _fix_of_its_line(
    part: RunPart, framework: str, source: ProgramSource
) -> Fix | None:
    """By a call on its line that costs much, or by what its function calls in loops."""
    place = part.places[0]
    is_inside = part.what != place.function and source.defines(part.what)
    made = None  # of what the line calls, not of its function that takes the time
    if not is_inside:
        made = source.costly_call(place.file, place.line, "host")
    if made is not None:
        return _cheaper(made)
    singly = source.one_after_another(part.what)
    if singly is not None:
        return _side_by_side(part.what, singly)
    rows = source.rows_within(part.what) if framework == "jax" else None
    return None if rows is None else _for_all_rows(part.what, rows)


def _calls_within(part: RunPart) -> tuple[RunPlace, ...]:
    """The statement first, in what holds it: where that is what a library calls, it is
    a function of its own.
    """
    around = part.places[:1]
    is_called = around and around[0].function == part.what
    return (*around, *(around if is_called else ()), *part.ops_within)


def _eager_ops(
    at: Sequence[RunShare],
    within: Sequence[RunPlace],
    framework: str,
    source: ProgramSource | None,
) -> EagerOps | None:
    """As eager_ops; None where no source is known."""
    return None if source is None else source.eager_ops(at, within, framework)


def _side_by_side(name: str, singly: OneAfterAnother) -> Fix:
    return Fix(
        "code",
        f"{name} goes through `{singly.outer}` one after another, and calls "
        f"{singly.called} in each round of `{singly.inner}`. Does none of them need "
        "what another gave? Then let all go on side by side, in one batch, as many "
        f"environments or sequences: {singly.called} is called once a round for all of "
        "them. Fewer of them, or less often, costs less too.",
        "while not over.all():                     # one flag each\n"
        f"    ... {singly.call} ...    # its arrays have a row for each\n"
        "    # count of each only what came before its end",
        {},
        "any framework",
        "What is over early is computed on up to the last one's end, and counts no "
        "more.",
        cures="a function that takes one thing after another through many calls",
        before=f"{singly.outer}:\n    {singly.inner}:\n        ... {singly.call} ...",
    )


def _for_all_rows(name: str, rows: RowByRow) -> Fix:
    return Fix(
        "code",
        f"Is it needed so often? {name} calls {rows.called} in each round of "
        f"`{rows.head}`, and no call needs what another gave. Are these single rows? "
        "Then call it once for some hundred of them, and read the results once.",
        f"for_all = jax.jit(jax.vmap({rows.called}, in_axes={rows.axes}))\n"
        "# of Equinox: eqx.filter_jit, eqx.filter_vmap\n"
        f"results = np.asarray(for_all({rows.arguments}))",
        {},
        "any JAX; rows of equal shapes",
        "All rows and results lie in memory at once.",
        cures="calls for one row each",
        before=f"{rows.head}:\n    ... {rows.called} ...",
    )


def _cheaper(made: MadeCall) -> Fix:
    known = made.known
    return Fix(
        "code",
        f"Its line has `{made.words}`: {known.why}. {known.change}",
        f"{known.after}# {known.guide}",
        {},
        "the libraries that it names",
        known.cost,
        cures="a call that does more than is needed, or does it again",
        before=known.before,
    )


def _with_its_compiler(
    found: Outside, part: RunPart, framework: str, source: ProgramSource | None
) -> Outside:
    """With the cure of what compiles again and again: by what the program's source
    shows on its first line, in code of the framework.
    """
    fix = found.fix
    if fix is not _COMPILE_SELDOM and fix is not _COMPILE_ONCE:
        return found
    file, line = _compiling_line(part)
    if source is not None and file:
        anew = source.compiled_again(file, line)
        growing = None
        if framework != "tensorflow":
            growing = source.growing_on(file, line)
        if growing is not None:
            return replace(found, fix=_at_its_full_length(growing, anew))
        if anew is not None:
            return replace(found, fix=_make_once(anew))
    if fix is _COMPILE_SELDOM and framework == "tensorflow":
        fix = replace(fix, snippet=_ANY_LENGTH + fix.snippet)
    return replace(found, fix=fix)


def _with_what_is_new(
    found: Outside, part: RunPart, source: ProgramSource | None
) -> Outside:
    """A model, or a graph, that is made anew."""
    return _of_a_graph(_of_a_model(found, part, source), part, source)


def _of_a_model(found: Outside, part: RunPart, source: ProgramSource | None) -> Outside:
    """With the model that the program makes anew for each prediction, where that is
    what takes the time.
    """
    anew = None if source is None else _model_anew(part, source)
    if anew is None:
        return found
    title = found.title.removesuffix(_BUILDS_ANEW)
    return replace(
        found, title=f"{title}, of a model that is made anew", fix=_keep_it(anew)
    )


def _model_anew(part: RunPart, source: ProgramSource) -> CompiledAgain | None:
    """By the lines that predict or compile; of a function of the program, where that is
    what makes the model.
    """
    if part.kind in (PREDICTS, "compile"):
        least = _SOME * part.fraction
        inside = [inner for inner in part.parts if inner.fraction >= least]
        shares: list[RunShare] = [part, *inside]
        maker = ""
    elif part.kind in ("other", "loading") and _has_name(part):
        shares, maker = [part], part.what
    else:
        return None
    for share in shares:
        for place in share.places[:1]:
            anew = source.model_anew(place.file, {place.line}, maker)
            if anew is not None:
                return anew
    return None


def _keep_it(anew: CompiledAgain) -> Fix:
    return Fix(
        "code",
        f"{anew.words}. Make it once and keep it.",
        anew.once,
        {},
        "any Keras",
        "A model that is kept takes its memory all the time.",
        cures="a model that is loaded or built anew for each prediction",
        before=anew.before,
    )


def _compiling_line(part: RunPart) -> tuple[str, int]:
    """(file, line) of the first place of a part, or of what in it compiles; "" for
    none.
    """
    inside = (inner for inner in part.parts if inner.kind == "compile")
    share = part if part.kind == "compile" else next(inside, part)
    place = next(iter(share.places), None)
    return ("", 0) if place is None else (place.file, place.line)


def _make_once(anew: CompiledAgain) -> Fix:
    changes = (
        " What changes must become an argument: a static one, unless it is an array."
    )
    return Fix(
        "code",
        f"{anew.words}, and what is made anew is compiled anew. Make "
        f"{'them' if anew.of_several else 'it'} once."
        f"{changes if anew.reads else ''}",
        anew.once,
        {},
        "any JAX or TensorFlow 2",
        "What else it reads, as attributes, it keeps as that was when it was traced.",
        cures=MADE_ANEW,
        before=anew.before,
    )


def _at_its_full_length(growing: Growing, anew: CompiledAgain | None) -> Fix:
    """anew: what is compiled again for equal lengths, too."""
    and_once = ""
    if anew is not None:
        and_once = f" For equal lengths it compiles again as well: {anew.words}."
    do = (
        f"{growing.words}, and each length is compiled. Give it its final length once, "
        "before the loop, write each piece in its place, and mask what is not there "
        f"yet; then one program serves all rounds.{and_once}"
    )
    name, axis = growing.name or "whole", growing.axis
    part = growing.parts[0] if growing.parts else ""
    lines = [
        "# once, before the loop: its final length",
        f"widths = [(0, 0)] * {name}.ndim",
        f"widths[{axis}] = (0, length - {name}.shape[{axis}])",
        f"{name} = jnp.pad({name}, widths)",
        "# in the loop; at, where the next piece begins, is an array",
        f"{name} = jax.lax.dynamic_update_slice_in_dim({name}, {growing.piece}, at, "
        f"{axis})",
        "there = jnp.arange(length) <= at                 # mask the rest",
    ]
    if not growing.name:
        lines = [
            f"# instead of {part}: all of it, and its end as an array",
            "there = jnp.arange(length) < end                 # mask the rest",
        ]
    if anew is not None:
        lines += anew.once.splitlines()
    return Fix(
        "code",
        do,
        "\n".join(lines),
        {},
        "any JAX",
        "Each round computes the whole length: what is not there yet must not count.",
        cures="an array that is of another length in each round",
        before=f"{name} = jnp.concatenate([{name}, {growing.piece}])"
        if growing.name
        else part,
    )


# What it does to the verdict.


def of_the_run(
    verdict: Verdict,
    account: RunAccount | None,
    outside: tuple[Outside, ...],
    *,
    is_part: bool = False,
) -> Verdict:
    """The verdict about the steps as one about the run. is_part: whether the steps of
    the trace are small parts of the loop's rounds. No run is healthy of which much
    is no step; it is named for a part that takes more than what limits the steps.
    """
    if account is None:
        if not verdict.healthy or not outside:
            return verdict
        summary = f"{outside[0].title}. {verdict.summary}"
        return Verdict(verdict.bottleneck, verdict.fraction, False, summary)
    lasting = account.lasting
    if 1 - lasting.steps < LARGE_OUTSIDE:
        return _by_the_loop(verdict, outside, is_part=is_part)
    summary = _steps_of_the_run(lasting, is_all=lasting is account)
    account = lasting
    of_run = verdict.fraction * account.steps
    first = next((part for part in account.outside if _is_known(part)), None)
    if first is not None and first.fraction >= max(_NAMES_THE_RUN, of_run):
        category = _CATEGORIES.get(first.kind, "host")
        text = f"{summary}In the steps: {verdict.summary}"
        return Verdict(category, first.fraction, False, text)
    return Verdict(
        verdict.bottleneck, verdict.fraction, False, f"{summary}{verdict.summary}"
    )


def _by_the_loop(
    verdict: Verdict, outside: tuple[Outside, ...], *, is_part: bool
) -> Verdict:
    """Of a run that is steps: where the trace does not tell what limits them, or shows
    small parts of them, what samples show to take most of the loop does. The call of an
    op may wait for devices of which the trace shows nothing.
    """
    known = (
        part for part in outside if part.in_steps and (is_part or _is_no_launch(part))
    )
    first = next(known, None)
    is_open = is_part or verdict.bottleneck == "unknown"
    if not is_open or first is None or first.share < _MOSTLY:
        return verdict
    summary = f"{first.title}. By the trace: {verdict.summary}"
    return Verdict(first.category, first.share, False, summary)


def _is_no_launch(part: Outside) -> bool:
    return part.category != "launch"


def _steps_of_the_run(account: RunAccount, *, is_all: bool) -> str:
    """In a sentence, with the two largest parts that are none. is_all: whether the
    account is of the whole run.
    """
    parts = [part for part in account.outside if part.fraction >= _WORTH_A_FINDING]
    named = [
        f"{percent(part.fraction)} is {part_words(part)}"
        + (", perhaps for them" if part.what == WAITING else "")
        for part in parts[:2]
    ]
    head = "The" if is_all else "Without what came once, the"
    steps = f"{head} steps are {percent(account.steps)} of the run"
    return "; ".join(filter(None, (steps, " and ".join(named)))) + ". "
