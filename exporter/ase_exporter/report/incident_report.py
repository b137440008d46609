"""A report on what a state directory holds of a server: the incidents that were kept, and its changes."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from ase_exporter.analysis.profile import empty_tables
from ase_exporter.catalogue.wait_parts import CPU
from ase_exporter.changes.store import FILE, ChangeFilter, read_history
from ase_exporter.diagnosis.load_profile import MAX_ROWS, mean_by_name
from ase_exporter.errors import UserError
from ase_exporter.pages.render import render
from ase_exporter.pages.text import as_count
from ase_exporter.sessions.blocking import blocking_trees
from ase_exporter.sessions.incidents import Incidents
from ase_exporter.sessions.statements import summed_statements

MAX_CHANGES = 40
NOT_KEPT = "it is not kept; --prometheus or --recording has it"


def state_page(directory: Path, target: str) -> str:
    """The report as HTML. target: '' if incidents of one server alone are kept. Raises UserError without any."""
    if not directory.is_dir():
        raise UserError(f"--state-dir: {directory}: expected the directory that serve was given")
    kept = [each for each in Incidents(directory, 0).all() if target in ("", each.target)]
    names = sorted({each.target for each in kept})
    if not names:
        raise UserError(f"--state-dir: {directory}: expected incidents that serve has kept, of this server")
    if len(names) > 1:
        raise UserError(f"--state-dir: {directory}: expected --target, one of {', '.join(names)}")
    snapshots = [each.snapshot for each in kept]
    chains = [blocking_trees(each.sessions) for each in snapshots]
    worst = max(range(len(kept)), key=lambda number: len(chains[number]))
    unread = next(filter(None, (each.unread for each in snapshots)), "")
    active = [[each for each in moment.sessions if each.active] for moment in snapshots if not moment.unread]
    # By section: means over the moments that were kept.
    waiting = [[each for each in moment if each.event and each.doing != CPU] for moment in active]
    waits = mean_by_name(Counter(each.event for each in moment) for moment in waiting)
    objects = mean_by_name(Counter(each.object for each in moment if each.object) for moment in active)
    known: dict[str, dict[str, Any]] = {
        "waits": {"rows": waits, "unit": "sessions that wait for it, on average", "reason": unread},
        "objects": {"rows": objects, "unit": "active sessions on it, on average", "reason": unread},
    }
    # An alert that asks for an incident has no time account.
    if accounts := [each.content["account"] for each in kept if each.content.get("account")]:
        known["account"] = {"rows": mean_by_name(accounts)}
    wanted = ChangeFilter(target=names[0], limit=MAX_CHANGES)
    return render(
        "state.html",
        title=f"{names[0]}: what was kept of {as_count(len(kept), 'incident')}",
        kept=list(zip(kept, snapshots, strict=True)),
        not_kept=NOT_KEPT,
        sections={
            name: replace(each, **known.get(name, {"reason": NOT_KEPT}))
            for name, each in empty_tables().items()
        },
        statements=summed_statements(each.statements for each in snapshots)[:MAX_ROWS],
        blocked_at=snapshots[worst].at,
        links=chains[worst][:MAX_ROWS],
        unread=unread,
        changes=read_history(directory, wanted) if (directory / FILE).is_file() else None,
    )
