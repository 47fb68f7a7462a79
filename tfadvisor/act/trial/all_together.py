"""All changes of a trial at once, as a candidate of its own: one may hide what another
is worth, as an input pipeline that is as slow as the work which it is ahead of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tfadvisor.act.trial.candidates import Candidate
from tfadvisor.act.trial.tried_program import source_of
from tfadvisor.files import temporary_folder
from tfadvisor.git import GitRefused, git

NAME = "all together"
_CHECKS = "none", "batches", "values"
"""What must stay as it is, the least first."""


def with_all_together(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """A trial's candidates and, behind them, all at once. Raises UsageError where there
    is no git.
    """
    together = all_together(candidates)
    return tuple(candidates) if together is None else (*candidates, together)


def all_together(candidates: Sequence[Candidate]) -> Candidate | None:
    """None for fewer than two, or where they do not fit together. Of several for one
    finding the first counts. Raises UsageError where there is no git.
    """
    chosen = list(_first_of_each_finding(candidates))
    env = _variables([candidate.env for candidate in chosen])
    texts = _merged([candidate.texts for candidate in chosen])
    if len(chosen) < 2 or env is None or texts is None:
        return None
    return Candidate(
        name=NAME,
        texts=texts,
        env=env,
        change="together",
        check=min((candidate.check for candidate in chosen), key=_CHECKS.index),
        effect=" ".join(filter(None, (candidate.effect for candidate in chosen))),
    )


def _first_of_each_finding(candidates: Sequence[Candidate]) -> Iterator[Candidate]:
    seen = set[str]()
    for candidate in candidates:
        if candidate.rule_id not in seen:
            yield candidate
        seen.update(filter(None, (candidate.rule_id,)))


def _variables(each: Sequence[Mapping[str, str]]) -> dict[str, str] | None:
    """None where two set one variable."""
    found: dict[str, str] = {}
    for env in each:
        if found.keys() & env.keys():
            return None
        found |= env
    return found


def _merged(each: Sequence[Mapping[str, str]]) -> dict[str, str] | None:
    """By real path, as git merges them; None where two change the same lines."""
    found: dict[str, str] = {}
    for texts in each:
        for path, text in texts.items():
            merged: str | None = text
            if path in found:
                merged = _of_both(source_of(Path(path)), found[path], text)
            if merged is None:
                return None
            found[path] = merged
    return found


def _of_both(base: str, ours: str, theirs: str) -> str | None:
    files = {"ours.py": ours, "base.py": base, "theirs.py": theirs}
    with temporary_folder("tfadvisor-together-") as name:
        folder = Path(name)
        for file, text in files.items():
            (folder / file).write_bytes(text.encode())
        try:
            git(folder, "merge-file", "-q", *files)
        except GitRefused:
            return None
        return (folder / "ours.py").read_bytes().decode()
