"""`tfadvisor flags check`: forms, exit codes, and text that means harm."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tfadvisor.cli.main import guarded_main

COMMAND = Path(sys.executable).parent / "tfadvisor"


@pytest.fixture
def say(capsys):
    """Runs the command in this process and returns (exit code, stdout, stderr)."""

    def run(*arguments: str) -> tuple[int, str, str]:
        code = guarded_main(["flags", "check", *arguments])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return code, out, err

    return run


def test_flags_that_look_like_options_are_taken_as_one_text(say) -> None:
    """`flags check "--xla_dump_to=x"`: a shell hands over the same as for an option."""
    code, out, err = say("--xla_gpu_autotune_level=3", "--jaxlib", "0.10.2")

    assert (code, err) == (0, "")
    assert "ok       --xla_gpu_autotune_level=3" in out
    assert "judged by jaxlib 0.10.2." in out


def test_text_says_what_where_and_what_instead(say) -> None:
    _, out, _ = say(
        "--xla_gpu_enable_address_computation_fusion=true", "--jaxlib", "0.10.2"
    )

    assert "error    --xla_gpu_enable_address_computation_fusion=true" in out
    assert "renamed: jaxlib 0.4.33 and newer refuse it" in out
    assert "instead: --xla_gpu_enable_dynamic_slice_fusion=true" in out
    assert "1 setting: 1 error, 0 warnings, 0 notes" in out
    assert all(len(line) <= 110 for line in out.splitlines())


def test_json(say) -> None:
    code, out, _ = say(
        "NCCL_P2P_DISABLE=1 --xla_gpu_autotune_level=3 TF_GPU_THREAD_COUNT=4",
        "--format",
        "json",
    )

    data = json.loads(out)

    assert code == 0
    assert data["schema_version"] == "1"
    assert data["library"] == "jaxlib"
    assert "newest recorded" in data["version_note"]
    assert [
        (one["variable"], one["name"], one["value"], one["level"])
        for one in data["settings"]
    ] == [
        ("NCCL_P2P_DISABLE", "NCCL_P2P_DISABLE", "1", "warning"),
        ("XLA_FLAGS", "xla_gpu_autotune_level", "3", "ok"),
        ("TF_GPU_THREAD_COUNT", "TF_GPU_THREAD_COUNT", "4", "ok"),
    ]
    assert data["settings"][0]["remarks"][0]["source"].startswith("https://")
    assert data["together"][0]["kind"] == "conflict"


@pytest.mark.parametrize(
    ("flags", "level", "code"),
    [
        ("--xla_nonsense=1", "error", 1),
        ("--xla_nonsense=1", "warning", 1),
        ("NCCL_P2P_DISABLE=1", "error", 0),
        ("NCCL_P2P_DISABLE=1", "warning", 1),
        ("TF_GPU_THREAD_COUNT=4", "warning", 1),
        ("TF_CPP_MIN_LOG_LEVEL=0", "warning", 0),
        ("", "warning", 0),
    ],
)
def test_fail_on(say, flags: str, level: str, code: int) -> None:
    assert say(flags, "--fail-on", level)[0] == code
    assert say(flags)[0] == 0


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--xla_dump_to=x", "--jaxlib", "newest"],
        ["--xla_dump_to=x", "--jaxlib"],
        ["--xla_dump_to=x", "--jaxlib", "0.6.2", "--tensorflow", "2.21"],
        ["--xla_dump_to=x", "--fail-on", "note"],
        ["--xla_dump_to=x", "X=1"],
        ["'open"],
    ],
)
def test_wrong_use(say, arguments: list[str]) -> None:
    code, out, err = say(*arguments)

    assert (code, out) == (2, "")
    assert err.startswith("tfadvisor: ")
    assert err.count("\n") == 1


def test_standard_input(say, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("--xla_gpu_autotune_level=0\n"))

    assert "57%" in say("-")[1]


def test_a_megabyte_of_standard_input(say, monkeypatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("--xla_dump_to=" + "x" * (1 << 20)))

    code, out, err = say("-")

    assert (code, out) == (2, "")
    assert "longer than" in err


def test_of_thousands_of_wrong_flags_only_the_first_are_compared_with_all(
    say, monkeypatch
) -> None:
    """Comparing each with every known flag would take minutes, and nobody reads on
    there.
    """
    chance = random.Random(3)
    names = ["".join(chance.choice("abcdefgh_") for _ in range(7)) for _ in range(9000)]
    compared = []
    monkeypatch.setattr(
        "tfadvisor.advice.flags.settings.get_close_matches",
        lambda one, *_: compared.append(one) or [],
    )

    code, out, _ = say(" ".join(f"--{name}=1" for name in names))

    assert code == 0
    assert "9000 settings" in out
    assert set(compared) == set(names[:20])


@pytest.mark.parametrize(
    "flags",
    [
        "--xla_dump_to=\x1b[31mred\x07",
        "X\x1b[2J=1",
        "--xla_\x00=1",
        "\u202e--xla_dump_to=x",
        "--xla_dump_to=[bold]loud[/bold]",
        "<script>alert(1)</script>=1",
        "XLA_FLAGS='--a\x9b31m=1'",
        "--\ud800=1",
        "=1 == --= --=1 - -- ---",
        "XLA_FLAGS= TF_XLA_FLAGS=' ' LIBTPU_INIT_ARGS=-",
        ";;;&&&|||",
        "`reboot` $(reboot) ${HOME}",
    ],
)
def test_hostile_text_is_shown_and_never_sent(say, flags: str) -> None:
    for form in ("text", "json"):
        code, out, err = say(flags, "--format", form)
        assert code == 0, err
        assert not any(ord(letter) < 32 and letter != "\n" for letter in out)
        assert not any(
            "\u202a" <= letter <= "\u202e" or "\ud800" <= letter <= "\udfff"
            for letter in out
        )
    assert "\x9b" not in out


@pytest.mark.parametrize("seed", range(20))
def test_random_text(say, seed: int) -> None:
    chance = random.Random(seed)
    letters = " -='\"\\;\n$xla_gpu1,XLA_FLAGS\t\x1b\u00e9"

    code, _, _ = say(" " + "".join(chance.choice(letters) for _ in range(300)))

    assert code in (0, 2)


def test_the_installed_command_without_colours() -> None:
    done = subprocess.run(
        [
            str(COMMAND),
            "flags",
            "check",
            "--xla_gpu_autotune_level=0",
            "--fail-on",
            "warning",
        ],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "NO_COLOR": "1"},
    )

    assert done.returncode == 1
    assert done.stderr == ""
    assert "\x1b" not in done.stdout
    assert "warning  --xla_gpu_autotune_level=0" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
@pytest.mark.parametrize(("no_colour", "coloured"), [("", True), ("1", False)])
def test_colours_on_a_terminal_follow_no_color(no_colour: str, coloured: bool) -> None:
    import pty

    main, terminal = pty.openpty()
    environment = {**os.environ, "NO_COLOR": no_colour}
    subprocess.run(
        [str(COMMAND), "flags", "check", "--xla_gpu_autotune_level=0"],
        stdout=terminal,
        env=environment,
        check=False,
    )
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # how Linux says that the other side is closed
        while part := os.read(main, 65536):
            shown += part
    os.close(main)

    assert (b"\x1b[1;33mwarning\x1b[0m" in shown) is coloured
