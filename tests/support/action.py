"""The steps of action.yml as GitHub's runner takes them: expressions put in, conditions
asked, scripts given to a shell.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from support.places import ROOT

ACTION: Mapping[str, Any] = yaml.safe_load(
    (ROOT / "action.yml").read_text(encoding="utf-8")
)
_EXPRESSION = re.compile(r"\$\{\{\s*(.+?)\s*\}\}")


class Done(NamedTuple):
    """A job: the exit code of the first step that failed, what all printed, and what
    the action gave back.
    """

    code: int
    log: str
    outputs: Mapping[str, str]


class Runner:
    """A job with this action. shell: what runs the scripts."""

    def __init__(self, folder: Path, shell: str, **github: Any) -> None:
        """folder: for what a runner keeps; the checkout lies in it. github: of the
        event.
        """
        self.checkout, self.temp, self.bin = (
            folder / "checkout",
            folder / "temp",
            folder / "bin",
        )
        for one in (self.checkout, self.temp, self.bin):
            one.mkdir(parents=True, exist_ok=True)
        self.shell = shell
        self.github = {"token": "a-token", "event_name": "push", **github}
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("GITHUB_", "INPUT_", "CI_"))
        }
        self.env = {
            **kept,
            "PATH": os.pathsep.join([str(self.bin), kept["PATH"]]),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_ACTIONS": "true",
            "GITHUB_OUTPUT": str(folder / "output"),
            "GITHUB_STEP_SUMMARY": str(folder / "summary.md"),
            "GITHUB_REPOSITORY": "somebody/model",
            "GITHUB_SERVER_URL": "https://github.test",
            "GITHUB_RUN_ID": "77",
            "RUNNER_TEMP": str(self.temp),
        }

    def program(self, name: str, script: str) -> None:
        """A program that the scripts find first."""
        file = self.bin / name
        file.write_text(script, encoding="utf-8")
        file.chmod(0o755)

    def job(self, **inputs: str) -> Done:
        """Runs the steps. Raises KeyError for an input that the action does not
        have.
        """
        known = {
            name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()
        }
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert {*given} <= {*known}, given
        context = {
            "inputs": {
                name: self._filled(value, {})
                for name, value in {**known, **given}.items()
            }
        }
        code, log = 0, ""
        for step in ACTION["runs"]["steps"]:
            if not self._asked(step.get("if", "success()"), context, failed=code != 0):
                continue
            env = {
                name: self._filled(value, context)
                for name, value in step.get("env", {}).items()
            }
            done = self._run(step["run"], env)
            log += done.stdout
            code = code or done.returncode
        output = Path(self.env["GITHUB_OUTPUT"])
        lines = (
            output.read_text(encoding="utf-8").splitlines() if output.exists() else []
        )
        return Done(code, log, dict(line.split("=", 1) for line in lines))

    def _run(
        self, script: str, env: Mapping[str, str]
    ) -> subprocess.CompletedProcess[str]:
        """As `shell: bash` does: the script in a file, to a shell that stops at the
        first error.
        """
        file = self.temp / "script.sh"
        file.write_text(script, encoding="utf-8")
        flags = (
            ["--noprofile", "--norc", "-e", "-o", "pipefail"]
            if self.shell == "bash"
            else ["-e"]
        )
        return subprocess.run(
            [self.shell, *flags, str(file)],
            cwd=self.checkout,
            env={**self.env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            check=False,
        )

    def _filled(self, text: str, context: Mapping[str, Any]) -> str:
        return _EXPRESSION.sub(lambda match: str(self._value(match[1], context)), text)

    def _value(self, path: str, context: Mapping[str, Any]) -> Any:
        found: Any = {
            "github": self.github,
            "runner": {"temp": str(self.temp)},
            **context,
        }
        for part in path.split("."):
            found = found[part]
        return found

    def _asked(
        self, condition: str, context: Mapping[str, Any], *, failed: bool
    ) -> bool:
        """Conditions of `a == 'b'`, `a != 'b'`, success() and always(), joined
        by &&.
        """
        parts = [part.strip() for part in condition.split("&&")]
        asked = [part for part in parts if part not in ("always()", "success()")]
        if failed and "always()" not in parts:
            return False
        for part in asked:
            path, sign, word = re.fullmatch(
                r"([\w.-]+) (==|!=) '([^']*)'", part
            ).groups()  # type: ignore[union-attr]
            if (self._value(path, context) == word) is (sign == "!="):
                return False
        return True
