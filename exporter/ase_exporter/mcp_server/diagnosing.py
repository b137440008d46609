"""The tool diagnose: why a server is slow, from any cause."""

from ase_exporter.analysis.diagnosing import diagnose_window
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.compare.windows import Span
from ase_exporter.diagnosis.account import Account
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.mcp_server import inputs
from ase_exporter.mcp_server.answers import Diagnosed, PartOf
from ase_exporter.mcp_server.certainty import certainty
from ase_exporter.mcp_server.overview import window
from ase_exporter.mcp_server.sources import Sources

# Seconds before the window in which a change may be the cause, and how many changes are listed.
CHANGES_BEFORE = 3600.0
MAX_CHANGES = 10


def diagnose(sources: Sources, arguments: inputs.Window) -> Diagnosed:
    """Why a server is slow, or that nothing is wrong, in a window: causes by the session time that each explains.

    Give the time since which it is slow as start: it is compared with the time before. What is not judged is not
    well: say so, and name the option that it needs.
    """
    selector, span = window(sources, arguments)
    with sources.connect() as prometheus:
        found, covered = diagnose_window(prometheus, selector, span)
        changes = sources.changes(prometheus, arguments.server, span.start - CHANGES_BEFORE, span.end)
        sure = certainty(prometheus, selector, span, covered.seconds if covered else None)
        fired = _alerts_fired(prometheus, selector, span)
    return Diagnosed.of(
        server=arguments.server,
        window=covered or span,
        says=f"{found.word}: {found.text}",
        level=found.level,
        causes=found.findings,
        account=_account(found.account),
        not_judged=found.unknown,
        changes=changes[-MAX_CHANGES:],
        alerts_fired=fired,
        certainty=sure,
    )


def _alerts_fired(prometheus: Prometheus, selector: str, span: Span) -> list[str]:
    width = f"[{max(1, round(span.seconds))}s]"
    fired = prometheus.query(f'last_over_time(ALERTS{{alertstate="firing", {selector}}}{width})', span.end)
    return sorted({each.labels.get("alertname", "") for each in fired})


def _account(account: Account) -> list[PartOf]:
    return [
        PartOf(
            part=definition.title,
            sessions=account.parts.get(name),
            share=account.share(name),
            session_seconds_per_transaction=account.per_transaction(name),
        )
        for name, definition in catalogue().account.items()
    ]
