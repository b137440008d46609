"""The tools servers, diagnose and advise."""

import time

from ase_exporter.advise.advice import advise as weigh
from ase_exporter.compare.marks import ask_exporter
from ase_exporter.compare.prometheus import Prometheus, range_text
from ase_exporter.compare.request import server_selector
from ase_exporter.compare.windows import Span
from ase_exporter.config.times import moment_option
from ase_exporter.diagnosis.account import Account
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import inputs
from ase_exporter.mcp_server.answers import (
    Advised,
    Diagnosed,
    FindingOf,
    KnownServer,
    PartOf,
    Servers,
)
from ase_exporter.mcp_server.sources import Sources, certainty
from ase_exporter.report.diagnosing import diagnose_window
from ase_exporter.report.evidence import evidence

MAX_RANGE = 31 * 86400.0
MAX_SERVERS = 1000
# Seconds before the window in which a change may be the cause, and how many changes are listed.
CHANGES_BEFORE = 3600.0
MAX_CHANGES = 10
_SHOWN = ("protects", "current", "steps", "cautions", "sources")


def servers(sources: Sources, arguments: inputs.Arguments) -> Servers:
    """All servers that Prometheus has, or had within a day, and those that the exporter is configured to scrape.

    Those that the recorded diagnosis finds worst come first.
    """
    with sources.connect() as prometheus:
        now, seen, ranked, info = (
            {each.labels.get("instance", ""): each for each in prometheus.query(query)}
            for query in (
                f"ase_up{{{sources.selector}}}",
                f"last_over_time(ase_up{{{sources.selector}}}[1d])",
                f"ase:diagnosis_first:rank{{{sources.selector}}}",
                f"last_over_time(ase_info{{{sources.selector}}}[1d])",
            )
        )
        notes = list(prometheus.warnings)
    configured = _configured(sources)
    found = sorted(
        seen.keys() | now.keys(),
        key=lambda name: (-ranked[name].value if name in ranked else 0.0, name),
    )
    known = [
        KnownServer.of(
            server=name,
            scraped="no data" if name not in now else "up" if now[name].value else "down",
            version=(info[name].labels.get("version") if name in info else None) or None,
            diagnosis=ranked[name].labels.get("word") if name in ranked else None,
            source="prometheus and exporter" if name in configured else "prometheus",
        )
        for name in found
    ]
    known += [
        KnownServer.of(server=name, scraped="no data", version=None, diagnosis=None, source="exporter")
        for name in sorted(configured - set(found))
    ]
    if len(known) > MAX_SERVERS:
        notes.append(f"{len(known) - MAX_SERVERS} more servers are left out")
    return Servers.of(servers=known[:MAX_SERVERS], notes=notes)


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
    width = f"[{range_text(span.seconds)}]"
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


def advise(sources: Sources, arguments: inputs.Window) -> Advised:
    """What eases what is wrong in a window: statements for an administrator, arithmetic, ceiling, price."""
    selector, span = window(sources, arguments)
    with sources.connect() as prometheus:
        advice = weigh(evidence(prometheus, selector, span))
        sure = certainty(prometheus, selector, span, advice.evidence.seconds)
    missing = advice.evidence.missing
    return Advised.of(
        server=arguments.server,
        window=span,
        version=None if "ase_info" in missing else str(advice.evidence.version),
        causes=advice.causes,
        findings=[
            FindingOf.of(spinlock=each, **{name: getattr(each, name) for name in _SHOWN})
            for each in advice.hot
        ],
        features=[f"{each.name} (from {each.since}): {each.caveat}" for each in advice.features],
        do_not=advice.do_not,
        not_known=[*missing.values(), "owners of tables: no table is named"],
        certainty=sure,
    )


def window(sources: Sources, arguments: inputs.Window) -> tuple[str, Span]:
    """Label matchers and window of a call. Raises UserError for bad times and windows over 31 days."""
    start, end = arguments.start, arguments.end
    now = time.time()
    span = Span(f"{start}..{end}", moment_option("start", start, now), moment_option("end", end, now))
    if not 0 < span.seconds <= MAX_RANGE:
        raise UserError("end: expected a time after the start, within 31 days of it")
    return server_selector(arguments.server, sources.selector), span


def _configured(sources: Sources) -> set[str]:
    if sources.exporter is None:
        return set()
    found = ask_exporter(sources.exporter, "/targets", {})
    try:
        return {str(name) for entry in found for name in entry["targets"]}
    except (KeyError, TypeError):
        raise UserError("--exporter: not an answer of ase-exporter to /targets") from None
