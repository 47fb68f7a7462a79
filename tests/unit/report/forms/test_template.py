"""The built page in the package: fresh, alone, and closed to everything outside."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest
from support.places import ROOT

WEB = ROOT / "web"
TEMPLATE = (ROOT / "tfadvisor" / "report" / "forms" / "page.html").read_text(
    encoding="utf-8"
)
BUILT_FROM = (
    "one_page.ts",
    "package-lock.json",
    "package.json",
    "page.template.html",
    "tsconfig.json",
    "vite.config.ts",
)


def sha256(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def inside(tag: str) -> list[str]:
    return re.findall(rf"<{tag}>(.*?)</{tag}>", TEMPLATE, re.DOTALL)


@pytest.mark.skipif(
    not WEB.is_dir(), reason="the page's sources are not beside this package"
)
def test_the_page_is_built_from_the_sources_beside_it() -> None:
    """Fails after an edit in web/ until `npm ci && npm run build` has been run
    there.
    """
    files = [
        *BUILT_FROM,
        *(
            path.relative_to(WEB).as_posix()
            for path in (WEB / "src").rglob("*")
            if path.is_file()
        ),
    ]
    digest = hashlib.sha256()
    for file in sorted(files):
        content = (WEB / file).read_bytes()
        digest.update(f"{file}\n{len(content)}\n".encode() + content)

    assert f'<meta name="sources" content="{digest.hexdigest()}">' in TEMPLATE


def test_only_its_own_script_and_styles_may_run() -> None:
    (script,), (styles,) = inside("script"), inside("style")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', TEMPLATE)

    assert policy is not None
    assert policy.group(1).startswith("default-src 'none';")
    assert f"script-src '{sha256(script)}'" in policy.group(1)
    assert f"style-src '{sha256(styles)}'" in policy.group(1)
    assert "unsafe" not in policy.group(1)


def test_nothing_is_loaded_from_elsewhere() -> None:
    before_script = TEMPLATE.partition("<script>")[0]

    assert not re.findall(r"""(?:src|href)=["'](?!data:)""", before_script)
    assert "@import" not in before_script
    assert "url(" not in before_script


def test_it_is_light() -> None:
    assert len(TEMPLATE.encode()) < 700_000
