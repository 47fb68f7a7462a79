"""What is meant by a name: exactly, by a synonym, or nearly."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import chain

import msgspec

from tfadvisor.advice.explaining import flags
from tfadvisor.advice.explaining.explained import Explained, Known
from tfadvisor.advice.explaining.glossary import (
    CLASS,
    VERDICT,
    WORD,
    classes,
    verdicts,
    words,
)
from tfadvisor.advice.explaining.numbers import FACT, METRIC, facts, metrics
from tfadvisor.advice.explaining.rules import RULE, rules_known
from tfadvisor.advice.explaining.synonyms import SYNONYMS
from tfadvisor.advice.loading.rule import Rule
from tfadvisor.did_you_mean import did_you_mean
from tfadvisor.errors import UsageError

_NO_WORD = re.compile(r"[^a-z0-9]+")
_MOST_LISTED = 15
_KINDS = {
    "rule": RULE,
    "metric": METRIC,
    "fact": FACT,
    "class": CLASS,
    "class of time": CLASS,
    "verdict": VERDICT,
    "word": WORD,
    "glossary": WORD,
}
"""What is listed under which name."""


class Meant(msgspec.Struct, frozen=True):
    """What a name means."""

    explained: tuple[Explained, ...]
    """Of the things that are called so."""
    listed: tuple[Known, ...]
    """What is of the kind that is asked for; else, where nothing is called so, what
    holds the words.
    """


def meant(asked: str, rules: Sequence[Rule]) -> Meant:
    """Raises UsageError for what nothing is called, and says what was meant."""
    known = all_known(rules)
    exact = tuple(topic.explained() for topic in named(asked, known))
    of_kind = tuple(topic for topic in known if topic.kind == _KINDS.get(_key(asked)))
    if exact or of_kind:
        return Meant(exact, of_kind)

    similar = _with_words(asked, known)
    if len(similar) == 1:
        return Meant((similar[0].explained(),), ())
    if similar:
        return Meant((), similar[:_MOST_LISTED])
    raise UsageError(
        f"nothing is called {asked}.{did_you_mean(asked, _names(asked, known))} "
        "`tfadvisor explain rules metrics words` lists what is known."
    )


def asked_for(words_: Sequence[str], rules: Sequence[Rule]) -> tuple[str, ...]:
    """The names that the words of a command line are: all of them one name, or each a
    name of its own.
    """
    known = all_known(rules)
    whole = " ".join(words_)
    if named(whole, known):
        return (whole,)

    separate = tuple(dict.fromkeys(words_))
    if all(named(word, known) or _key(word) in _KINDS for word in separate):
        return separate
    return (whole,) if _with_words(whole, known) else separate


def all_known(rules: Sequence[Rule]) -> tuple[Known, ...]:
    """Everything but flags, in the order in which it is explained."""
    return (
        *words(),
        *classes(rules),
        *verdicts(rules),
        *rules_known(rules),
        *metrics(rules),
        *facts(),
    )


def named(asked: str, known: Sequence[Known]) -> tuple[Known, ...]:
    """What is called so, or has this synonym."""
    by_key: dict[str, list[Known]] = {}
    for topic in known:
        for key in dict.fromkeys(map(_key, topic.names)):
            by_key.setdefault(key, []).append(topic)

    synonyms = {_key(name): others for name, others in SYNONYMS.items()}
    found: list[Known] = []
    for name in (asked, *synonyms.get(_key(asked), ())):
        found += by_key.get(_key(name), [])
    return (*found, *flags.flags(asked))


def _with_words(asked: str, known: Iterable[Known]) -> tuple[Known, ...]:
    """What has all the words in its names or title. Names count more."""
    wanted = set(_key(asked).split())
    if not wanted:
        return ()
    by_name = [topic for topic in known if wanted <= _words_of(topic.names)]
    if by_name:
        return tuple(by_name)
    return tuple(topic for topic in known if wanted <= _words_of((topic.title,)))


def _words_of(texts: Iterable[str]) -> set[str]:
    return set(chain.from_iterable(_key(text).split() for text in texts))


def _names(asked: str, known: Iterable[Known]) -> list[str]:
    """What a misspelt name may have been."""
    if flags.is_flag_like(asked):
        return flags.flag_names()
    return [*SYNONYMS, *chain.from_iterable(topic.names for topic in known)]


def _key(name: str) -> str:
    """In lower case, words in the singular, with single blanks between: `launch gap`
    for `Launch-gaps`.
    """
    return " ".join(map(_singular, _NO_WORD.sub(" ", name.lower()).split()))


def _singular(word: str) -> str:
    is_plural = len(word) > 3 and word.endswith("s") and not word.endswith("ss")
    return word[:-1] if is_plural else word
