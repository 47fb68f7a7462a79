"""Can an agent mend a program by what `tfadvisor mcp` answers alone?

python benchmarks/agent_by_mcp.py ROOT --script train.py [--most 3] -o fix.diff

ROOT holds a program and a recording of it; the program is its script and the packages
below. The agent is a script without a model: it
takes the findings in their order and makes the first edit that it can, either the patch
of `fix`, or what stands Before and After the first fix, by three rules:

- After begins with a decorator above `def NAME(`: NAME gets it.
- a statement of Before is the line at the finding's place but for names: After's takes
  its place with these names, and so do those above it of which this holds too.
- After calls `model.compile(…, KEY=VALUE)`: the program's only such call gets it.

It prints what it asked and what it did; `tfadvisor try --patch fix.diff` then measures
the edit. Needs the `mcp` extra.
"""

from __future__ import annotations

import argparse
import ast
import asyncio
import difflib
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters


class Refused(Exception):
    """What a tool says instead of an answer."""


class Agent:
    """A session with the server over one folder."""

    def __init__(self, client: Client, root: Path, script: str) -> None:
        self.client, self.root, self.script = client, root, script

    async def asks(self, tool: str, **arguments: Any) -> str:
        """The tool's answer. Raises Refused for an error."""
        found = await self.client.call_tool(tool, arguments)
        text = "".join(part.text for part in found.content)
        given = ", ".join(f"{name}={value}" for name, value in arguments.items())
        print(f"{tool}({given}): {text.strip().splitlines()[0][:160]}")
        if found.is_error:
            raise Refused(text)
        return text

    async def mends(self, most: int) -> str:
        """A diff; "" where no edit can be made of the first findings."""
        run = json.loads(await self.asks("list_runs"))["runs"][0]["path"]
        brief = await self.asks("analyze", path=run)
        rules = re.findall(r"^\d+\. .*\(([a-z0-9-]+)\)$", brief, re.MULTILINE)
        full = await self.asks(
            "analyze", path=run, detail="full", sections=["findings"]
        )
        findings = {one["rule_id"]: one for one in json.loads(full)["findings"]}
        for rule in rules[:most]:
            found = await self.patch(run, rule) or edited(
                findings[rule], self.sources()
            )
            if found:
                print(f"edit: {rule}")
                return found
            print(f"no edit: {rule}")
        return ""

    async def patch(self, run: str, rule: str) -> str:
        """What `fix` answers, without its words."""
        answer = await self.asks("fix", path=run, source=self.script, rule=rule)
        lines = answer.splitlines()
        if not answer.startswith("--- "):
            return ""
        return "\n".join(lines[: lines.index("")]) + "\n"

    def sources(self) -> dict[str, str]:
        """The program, as any agent reads it."""
        names = [
            path.relative_to(self.root) for path in sorted(self.root.rglob("*.py"))
        ]
        return {
            str(name): (self.root / name).read_text("utf-8", "replace")
            for name in names
            if str(name) == self.script
            or (name.parent.name and not name.name.startswith("test_"))
        }


def edited(finding: Mapping[str, Any], sources: Mapping[str, str]) -> str:
    """The diff that the first fix asks for; "" where no rule applies."""
    for fix in finding["fixes"][:1]:
        for change in (decorated, replaced, with_keyword):
            for name, text in change(finding, fix, sources):
                before = sources[name].splitlines(keepends=True)
                after = text.splitlines(keepends=True)
                return "".join(
                    difflib.unified_diff(before, after, f"a/{name}", f"b/{name}")
                )
    return ""


Edits = Iterator[tuple[str, str]]
Names = dict[str, str]


def decorated(
    _finding: Mapping[str, Any], fix: Mapping[str, Any], sources: Mapping[str, str]
) -> Edits:
    """The function that After shows under a decorator."""
    found = re.match(r"(@\S+).*\n+def (\w+)\(", fix["snippet"])
    if found is None:
        return
    head = re.compile(rf"^( *)def {found[2]}\(", re.MULTILINE)
    where = [name for name, text in sources.items() if len(head.findall(text)) == 1]
    if len(where) == 1:
        text = sources[where[0]]
        yield where[0], head.sub(rf"\1{found[1]}\n\g<0>", text)


def replaced(
    finding: Mapping[str, Any], fix: Mapping[str, Any], sources: Mapping[str, str]
) -> Edits:
    """The statement at the finding's place, and those above that Before has too."""
    pairs = list(
        zip(statements(fix["before"]), statements(fix["snippet"]), strict=False)
    )
    for place in finding["locations"]:
        files = [one for one in sources if one.endswith(place.get("file") or "/")]
        if len(files) != 1 or not place["line"]:
            continue
        lines = sources[files[0]].splitlines(keepends=True)
        for at, (before, after) in enumerate(pairs):
            names = taken(before, after, lines, place["line"] - 1, {})
            if names is None:
                continue
            for earlier in pairs[:at]:
                above = range(place["line"] - 2, -1, -1)
                any(taken(*earlier, lines, row, names) is not None for row in above)
            yield files[0], "".join(lines)


def taken(
    before: ast.stmt, after: ast.stmt, lines: list[str], row: int, known: Names
) -> Names | None:
    """Their names, where a line is Before's but for names, with After in its place."""
    theirs = statements(lines[row].strip())
    names = unified(before, theirs[0], known) if len(theirs) == 1 else None
    if names is not None and ast.dump(before) != ast.dump(after):
        indent = lines[row][: len(lines[row]) - len(lines[row].lstrip())]
        lines[row] = indent + renamed(ast.unparse(after), names) + "\n"
    return names


def with_keyword(
    _finding: Mapping[str, Any], fix: Mapping[str, Any], sources: Mapping[str, str]
) -> Edits:
    """The only call of `.compile(` in the program, with After's keyword."""
    found = re.search(r"model\.compile\([^)]*?(\w+=\w+)\)", fix["snippet"])
    calls = {
        name: text.count(".compile(")
        for name, text in sources.items()
        if ".compile(" in text
    }
    if found is None or list(calls.values()) != [1]:
        return
    (name,) = calls
    yield name, sources[name].replace(".compile(", f".compile({found[1]}, ")


def statements(text: str) -> list[ast.stmt]:
    """The simple ones of Python, in their order; none where it is none."""
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return []
    simple = [one for one in ast.walk(tree) if isinstance(one, (ast.Assign, ast.Expr))]
    return sorted(simple, key=lambda one: one.lineno)


def unified(ours: ast.AST, theirs: ast.AST, known: Names) -> Names | None:
    """Their expression for each of our names; None where more than names differs."""
    pairs = dict(known)

    def same(one: Any, other: Any) -> bool:
        if isinstance(one, ast.Name) and isinstance(other, ast.expr):
            text = ast.unparse(other)
            return pairs.setdefault(one.id, text) == text
        if type(one) is not type(other):
            return False
        if isinstance(one, ast.AST):
            return all(same(getattr(one, at), getattr(other, at)) for at in one._fields)
        if isinstance(one, list):
            return len(one) == len(other) and all(map(same, one, other))
        return isinstance(one, ast.expr_context) or one == other

    return pairs if same(ours, theirs) else None


def renamed(text: str, names: Mapping[str, str]) -> str:
    """With each name replaced by theirs."""
    return re.sub(r"(?<![.\w])\w+", lambda found: names.get(found[0], found[0]), text)


async def session(root: Path, script: str, most: int) -> str:
    """The diff of one agent."""
    words = ["-m", "tfadvisor", "mcp", "--root", str(root)]
    server = StdioServerParameters(command=sys.executable, args=words)
    async with Client(server, mode="legacy") as client:
        return await Agent(client, root, script).mends(most)


def main(arguments: Sequence[str]) -> int:
    """1 where no edit was made."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("root", type=Path)
    parser.add_argument("--script", required=True, help="as it lies in ROOT")
    parser.add_argument("--most", type=int, default=3, help="findings that it takes")
    parser.add_argument("-o", "--output", type=Path, required=True)
    asked = parser.parse_args(arguments)
    diff = asyncio.run(session(asked.root.resolve(), asked.script, asked.most))
    asked.output.write_text(diff, encoding="utf-8")
    sys.stdout.write(diff)
    return 0 if diff else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
