"""A finding in the words that stand beside its slices: evidence, where, fixes."""

from __future__ import annotations

from collections.abc import Iterator

from tfadvisor.export.perfetto.packets import Texts, text_argument
from tfadvisor.report.model import Finding
from tfadvisor.report.wording import evidence_words, location_words, saving_words


def finding_arguments(finding: Finding, texts: Texts) -> bytes:
    """Arguments of a slice."""
    return b"".join(text_argument(texts, name, words) for name, words in _words(finding) if words)


def _words(finding: Finding) -> Iterator[tuple[str, str]]:
    yield "rule", finding.rule_id
    yield "severity", finding.severity.value
    yield "summary", finding.summary
    yield "saving", saving_words(finding.saving)
    yield "worth checking", finding.ask or ""
    yield "caveat", finding.caveat
    for place, one in enumerate(finding.locations):
        yield f"where[{place}]", location_words(one)
    for place, evidence in enumerate(finding.evidence):
        yield f"evidence[{place}]", evidence_words(evidence)
    for place, fix in enumerate(finding.fixes):
        yield f"fix[{place}].do", fix.do
        yield f"fix[{place}].snippet", fix.snippet.rstrip("\n")
        yield f"fix[{place}].env", " ".join(f"{name}={value}" for name, value in fix.env.items())
        yield f"fix[{place}].valid_for", fix.valid_for
    for place, source in enumerate(finding.source):
        yield f"source[{place}]", source.url or f"{source.doc} {source.section}"
