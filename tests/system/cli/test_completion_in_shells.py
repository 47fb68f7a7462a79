"""The completion scripts in their shells, where those are installed; PowerShell's by what it asks of the program."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

COMMANDS = Path(sys.executable).parent
BASH = """
source "$1"
COMP_WORDS=($2) COMP_CWORD=$(( ${#COMP_WORDS[@]} - 1 ))
_tfadvisor_completion
printf '%s\\n' "${COMPREPLY[@]}"
"""
FISH = "source $argv[1]; complete --do-complete $argv[2]"
ZSH = r"""
zmodload zsh/zpty
zpty -b shell zsh -f -i
zpty -w shell "PS1=; autoload -Uz compinit; compinit -u -D; source ${(q)1}; print re''ady"
zpty -r shell said '*ready*'
zpty -w -n shell "$2"$'\t'
zpty -r shell said "*$3*"
print -r -- $said
zpty -d shell
"""
SHELLS = {
    "bash": ("bash", "--norc", "-c", BASH, "bash"),
    "zsh": ("zsh", "-f", "-c", ZSH, "zsh"),
    "fish": ("fish", "--no-config", "-c", FISH),
}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("typed", "offered"), [("tfadvisor an", "analyze"), ("tfadvisor rules show input-not-pre", "input-not-prefetched")]
)
def test_a_shell_completes(shell: str, typed: str, offered: str, tmp_path: Path) -> None:
    program = shutil.which(SHELLS[shell][0])
    if program is None:
        pytest.skip(f"{SHELLS[shell][0]} is not installed")
    found = {**os.environ, "PATH": f"{COMMANDS}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path), "TERM": "dumb"}
    script = tmp_path / "script"
    script.write_bytes(
        subprocess.run(["tfadvisor", "completion", shell], env=found, capture_output=True, check=True).stdout
    )

    done = subprocess.run(
        [program, *SHELLS[shell][1:], str(script), typed, offered],
        env=found,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert offered in done.stdout, done.stderr


@pytest.mark.parametrize(
    ("typed", "word", "offered"),
    [
        ("tfadvisor an", "an", "analyze"),
        ("tfadvisor rules", "", "list"),  # PowerShell leaves out the space behind the last word
        ("tfadvisor rules show input-not-pre", "input-not-pre", "input-not-prefetched"),
    ],
)
def test_powershell_gets_what_its_script_asks_for(typed: str, word: str, offered: str) -> None:
    """Every line that the script splits has a value and a text: PowerShell refuses a completion without one."""
    program = COMMANDS / "tfadvisor"
    script = subprocess.run([program, "completion", "powershell"], capture_output=True, text=True, check=True).stdout
    given = {"$commandAst.ToString()": typed, "$wordToComplete": word}
    asked = {
        name: given.get(value, value.strip('"'))
        for name, value in re.findall(r"\$Env:(\w+) = (\S+)", script)
        if value != '""'
    }

    done = subprocess.run([program], env={**os.environ, **asked}, capture_output=True, text=True, check=True)

    lines = [line.split(":::") for line in done.stdout.splitlines()]
    assert offered in [line[0] for line in lines]
    assert all(len(line) == 2 and line[0] and line[1] for line in lines)
    assert asked["_TFADVISOR_COMPLETE"] == "complete_powershell"
