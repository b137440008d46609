"""`ase-exporter incidents`: what `serve` kept of the moments at which findings began."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import RenderableType

from ase_exporter.errors import UserError
from ase_exporter.sessions.incidents import Incident, Incidents
from ase_exporter.untrusted.terminal import PlainConsole, TextLine, WordTable

# Sessions and statements of one incident that are printed; --json prints all.
_MAX_ROWS = 20


def incidents(state_directory: Path, name: str = "", target: str = "", as_json: bool = False) -> None:
    kept = Incidents(state_directory, 0)
    if not state_directory.is_dir():
        raise UserError(f"--state-dir: {state_directory}: expected the directory that serve was given")
    if name:
        found = kept.one(name)
        if as_json:
            print(json.dumps(found.content, ensure_ascii=False))
        else:
            PlainConsole().print(*_one(found), sep="\n")
        return
    chosen = [each for each in kept.all() if target in ("", each.target)]
    if as_json:
        for each in chosen:
            print(json.dumps({"id": each.id, **each.content}, ensure_ascii=False))
    elif chosen:
        rows = [(each.id, each.target, each.finding, _doing(each)) for each in chosen]
        PlainConsole().print(WordTable(["incident", "server", "finding", "active sessions"], rows))
    else:
        said = "No incident is kept: no alert asked for one."
        PlainConsole().print(TextLine(said))


def _doing(found: Incident) -> str:
    return ", ".join(f"{number} {doing}" for doing, number in found.content.get("active", {}).items())


def _one(found: Incident) -> Iterator[RenderableType]:
    content = found.content
    yield TextLine(f"{found.target}  {content['time']}  {found.finding}", "bold")
    yield TextLine(f"Active sessions: {_doing(found) or 'none'}")
    if later := content.get("later"):
        yield TextLine(f"A minute later: {', '.join(f'{number} {doing}' for doing, number in later.items())}")
    parts = sorted(content.get("account", {}).items(), key=lambda part: -part[1])
    yield TextLine(
        "Time account: " + (", ".join(f"{part} {value:.1f} s/s" for part, value in parts) or "not known")
    )
    for steps in content.get("next", {}).values():
        for step in steps:
            yield TextLine(f"Next: {step}")
    by_spid = {each["spid"]: each for each in content["sessions"]}
    chains = [by_spid[each["spid"]] | each for each in content.get("blocking", ()) if each["spid"] in by_spid]
    yield from _table(
        "Who blocks whom", chains, ("depth", "spid", "blocks", "login", "statement", "object", "lock")
    )
    columns = ("spid", "doing", "seconds", "login", "program", "database", "statement", "object")
    yield from _table("Sessions", content["sessions"], columns)
    costs = ("name", "database", "uses", "cpu", "elapsed", "reads", "reads_each", "change")
    yield from _table("Statements", content.get("statements", ()), costs)


def _table(title: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Iterator[RenderableType]:
    yield ""
    if not rows:
        yield TextLine(f"{title}: none")
        return
    yield TextLine(title, "bold")
    yield WordTable(
        list(columns), [tuple(_shown(row.get(name)) for name in columns) for row in rows[:_MAX_ROWS]]
    )
    if len(rows) > _MAX_ROWS:
        yield TextLine(f"({len(rows) - _MAX_ROWS} more, with --json)")


def _shown(cell: Any) -> str:
    return "-" if cell in (None, "") else f"{cell:g}" if isinstance(cell, float) else str(cell)
