"""Checks that a name means one thing: no function or class of a module has the name of one in another package.

A package is a folder of ase_exporter, or a module beside them. Left out are names that begin with an underscore, whose
scope is the module, and functions that are commands, which have the names that users type. duplicate_names.yaml lists
by reason the names that may be used again, and nothing else.
"""

import ast
import sys
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import yaml

from ase_exporter.commands.app import COMMANDS

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "exporter" / "ase_exporter"
ALLOWED = Path(__file__).with_suffix(".yaml")
# As users type them, also those below another one.
TYPED = {*COMMANDS, *chain.from_iterable(each.commands for each in COMMANDS.values())}
_DEFINING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


class Definition(NamedTuple):
    """A function or class of a module. package: its folder or module in ase_exporter."""

    name: str
    package: str
    where: str


def definitions(package: Path) -> Iterator[Definition]:
    """All public functions and classes of all modules."""
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        folder = relative.parts[0]
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, _DEFINING) and not node.name.startswith("_"):
                if folder == "commands" and node.name.replace("_", "-") in TYPED:
                    continue
                yield Definition(node.name, folder, f"{relative}:{node.lineno}")


def problems(found: Iterable[Definition], allowed: Collection[str]) -> Iterator[str]:
    """One line for each name that is used again without a reason, and for each reason that is not needed."""
    by_name: defaultdict[str, list[Definition]] = defaultdict(list)
    for each in found:
        by_name[each.name].append(each)
    again = {name: those for name, those in by_name.items() if len({each.package for each in those}) > 1}
    for name, those in sorted(again.items()):
        if name not in allowed:
            places = ", ".join(each.where for each in those)
            yield f"{name}: {places}: rename all but one, or give a reason in deploy/dev/{ALLOWED.name}"
    for name in sorted(set(allowed) - again.keys()):
        yield f"deploy/dev/{ALLOWED.name}: {name}: no two packages have it: remove the line"


if __name__ == "__main__":
    reasons = yaml.safe_load(ALLOWED.read_text(encoding="utf-8"))
    allowed = [name for each in reasons for name in each["names"]]
    sys.exit("\n".join(problems(definitions(PACKAGE), allowed)) or 0)
