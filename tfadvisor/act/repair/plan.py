"""Findings and a program → one patch a finding, or the reason why there is none."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path, PurePosixPath

import msgspec
from msgspec.structs import replace

from tfadvisor.act.repair.reading.program import program_of
from tfadvisor.act.repair.registry import Hit, Place, load
from tfadvisor.act.repair.sources import Sources
from tfadvisor.advice.codemods import CODEMODS, LAUNCH_LINE, CodemodRef
from tfadvisor.advice.findings import Finding, Patch
from tfadvisor.advice.flags.settings import FLAG_VARIABLES
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError
from tfadvisor.printable import one_line
from tfadvisor.report.model import Report
from tfadvisor.units import number_of


class Patched(msgspec.Struct, frozen=True):
    """A finding's change."""

    rule_id: str
    codemod: str
    did: str
    """In words."""
    line: int
    """Of the file before this change, from 1; 0 for lines of the launch script."""
    changes: str
    """What the program's results lose or gain, "" for nothing."""
    patch: Patch
    text: str
    """The whole file after it, "" for lines of the launch script."""


class Unpatched(msgspec.Struct, frozen=True):
    """A finding without a change. candidates: where it could be made, if in several
    places.
    """

    rule_id: str
    why: str
    candidates: tuple[Candidate, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """Changes in the order of the findings, each on top of those before."""

    patched: tuple[Patched, ...]
    unpatched: tuple[Unpatched, ...]
    texts: Mapping[str, str]
    """Files that change, and how they are then."""


def plan_of(
    report: Report,
    codemods: Mapping[str, Sequence[CodemodRef]],
    sources: Sources,
    rules: Sequence[str],
    at: At | None,
) -> Plan:
    """For the report's findings, of these rules where any are given. Raises UsageError
    for a rule that there is not.
    """
    for name in rules:
        if name not in codemods:
            raise UsageError(
                f"--rule {name}: no rule has this id.{did_you_mean(name, codemods)} "
                "`tfadvisor rules list` names them all."
            )
    findings = [
        one
        for one in report.findings
        if one.category != "capture" and (not rules or one.rule_id in rules)
    ]
    return make_plan(
        findings,
        codemods,
        {one.name: one.text for one in sources.files},
        differ_below(sources.root),
        at,
    )


_MOST_LISTED = 8


def plan_words(plan: Plan) -> Iterator[str]:
    """A line a finding: what was done and what it changes, or why there is no patch;
    then a line a place to choose from.
    """
    for one in plan.patched:
        where = f"{one.patch.file}:{one.line}" if one.text else "the launch script"
        effect = (
            f"changes: {one.changes}" if one.changes else "results stay as they are"
        )
        yield f"{one.rule_id}: {where}: {one.did} ({one.patch.sure}; {effect})"
    for other in plan.unpatched:
        yield f"{other.rule_id}: no patch: {other.why}{':' if other.candidates else '.'}"
        yield from (f"    {candidate}" for candidate in other.candidates[:_MOST_LISTED])
        if len(other.candidates) > _MOST_LISTED:
            yield f"    and {len(other.candidates) - _MOST_LISTED} more; --source train.py looks at one program alone"
    if not plan.patched and not plan.unpatched:
        yield "nothing to patch: the report has no such finding."


def make_plan(
    findings: Sequence[Finding],
    codemods: Mapping[str, Sequence[CodemodRef]],
    texts: Mapping[str, str],
    diff: Callable[[str, str, str], str],
    at: At | None = None,
) -> Plan:
    """One change a finding, the first codemod of its rule that applies in exactly one
    place.

    codemods: by rule. texts: the program's files. diff: of a name, the old and the new
    text.
    """
    now = dict(texts)
    patched: list[Patched] = []
    unpatched: list[Unpatched] = []
    for finding in findings:
        outcome = _for_finding(
            finding, codemods.get(finding.rule_id, ()), now, diff, at
        )
        if isinstance(outcome, Unpatched):
            unpatched.append(outcome)
            continue
        patched.append(outcome)
        if outcome.text:
            now[outcome.patch.file] = outcome.text
    return Plan(
        tuple(patched),
        tuple(unpatched),
        {name: text for name, text in now.items() if text != texts[name]},
    )


def _for_finding(
    finding: Finding,
    refs: Sequence[CodemodRef],
    texts: Mapping[str, str],
    diff: Callable[[str, str, str], str],
    at: At | None,
) -> Patched | Unpatched:
    if not refs:
        return Unpatched(
            finding.rule_id,
            "its fix is no change that a tool can derive from the source",
        )
    places = places_of(finding, texts)
    asked: tuple[Candidate, ...] = ()
    for ref in refs:
        if ref.name == LAUNCH_LINE:
            launched = _launched(finding, ref)
            if launched is not None:
                return launched
            continue
        found = {
            file: hits_of(ref.name, text, places[file]) for file, text in texts.items()
        }
        candidates = narrowed(found, places, at)
        if len(candidates) == 1:
            return _patched(finding, ref, candidates[0], texts, diff)
        asked = asked or tuple(candidates)
    if asked:
        return Unpatched(
            finding.rule_id,
            "could be made in several places; choose one with --at FILE:LINE",
            asked,
        )
    return Unpatched(
        finding.rule_id,
        "the program shows none of the patterns that its codemods look for",
    )


def _patched(
    finding: Finding,
    ref: CodemodRef,
    chosen: Candidate,
    texts: Mapping[str, str],
    diff: Callable[[str, str, str], str],
) -> Patched:
    text, did, effects = (
        chosen.hit.source,
        [chosen.hit.did],
        [CODEMODS[ref.name].changes],
    )
    for name in ref.then:
        more = hits_of(name, text, Place())
        if len(more) == 1:
            text = more[0].source
            did.append(more[0].did)
            effects.append(CODEMODS[name].changes)
    patch = Patch(
        chosen.file, diff(chosen.file, texts[chosen.file], text), ref.sure, ref.check
    )
    changes = "; ".join(one for one in dict.fromkeys(effects) if one)
    return Patched(
        finding.rule_id,
        ref.name,
        ", ".join(did),
        chosen.hit.first,
        changes,
        patch,
        text,
    )


def _launched(finding: Finding, ref: CodemodRef) -> Patched | None:
    for fix in finding.fixes:
        lines = launch_lines(fix.env)
        if lines:
            patch = Patch("", lines, ref.sure, ref.check)
            return Patched(
                finding.rule_id, ref.name, fix.do, 0, fix.side_effect, patch, ""
            )
    return None


_MOST_PLACES = 100
"""Of one codemod in one file: among more nobody would choose."""


@lru_cache(maxsize=256)
def hits_of(codemod: str, text: str, place: Place) -> tuple[Hit, ...]:
    """Where a codemod applies; nowhere in a text that Python cannot parse, or whose
    result it cannot, or where it applies so often that nobody would choose.
    """
    try:
        found = load(codemod)(program_of(text), place)
    except (SyntaxError, ValueError, RecursionError):
        return ()
    if len(found) > _MOST_PLACES:
        return ()
    return tuple(one for one in found if one.source != text and _compiles(one.source))


def _compiles(text: str) -> bool:
    try:
        compile(text, "patched", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True


# The one place where a codemod applies, among all files of a program.


class Candidate(msgspec.Struct, frozen=True):
    """A hit in a file."""

    file: str
    hit: Hit

    def __str__(self) -> str:
        """As `--at` takes it, and what would be done there."""
        return f"{self.file}:{self.hit.first} ({self.hit.did})"


class At(msgspec.Struct, frozen=True):
    """What the user chose: the end of a file's name, and a line of it."""

    file: str
    line: int


def at_of(text: str) -> At:
    """`train.py:41`. Raises UsageError for anything else."""
    file, _, line = text.rpartition(":")
    if not file or number_of(line) is None:
        raise UsageError(f"--at {text}: give a file and a line of it, as train.py:41.")
    return At(file, int(line))


def places_of(finding: Finding, texts: Mapping[str, str]) -> dict[str, Place]:
    """What the finding says about each file.

    Names of files come from a trace: they are compared with those that were found, and
    never opened. A line counts only where the text around it still is the function that
    the trace saw there.
    """
    names = tuple(dict.fromkeys(one.op for one in finding.locations if one.op))
    snippets = "\n".join(fix.snippet for fix in finding.fixes)
    found = {}
    for file, text in texts.items():
        told = [
            one
            for one in finding.locations
            if PurePosixPath(file).name
            == PurePosixPath(one.file.replace("\\", "/")).name
        ]
        lines = [
            one.line
            for one in told
            if one.line is not None and _still_there(text, one.line, one.op)
        ]
        found[file] = Place(tuple(lines), names, snippets, bool(told))
    return found


def _still_there(text: str, line: int, function: str) -> bool:
    """Whether the line, or the nearest `def` above it, names the function. Methods may
    be named without their class.
    """
    lines = text.split("\n")
    if not 1 <= line <= len(lines):
        return False
    name = function.rsplit(".", maxsplit=1)[-1]
    if not name or name.startswith("<") or name in lines[line - 1]:
        return True
    above = next(
        (
            one
            for one in reversed(lines[:line])
            if one.lstrip().startswith(("def ", "async def "))
        ),
        "",
    )
    return f"def {name}(" in above


def narrowed(
    hits: Mapping[str, Sequence[Hit]], places: Mapping[str, Place], at: At | None
) -> list[Candidate]:
    """The candidates that are left: on the user's line, else on the finding's lines,
    about its functions, in its files.
    """
    every = [Candidate(file, hit) for file, found in hits.items() for hit in found]
    if at is not None:
        return [one for one in every if _is_at(one, at)]
    on_line = [
        one
        for one in every
        if any(one.hit.first <= line <= one.hit.last for line in places[one.file].lines)
    ]
    if on_line:
        return on_line
    named = [one for one in every if set(one.hit.names) & set(places[one.file].names)]
    return named or [one for one in every if places[one.file].told] or every


def _is_at(one: Candidate, at: At) -> bool:
    same = (
        PurePosixPath(one.file).parts[-len(PurePosixPath(at.file).parts) :]
        == PurePosixPath(at.file).parts
    )
    return same and one.hit.first <= at.line <= one.hit.last


# Patches put into the fixes of a report.


def with_patches(report: Report, plan: Plan) -> Report:
    """The report with each patch in the fix that it makes: the first of its kind."""
    made = {one.rule_id: one for one in plan.patched}
    return replace(
        report,
        findings=tuple(_filled(one, made.get(one.rule_id)) for one in report.findings),
    )


def _filled(finding: Finding, made: Patched | None) -> Finding:
    if made is None:
        return finding
    fitting = [
        fix
        for fix in finding.fixes
        if (fix.env if not made.text else fix.kind == "code")
    ]
    target = (fitting or list(finding.fixes))[0]
    return replace(
        finding,
        fixes=tuple(
            replace(fix, patch=made.patch) if fix is target else fix
            for fix in finding.fixes
        ),
    )


# A fix's variables and flags as lines for the script that launches the program.

_NAME = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


def launch_lines(env: Mapping[str, str]) -> str:
    """Lines of a shell; values may hold text from a trace, so nothing in them is
    expanded but what a variable held before.
    """
    lines = []
    for name, value in env.items():
        if not _NAME.match(name):
            continue
        given = one_line(value)
        before = f"${name}"
        if name in FLAG_VARIABLES:  # what is set already stays
            lines.append(f'export {name}="${{{name}:-}}"{shlex.quote(" " + given)}\n')
        elif given.endswith(f":{before}"):
            lines.append(
                "export "
                f'{name}={shlex.quote(given.removesuffix(before))}"${{{name}:-}}"\n'
            )
        else:
            lines.append(f"export {name}={shlex.quote(given)}\n")
    return "".join(lines)


# A change of a file as a unified diff that `git apply` and `patch -p1` take.

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_NO_END = "\n\\ No newline at end of file\n"


def unified(name: str, old: str, new: str) -> str:
    """Lines end where `\\n` stands and nowhere else, so that a `\\r` before it stays in
    its line.
    """
    tab = "\t" if " " in name else ""
    lines = difflib.unified_diff(
        _LINE.findall(old), _LINE.findall(new), f"a/{name}{tab}", f"b/{name}{tab}"
    )
    return "".join(line if line.endswith("\n") else line + _NO_END for line in lines)


def differ_below(root: Path) -> Callable[[str, str, str], str]:
    """`unified` for files below a folder: named from where the command runs, where `git
    apply` looks for them.
    """
    here = Path.cwd().resolve()
    prefix = root.relative_to(here).as_posix() if root.is_relative_to(here) else "."
    return lambda name, old, new: unified(
        name if prefix == "." else f"{prefix}/{name}", old, new
    )
