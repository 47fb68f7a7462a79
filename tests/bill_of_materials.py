"""The software bill of materials of a wheel, as CycloneDX 1.5 JSON: what it needs, and
what is built into its page.

python tests/bill_of_materials.py WHEEL > WHEEL.cdx.json
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from collections.abc import Iterator
from email.parser import Parser
from pathlib import Path
from typing import Any
from zipfile import ZipFile

LOCK = Path(__file__).parents[1] / "web" / "package-lock.json"
IN_THE_PAGE = "echarts"
"""The one library that web/src imports."""


def bill_of(wheel: Path) -> str:
    """The same text for the same wheel."""
    with ZipFile(wheel) as archive:
        (name,) = (
            one for one in archive.namelist() if one.endswith(".dist-info/METADATA")
        )
        about = Parser().parsestr(archive.read(name).decode("utf-8"))
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "tfadvisor",
                "name": about["Name"],
                "version": about["Version"],
                "purl": f"pkg:pypi/{about['Name']}@{about['Version']}",
                "licenses": [
                    {"expression": about["License-Expression"] or "Apache-2.0"}
                ],
                "hashes": [{"alg": "SHA-256", "content": digest}],
            }
        },
        "components": [*_needed(about.get_all("Requires-Dist") or []), *_built_in()],
    }
    return json.dumps(bill, indent=2) + "\n"


def _needed(requirements: list[str]) -> Iterator[dict[str, Any]]:
    """What pip installs with it; what an extra brings is optional."""
    for one in requirements:
        found = re.match(r"([\w.-]+)(\[[^\]]*\])?\s*([^;]*)(;.*)?$", one)
        if found is None:
            raise ValueError(f"{one}: is no requirement")
        name, bounds, marker = found[1], found[3].strip(), (found[4] or "").lstrip("; ")
        yield {
            "type": "library",
            "name": name,
            "purl": f"pkg:pypi/{name.lower().replace('_', '-')}",
            "scope": "optional" if "extra ==" in marker else "required",
            "properties": [
                {
                    "name": "tfadvisor:requirement",
                    "value": f"{bounds or 'any'} {marker}".strip(),
                }
            ],
        }


def _built_in() -> Iterator[dict[str, Any]]:
    """Packages whose code is inside `page.html`, at the versions that it was built
    with: its library and what that needs.
    """
    packages = json.loads(LOCK.read_text(encoding="utf-8"))["packages"]
    waiting = [f"node_modules/{IN_THE_PAGE}"]
    while waiting:
        place = waiting.pop()
        package, name = packages[place], place.rpartition("node_modules/")[2]
        yield {
            "type": "library",
            "name": name,
            "version": package["version"],
            "purl": f"pkg:npm/{name.replace('@', '%40')}@{package['version']}",
            "scope": "required",
        }
        for needed in package.get("dependencies", {}):
            nested = f"{place}/node_modules/{needed}"
            waiting.append(nested if nested in packages else f"node_modules/{needed}")


if __name__ == "__main__":
    sys.stdout.write(bill_of(Path(sys.argv[1])))
