"""The package's own source, parsed once: what the tests of its structure read."""

from __future__ import annotations

import ast
from collections import Counter
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "falkirk"
# Whoever calls the package from here is a user of what it has.
BESIDE = ("tools", "benchmarks", "demo", "examples")
GENERATED = ("protocol/messages/", "versions/layouts.py")

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(eq=False)
class Module:
    """One file. `path`: from the package on, or from the root for what stands beside it."""

    path: str
    name: str
    tree: ast.Module
    lines: int
    nodes: list[ast.AST] = field(default_factory=list)

    @property
    def is_generated(self) -> bool:
        return self.path.startswith(GENERATED)

    def of(self, *kinds: type) -> Iterator:
        return (node for node in self.nodes if isinstance(node, kinds))

    @cached_property
    def imported(self) -> set[tuple[str, str]]:
        """Modules and names in them that are imported, or read as an attribute of an imported module."""
        found, modules = set(), {}
        for node in self.of(ast.ImportFrom):
            for alias in node.names:
                found.add((node.module or "", alias.name))
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for node in self.of(ast.Import):
            modules |= {alias.asname or alias.name: alias.name for alias in node.names}
        for node in self.of(ast.Attribute):
            if isinstance(node.value, ast.Name) and node.value.id in modules:
                found.add((modules[node.value.id], node.attr))
        return found

    @cached_property
    def names(self) -> Counter[str]:
        return names_in(self.nodes)


def names_in(nodes) -> Counter[str]:
    """Count each identifier that is used, in whatever way; not those that are defined or imported."""
    found: Counter[str] = Counter()
    for node in nodes:
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=str(name)):
                found[name] += 1
            case ast.MatchClass(kwd_attrs=names):
                found.update(names)
            case ast.Constant(value=str(text)) if text.isidentifier():
                found[text] += 1
    return found


@cache
def modules() -> list[Module]:
    """All modules of the package, generated ones too."""
    return [_read(path, PACKAGE, "falkirk") for path in sorted(PACKAGE.rglob("*.py"))]


@cache
def written_modules() -> list[Module]:
    return [module for module in modules() if not module.is_generated]


@cache
def modules_beside() -> list[Module]:
    paths = (path for folder in BESIDE for path in sorted((ROOT / folder).rglob("*.py")))
    return [_read(path, ROOT, "") for path in paths]


def own_nodes(function: Function) -> Iterator[ast.AST]:
    """Nodes of a function without those of functions and classes inside it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, Definition | ast.Lambda):
            yield child
            yield from own_nodes(child)


def _read(path: Path, root: Path, package: str) -> Module:
    text = path.read_text()
    relative = path.relative_to(root)
    parts = [package, *relative.with_suffix("").parts] if package else list(relative.with_suffix("").parts)
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    tree = ast.parse(text)
    return Module(relative.as_posix(), name, tree, len(text.splitlines()), list(ast.walk(tree)))
