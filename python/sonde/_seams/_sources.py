"""Looks up the names of seams in the sources of a release, without importing it.

For `sonde doctor` and for tests of releases that cannot run here.
"""

import ast
import os
from typing import Optional

from sonde._seams._seam import Seam


def missing(seam: Seam, folder: str) -> Optional[list[str]]:
    """What a seam does not find in the packages of a folder: names with their modules; empty: it
    would be applied; None: none of its modules is there in source."""
    lacks: list[list[str]] = []
    for module in seam.modules:
        tree = _parse(folder, module)
        if tree is not None:
            names = [part.path for part in seam.parts if not part.optional]
            lacks.append([f"{module}.{name}" for name in names if not _has(tree, name)])
    if not lacks:
        return None
    return [*min(lacks, key=len), *(name for name in seam.reads if not _reads(folder, name))]


def _reads(folder: str, name: str) -> bool:
    module, _, path = name.partition(":")
    tree = _parse(folder, module)
    return tree is not None and _has(tree, path)


def _parse(folder: str, module: str) -> Optional[ast.Module]:
    path = os.path.join(folder, *module.split("."))
    for file in (f"{path}.py", os.path.join(path, "__init__.py")):
        try:
            with open(file, encoding="utf-8") as source:
                return ast.parse(source.read())
        except FileNotFoundError:
            continue
        except (OSError, SyntaxError, ValueError):
            return None
    return None


def _has(tree: ast.Module, path: str) -> bool:
    *owners, name = path.split(".")
    body: list[ast.stmt] = tree.body
    for owner in owners:
        found = [node for node in _statements(body) if getattr(node, "name", None) == owner]
        if not found or not isinstance(found[-1], ast.ClassDef):
            # Taken over from elsewhere, or of native code: not to be seen in the source.
            return owner in _names(body) or owner.startswith("_C")
        if found[-1].bases and name not in _names(found[-1].body) and name != "__init__":
            return _inherits(tree, found[-1], name)
        body = found[-1].body
    return name in _names(body)


def _inherits(tree: ast.Module, owner: ast.ClassDef, name: str) -> bool:
    bases = {base.id for base in owner.bases if isinstance(base, ast.Name)}
    classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name in bases]
    return any(name in _names(node.body) for node in classes)


def _statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """With those of ``if`` and ``try``."""
    found: list[ast.stmt] = []
    for node in body:
        found.append(node)
        for field in ("body", "orelse", "finalbody"):
            if isinstance(node, (ast.If, ast.Try)):
                found += _statements(getattr(node, field, []))
    return found


def _names(body: list[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for node in _statements(body):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names
