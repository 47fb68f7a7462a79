"""Configuration files: what they mean, and what is said of those that are wrong."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from tfadvisor.comparison.gate.config import Config
from tfadvisor.comparison.gate.config_file import ConfigError, find_config, read_config
from tfadvisor.comparison.gate.read_config import Known, ignored_of_project, read
from tfadvisor.errors import SeveralMistakes, UsageError

KNOWN = Known(
    metrics={
        "step_time_ms": "ms",
        "kernels_per_step": "count",
        "retraces_in_steady_state": "count",
        "input_bound_fraction": "fraction",
        "fp16_kernel_share": "fraction",
        "h2d_bytes_per_step": "bytes",
    },
    rules=("input-not-prefetched", "input-loader-in-step", "eager-execution"),
)


def config(tmp_path: Path, text: str, preset: str | None = None) -> Config:
    file = tmp_path / "tfadvisor.toml"
    file.write_text(text, encoding="utf-8")
    return read(read_config(file), KNOWN, preset)


def refused(tmp_path: Path, text: str) -> tuple[int, str]:
    with pytest.raises(ConfigError) as error:
        config(tmp_path, text)
    file, line, message = str(error.value).removeprefix(str(tmp_path)).split(":", 2)
    assert file == "/tfadvisor.toml"
    return int(line), message.strip()


def test_without_a_word_the_recommended_preset_holds(tmp_path: Path) -> None:
    settings = config(tmp_path, "")

    limits = {one.metric: one.limit for one in settings.relative}
    assert limits["step_time_ms"] == 0.05
    assert limits["kernels_per_step"] == 0.02
    assert not settings.budgets
    assert settings.rule_level("eager-execution", "high") == ("warn", 0)
    assert settings.rule_level("eager-execution", "low")[0] == "off"
    assert (settings.keep, settings.false_alarm_rate) == (30, 0.01)


def test_the_command_line_chooses_the_preset(tmp_path: Path) -> None:
    assert config(tmp_path, 'preset = "recommended"', preset="none").relative == ()


def test_a_file_changes_single_settings_of_its_preset(tmp_path: Path) -> None:
    text = """
on-cannot-tell = "warn"
[relative]
step_time_ms = { limit = "10%", level = "warn" }
kernels_per_step = { level = "off" }
[budgets]
input_bound_fraction = 0.05
h2d_bytes_per_step = { min = 10, max = 1000 }
[rules]
"input-*" = "error"
input-loader-in-step = "off"
[severity]
critical = "error"
"""
    settings = config(tmp_path, text)

    relative = {one.metric: one for one in settings.relative}
    budgets = {one.metric: one for one in settings.budgets}
    assert (
        relative["step_time_ms"].limit,
        relative["step_time_ms"].level,
        relative["step_time_ms"].line,
    ) == (
        0.1,
        "warn",
        4,
    )
    assert "kernels_per_step" not in relative
    assert relative["h2d_bytes_per_step"].line == 0
    assert (
        budgets["input_bound_fraction"].at_most,
        budgets["input_bound_fraction"].line,
    ) == (0.05, 7)
    assert (
        budgets["h2d_bytes_per_step"].at_least,
        budgets["h2d_bytes_per_step"].at_most,
    ) == (10, 1000)
    assert settings.rule_level("input-not-prefetched", "low") == ("error", 10)
    assert settings.rule_level("input-loader-in-step", "high") == ("off", 11)
    assert settings.rule_level("eager-execution", "critical")[0] == "error"
    assert settings.rule_level("eager-execution", "high")[0] == "warn"
    assert settings.on_cannot_tell == "warn"


def test_an_entry_ignores_until_its_day_is_over(tmp_path: Path) -> None:
    text = """
[[ignore]]
check = "input-*"
reason = "the loader is being rewritten"
expires = 2026-06-01
"""
    settings = config(tmp_path, text)

    found = settings.entry_about("input-loader-in-step")
    assert found is not None
    assert (found.reason, found.line, found.expires) == (
        "the loader is being rewritten",
        2,
        date(2026, 6, 1),
    )
    assert settings.entry_about("step_time_ms") is None


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("a = \n", 1, "is no TOML"),
        ("x = 1\n[relative\n", 2, "is no TOML"),
        ("preest = 1", 1, "preest: is not known here; did you mean preset?"),
        (
            'preset = "fast"',
            1,
            "preset: is 'fast', and must be one of none, recommended.",
        ),
        (
            "\n[relative]\n\nstep_time = 0.05",
            4,
            "relative.step_time: no metric has this name; did you mean step_time_ms?",
        ),
        (
            "[relative]\nstep_time_ms = { limt = 1 }",
            2,
            "relative.step_time_ms.limt: is not known here; did you mean limit?",
        ),
        ("[relative]\nstep_time_ms = {}", 2, "needs a limit"),
        ("[relative]\nstep_time_ms = 5", 2, ""),
        ("[relative]\nstep_time_ms = 50", 2, 'did you mean "50%"?'),
        ("[relative]\nstep_time_ms = -0.1", 2, "is below 0"),
        ('[relative]\nstep_time_ms = "5"', 2, "must be a number or a share"),
        ("[relative]\nstep_time_ms = nan", 2, "must be a number"),
        (
            "[relative]\nstep_time_ms = { limit = 0.1, worse = 'left' }",
            2,
            "must be one of up, down, both",
        ),
        ("[budgets]\nstep_time_ms = '5 %'", 2, "is not a number of ms"),
        (
            "[budgets]\nstep_time_ms = { max = 1, min = 2 }",
            2,
            "its min is above its max",
        ),
        ("[budgets]\nstep_time_ms = {}", 2, "needs a max or a min"),
        ("[budgets]\nstep_time_ms = true", 2, "must be a number"),
        ("budgets = 3", 1, "is not a table"),
        (
            "[rules]\ninput-loader = 'error'",
            2,
            "no rule has this name; did you mean input-loader-in-step?",
        ),
        ("[rules]\n'input-*' = 'fatal'", 2, "must be one of off, warn, error"),
        ("[severity]\ngrave = 'warn'", 2, "is not known here"),
        ("keep = 0", 1, "is not a whole number from 1 to 1,000"),
        ("keep = true", 1, "is not a whole number"),
        ("false-alarm-rate = 0.5", 1, "must lie between"),
        ("on-cannot-tell = 'maybe'", 1, "must be one of pass, warn, fail"),
        ("model = ''", 1, "is not text"),
        ("[labels]\nbatch = [1]", 2, "is not text or number"),
        ("[ignore]\ncheck = 'x'", 1, "must be written [[ignore]]"),
        (
            "[[ignore]]\ncheck = 'step_time_ms'\nexpires = 2026-01-01",
            1,
            "reason: is missing",
        ),
        ("[[ignore]]\ncheck = 'step_time_ms'\nreason = 'x'", 1, "expires: is missing"),
        (
            "[[ignore]]\ncheck = 'step_time_ms'\nreason = 'x'\nexpires = 'soon'",
            4,
            "must be a day",
        ),
        (
            "[[ignore]]\ncheck = 'step_tme_ms'\nreason = 'x'\nexpires = 2026-01-01",
            2,
            "did you mean step_time_ms?",
        ),
        (f"[relative]\nstep_time_ms = 1{'0' * 400}", 2, "must be a number"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    if not message:
        return
    assert message in (found := refused(tmp_path, text))[1]
    assert found[0] == line


def test_a_project_file_is_read_below_its_table(tmp_path: Path) -> None:
    file = tmp_path / "pyproject.toml"
    file.write_text(
        "[project]\nname = 'x'\n[tool.tfadvisor.relative]\nstep_time_ms = 0.2\n"
    )

    settings = read(read_config(file), KNOWN)
    assert {one.metric: (one.limit, one.line) for one in settings.relative}[
        "step_time_ms"
    ] == (0.2, 4)

    file.write_text("[tool.tfadvisor]\n[tool.tfadvisor.relative]\nstep_time = 0.2\n")
    with pytest.raises(
        ConfigError,
        match=r"pyproject\.toml:3: tool\.tfadvisor\.relative\.step_time: no metric",
    ):
        read(read_config(file), KNOWN)

    file.write_text("[tool]\ntfadvisor = 3\n")
    with pytest.raises(
        ConfigError, match=r"pyproject\.toml:2: tool\.tfadvisor: is not a table"
    ):
        read_config(file)


def test_the_nearest_configuration_counts_up_to_the_repository(tmp_path: Path) -> None:
    (tmp_path / "tfadvisor.toml").write_text("keep = 3")
    repository = tmp_path / "repository"
    below = repository / "a" / "b"
    below.mkdir(parents=True)
    assert find_config(below).values == {"keep": 3}

    (repository / ".git").mkdir()
    assert find_config(below).values == {}

    (repository / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert find_config(below).values == {}
    (repository / "pyproject.toml").write_text("[tool.tfadvisor]\nkeep = 4\n")
    assert find_config(below).values == {"keep": 4}
    (repository / "a" / "tfadvisor.toml").write_text("keep = 5")
    assert find_config(below).values == {"keep": 5}


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"a = '\x00'", b"\x1b[31m = 1"])
def test_damaged_files_are_refused(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "tfadvisor.toml"
    file.write_bytes(data)

    with pytest.raises(UsageError, match=r"tfadvisor\.toml"):
        read_config(file)


def test_a_huge_or_absent_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "tfadvisor.toml"
    file.write_bytes(b"#" * (2 << 20))

    with pytest.raises(UsageError, match="1 MiB"):
        read_config(file)
    with pytest.raises(UsageError, match="cannot be read"):
        read_config(tmp_path / "absent.toml")


WRONG = """\
preset = "recomended"
keep = 0
modle = "resnet50"
[budgets]
step_time_ms = { max = "fast", levl = "warn" }
input_bound_fracton = "5%"
[relative]
kernels_per_step = { limit = "2%", level = "eror", worse = "upp" }
[rules]
"input-*" = "of"
[[ignore]]
check = "step_time"
expires = "soon"
"""
"""Lines 1, 2, 3, 5 (twice), 6, 8 (twice), 10, 11, 12 and 13 are wrong; nothing else is,
and no mistake makes another.
"""


def test_all_mistakes_are_told_at_once_in_the_order_of_their_lines(
    tmp_path: Path,
) -> None:
    with pytest.raises(SeveralMistakes) as error:
        config(tmp_path, WRONG)

    told = [
        str(one).removeprefix(f"{tmp_path}/tfadvisor.toml:") for one in error.value.each
    ]
    assert told == [
        "1: preset: is 'recomended', and must be one of none, recommended; did you "
        "mean recommended?",
        "2: keep: is not a whole number from 1 to 1,000.",
        "3: modle: is not known here; did you mean model?",
        "5: budgets.step_time_ms.max: is not a number of ms.",
        "5: budgets.step_time_ms.levl: is not known here; did you mean level?",
        "6: budgets.input_bound_fracton: no metric has this name; did you mean "
        "input_bound_fraction?",
        "8: relative.kernels_per_step.level: is 'eror', and must be one of off, "
        "warn, error; did you mean error?",
        "8: relative.kernels_per_step.worse: is 'upp', and must be one of up, down, "
        "both; did you mean up?",
        "10: rules.input-*: is 'of', and must be one of off, warn, error; did you "
        "mean off?",
        "11: ignore.0.reason: is missing: why the gate may ignore this.",
        "12: ignore.0.check: no metric or rule is called step_time; did you mean "
        "step_time_ms?",
        "13: ignore.0.expires: is 'soon', and must be a day, such as 2026-12-31.",
    ]


HOSTILE = {
    "a key of 5,000 parts": (
        "a." * 5000 + "a = 1\n",
        "has more than 500 dots in a line",
    ),
    "a table of 5,000 parts": (
        f"[{'a.' * 5000}a]\n",
        "has more than 500 dots in a line",
    ),
    "a number of 5,000 digits": ("keep = " + "9" * 5000, "is no TOML"),
    "lists in one another": ("keep = " + "[" * 50_000, "is no TOML"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_what_would_take_all_time_or_memory_is_one_line(
    tmp_path: Path, what: str
) -> None:
    text, words = HOSTILE[what]

    line, message = refused(tmp_path, text)

    assert line == 1
    assert words in message
    assert "\n" not in message


def test_5000_unknown_keys_are_one_mistake(tmp_path: Path) -> None:
    _, message = refused(
        tmp_path, "[budgets]\n" + "".join(f"k{one} = 1\n" for one in range(5000))
    )

    assert message == "budgets: has more than 1000 keys."


def test_a_misspelt_ignore_is_no_silence_in_analyze(tmp_path: Path) -> None:
    file = tmp_path / "tfadvisor.toml"
    file.write_text(
        "[[ignroe]]\ncheck = 'step_time_ms'\nreason = 'x'\nexpires = 2999-01-01\n",
        encoding="utf-8",
    )

    with pytest.raises(UsageError, match=r"ignroe.*did you mean ignore"):
        ignored_of_project(file)


def test_a_gate_s_other_mistakes_do_not_stop_analyze(tmp_path: Path) -> None:
    file = tmp_path / "tfadvisor.toml"
    file.write_text("prset = 'none'\n", encoding="utf-8")

    assert ignored_of_project(file) == {}
