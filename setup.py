"""Compiles the rules into the wheel; everything else is in pyproject.toml."""

import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class BuildWithCompiledRules(build_py):
    """Puts `catalogue.py` beside the rules; a checkout installed for editing goes without and reads its YAML."""

    def run(self) -> None:
        """Runs after the sources are copied."""
        super().run()
        if not self.editable_mode:
            sys.path.insert(0, str(ROOT))
            from tfadvisor.engine.compiled_rules import compile_rules  # noqa: PLC0415

            compile_rules(ROOT / "rules", Path(self.build_lib) / "tfadvisor" / "rules")


setup(cmdclass={"build_py": BuildWithCompiledRules})
