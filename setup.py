"""Finds the packages and compiles the rules into the wheel; everything else is in
pyproject.toml.
"""

import sys
from pathlib import Path

from setuptools import find_namespace_packages, find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent


class BuildWithCompiledRules(build_py):
    """Puts `catalogue.py` beside the rules; a checkout installed for editing goes
    without and reads its YAML.
    """

    def run(self) -> None:
        """Runs after the sources are copied."""
        super().run()
        if not self.editable_mode:
            sys.path.insert(0, str(ROOT))
            from tfadvisor.advice.loading.catalogue import compile_rules

            compile_rules(ROOT / "rules", Path(self.build_lib) / "tfadvisor" / "rules")


RULES = [
    f"tfadvisor.rules.{name}"
    for name in find_namespace_packages(str(ROOT / "rules"))
    if name != "__pycache__"
]

setup(
    packages=[
        *find_packages(str(ROOT), include=["tfadvisor", "tfadvisor.*"]),
        "tfadvisor.rules",
        *RULES,
    ],
    cmdclass={"build_py": BuildWithCompiledRules},
)
