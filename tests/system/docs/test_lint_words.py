"""The linter of words: what it finds, where, and what it leaves alone."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest


def found(
    words: ModuleType, markdown: str, level: str = "error"
) -> list[tuple[int, str]]:
    """(line, message) of each remark of a level on a page."""
    remarks = words.lint(
        words.prose("page.md", markdown), words.read_style(words.STYLE)
    )
    return [(one.line, one.message) for one in remarks if one.level == level]


def test_a_banned_phrase_is_found_on_its_line_with_its_replacement(
    words: ModuleType,
) -> None:
    page = "# Title\n\nFirst line,\nand what it comes to here.\n"

    assert found(words, page) == [
        (4, "Write 'the total' instead of 'what it comes to'.")
    ]


def test_a_phrase_across_a_line_break_is_found(words: ModuleType) -> None:
    assert [line for line, _ in found(words, "One\n92\n% and 92 % more\n")] == [3]


@pytest.mark.parametrize(
    "page",
    [
        "`92 %` is code",
        "```\n92 %\n1 collectives\n```\n",
        "<!-- told by -->\n",
        "92% is right",
    ],
)
def test_code_and_comments_are_left_alone(words: ModuleType, page: str) -> None:
    assert found(words, page) == []


@pytest.mark.parametrize("count", ["1 collectives", "1 steps"])
def test_one_of_a_thing_is_singular(words: ModuleType, count: str) -> None:
    assert len(found(words, f"It ran {count}.")) == 1


@pytest.mark.parametrize(
    "count", ["11 collectives", "1 collective", "1 steps-per-second", "0.1 kernels"]
)
def test_other_numbers_are_plural(words: ModuleType, count: str) -> None:
    assert found(words, f"It ran {count}.") == []


def test_a_sentence_of_41_words_is_a_warning_and_one_of_40_is_not(
    words: ModuleType,
) -> None:
    assert found(words, " ".join(["word"] * 40) + ".", "warning") == []
    assert len(found(words, " ".join(["word"] * 41) + ".", "warning")) == 1


def test_two_sentences_are_counted_apart(words: ModuleType) -> None:
    assert (
        found(
            words,
            " ".join(["word"] * 30) + ". " + " ".join(["word"] * 30) + ".",
            "warning",
        )
        == []
    )


def test_a_kind_of_rule_that_is_not_known_is_an_error(
    words: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "Spelling.yml").write_text(
        "extends: spelling\nmessage: no\nlevel: error\n"
    )

    with pytest.raises(
        ValueError, match="Spelling: this reader knows no rule of the kind 'spelling'"
    ):
        words.read_style(tmp_path)


def test_texts_of_rules_and_definitions_of_metrics_are_read(words: ModuleType) -> None:
    texts = [*words.rule_texts(), *words.definitions()]

    assert any(one.place.startswith("rules/") for one in texts)
    assert any(one.place == "metric step_time_ms" for one in texts)
    assert not any("{" in one.words for one in texts if one.place.startswith("rules/"))


def test_generated_pages_are_checked_where_they_come_from(words: ModuleType) -> None:
    pages = {page.relative_to(words.ROOT).as_posix() for page in words.tracked_pages()}

    assert {
        "README.md",
        "docs/gate.md",
        "benchmarks/gate_study/page.md",
    } <= pages
    assert (
        not {
            "docs/reference/metrics.md",
            "benchmarks/diagnosis/results.md",
            "benchmarks/gate_study/results.md",
        }
        & pages
    )


def test_a_counted_placeholder_is_read_as_its_plural(words: ModuleType) -> None:
    assert (
        words.PLACEHOLDER.sub(
            words._shown_word, "In {steps_counted|step|steps} of {step_time_ms}."
        )
        == "In _ steps of _."
    )


def test_docstrings_of_modules_records_and_constants_are_read_without_code(
    words: ModuleType, tmp_path: Path
) -> None:
    file = tmp_path / "one.py"
    file.write_text(
        '"""Of `told` things."""\n\nA = 1\n"""Likewise."""\n\ndef f():\n    '
        '"""Three."""\n    return "no docstring"\n'
    )

    texts = words.docstrings(tmp_path)

    assert [(one.line, one.words) for one in texts] == [
        (1, "Of _ things."),
        (4, "Likewise."),
        (7, "Three."),
    ]


def test_help_of_every_command_and_option_is_read(words: ModuleType) -> None:
    texts = {(one.place, one.words) for one in words.helps()}

    assert (
        "tfadvisor gate --help",
        "add the runs to the baseline unless the gate fails",
    ) in texts
    assert any(place == "tfadvisor baseline add --help" for place, _ in texts)


def test_ids_of_rules_are_read_as_words(words: ModuleType) -> None:
    assert "many tiny ops" in {one.words for one in words.rule_texts()}


@pytest.mark.parametrize(
    "docstring",
    [
        "Likewise.",
        "The same of a text.",
        "Rows from which on it is told.",
        "Crooked sides.",
    ],
)
def test_the_dialect_is_an_error(words: ModuleType, docstring: str) -> None:
    assert found(words, docstring)


@pytest.mark.parametrize(
    "docstring",
    ["The process is told to end.", "The same text.", "Rows which it reads."],
)
def test_words_near_the_dialect_are_not(words: ModuleType, docstring: str) -> None:
    assert [
        message for _, message in found(words, docstring) if "dialect" in message
    ] == []


def test_names_are_read_as_words_wherever_they_are_bound(
    words: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text(
        "class ToldHosts:\n    def _told_by(self, one):\n        self.is_told = one.said\n"
    )

    assert [name.words for name in words.identifiers(tmp_path)] == [
        "told hosts",
        "told by",
        "self",
        "one",
        "is told",
    ]


@pytest.mark.parametrize(("most", "errors"), [(2, 0), (1, 1)])
def test_more_names_of_the_dialect_than_there_were_are_an_error(
    words: ModuleType, most: int, errors: int
) -> None:
    names = [words.Text("a.py", 3, one) for one in ("told", "is told", "cannot tell")]
    (of_dialect, _) = words.read_ceilings(words.NAMES)

    remarks = words.above(of_dialect._replace(most=most), names)

    assert [one.level for one in remarks] == ["warning", "warning", *["error"] * errors]
