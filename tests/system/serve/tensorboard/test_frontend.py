"""What the tab's frame loads: no script or style inside the document, nothing from
elsewhere.
"""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

pytest.importorskip("tensorboard", reason="TensorBoard is not installed")

from tfadvisor.serve.tensorboard.plugin import files


def test_the_document_holds_no_script_and_no_style() -> None:
    document = files()["/tab.html"].content

    assert re.findall(r"<script[^>]*>(?!</script>)", document) == []
    assert "<style" not in document
    assert len(document) < 3_000


def test_its_policy_allows_its_own_server_alone() -> None:
    policy = re.search(
        r'Content-Security-Policy" content="([^"]*)"', files()["/tab.html"].content
    )

    assert policy is not None
    assert policy.group(1).startswith(
        "default-src 'none'; connect-src 'self'; script-src 'self'; style-src 'self';"
    )
    assert "unsafe" not in policy.group(1)
    assert "require-trusted-types-for 'script'" in policy.group(1)


def test_addresses_are_relative_and_change_with_the_content() -> None:
    addresses = re.findall(r'(?:src|href)="([^"]*)"', files()["/tab.html"].content)

    assert [re.sub(r"[0-9a-f]{16}", "X", one) for one in addresses] == [
        "data:,",
        "tab.css?X",
        "tab.js?X",
    ]


def test_neither_the_package_nor_its_command_imports_tensorboard() -> None:
    code = (
        "import sys, tfadvisor, tfadvisor.analysis, tfadvisor.cli.main, "
        "tfadvisor.serve.tensorboard.worker;"
        "print([name for name in sys.modules if name.split('.')[0] in "
        "('tensorboard', 'werkzeug')])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
