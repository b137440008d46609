"""The tools, a function each: valid arguments in, an answer out. Units are in the names or beside the values.

Text of others is `Foreign`, or `Quoting` text of ours; times are UTC (ISO 8601), null is what is not known.
"""

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ase_exporter.changes.change import Change
from ase_exporter.compare.comparison import Comparison, ComparisonRow
from ase_exporter.compare.marks import ask_exporter, marks_from_exporter
from ase_exporter.compare.prometheus import Sample, range_text
from ase_exporter.compare.request import Request, answer
from ase_exporter.compare.statistics import CONFIDENCE
from ase_exporter.compare.view import changed_rows, headline, method, row_data
from ase_exporter.compare.windows import Span, parse_span
from ase_exporter.diagnosis.account import Account
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.data import account_data
from ase_exporter.errors import UserError
from ase_exporter.mcp_server import inputs
from ase_exporter.mcp_server.sources import Sources, certainty, require_bounded
from ase_exporter.report.past_diagnosis import PastDiagnosis, PastFinding, read_diagnosis
from ase_exporter.views.figures import iso
from ase_exporter.views.view import Foreign, Quoting

MAX_SERVERS, MAX_WINDOWS, MAX_CHANGES, MAX_ROWS = 1000, 20, 50, 100
# Seconds before the window in which a change may be the cause, and how many changes are listed.
CHANGES_BEFORE, MAX_CAUSES = 3600.0, 10

Answer = dict[str, Any]
Recorded = Mapping[str, Sample]


def servers(sources: Sources, arguments: inputs.Arguments) -> Answer:
    """All servers that Prometheus has, or had within a day, and those that the exporter is configured to scrape.

    Those that the diagnosis finds worst come first. What the exporter says of its servers now comes before what
    Prometheus has; without Prometheus, only the exporter's are known.
    """
    judged = sources.diagnoses()
    try:
        now, seen, ranked, info, notes = _recorded(sources)
    except UserError as error:
        if sources.exporter is None:
            raise
        now, seen, ranked, info, notes = {}, {}, {}, {}, [Foreign(str(error))]
    scraped = seen.keys() | now.keys()
    words = {name: each.labels.get("word", "") for name, each in ranked.items()}
    words |= {name: str(each["word"]) for name, each in judged.items() if each.get("word")}
    ranks = {name: each.value for name, each in ranked.items()}
    ranks |= {name: float(each["rank"]) for name, each in judged.items() if each.get("rank") is not None}
    names = sorted(scraped | judged.keys(), key=lambda name: (-ranks.get(name, -math.inf), name))
    if len(names) > MAX_SERVERS:
        notes.append(Foreign(f"{len(names) - MAX_SERVERS} more servers are left out"))
    found = []
    for name in names[:MAX_SERVERS]:
        version = info[name].labels.get("version") if name in info else None
        origins = [
            origin for origin, known in (("prometheus", scraped), ("exporter", judged)) if name in known
        ]
        found.append(
            {
                "server": Foreign(name),
                # up, down (it does not answer), or no data for five minutes
                "scraped": "no data" if name not in now else "up" if now[name].value else "down",
                "version": Foreign(version) if version else None,
                "diagnosis": Foreign(words[name]) if name in words else None,
                "source": " and ".join(origins),
            }
        )
    return {"servers": found, "notes": notes}


def _recorded(sources: Sources) -> tuple[Recorded, Recorded, Recorded, Recorded, list[Foreign]]:
    """What Prometheus has by server: up now, up within a day, first findings, versions; and its warnings."""
    with sources.connect() as prometheus:
        now, seen, ranked, info = (
            {each.labels.get("instance", ""): each for each in prometheus.query(query)}
            for query in (
                f"ase_up{{{sources.selector}}}",
                f"last_over_time(ase_up{{{sources.selector}}}[1d])",
                f"topk by (instance) (1, ase_diagnosis_rank{{{sources.selector}}})",
                f"last_over_time(ase_info{{{sources.selector}}}[1d])",
            )
        )
        return now, seen, ranked, info, list(map(Foreign, prometheus.warnings))


def diagnose(sources: Sources, arguments: inputs.Diagnose) -> Answer:
    """Why a server is slow, or that nothing is wrong: causes by the session time that each explains.

    Without start: now. For a window, give the time since which it is slow as start. What is not judged is not well:
    say so, and name the option that it needs.
    """
    if arguments.start is None and sources.exporter:
        return _diagnosis_now(sources, sources.exporter, arguments.server)
    window = inputs.Window(server=arguments.server, start=arguments.start or "now-15m", end=arguments.end)
    selector, span = sources.window(window)
    with sources.connect() as prometheus:
        found = read_diagnosis(prometheus, selector, span)
        changes = sources.changes(prometheus, arguments.server, span.start - CHANGES_BEFORE, span.end)
        sure = certainty(prometheus, selector, span)
        query = f'last_over_time(ALERTS{{alertstate="firing", {selector}}}[{range_text(span.seconds)}])'
        fired = {each.labels.get("alertname", "") for each in prometheus.query(query, span.end)}
    return {
        "server": arguments.server,
        "window": _window(span),
        **_past(found),
        "changes": [*map(_change, changes[-MAX_CAUSES:])],
        "alerts_fired": [*map(Foreign, sorted(fired))],
        "certainty": sure,
    }


def _past(found: PastDiagnosis) -> Answer:
    """What the exporter said in a window. Words are labels of metrics: text of others."""
    known = catalogue()
    account = Account(found.account, dict.fromkeys(known.account.keys() - found.account, ""))
    return {
        "state": Foreign(found.state),
        "word": Foreign(found.word),
        # What was worst has the largest; below 0 nothing was wrong.
        "rank": found.rank,
        "level": found.level,
        "causes": [*map(_cause, found.findings)],
        "account": account_data(account),
        "not_judged": [
            {"finding": name, "word": known.findings[name].word, "reason": reason}
            for name, reason in found.unknown.items()
        ],
    }


def _cause(finding: PastFinding) -> Answer:
    """Something that was wrong. share: of all session time, the most that can be gained; held: of the scrapes."""
    known = finding.definition
    return {
        "finding": Foreign(finding.name),
        "word": Foreign(finding.word),
        "says": finding.text,
        "share": finding.share,
        "held": finding.held,
        "about_kind": Foreign(finding.subject.kind if finding.subject else ""),
        "about": Foreign(finding.subject.name if finding.subject else ""),
        "next_steps": known.next if known else [],
        "expect": known.expect if known else "",
    }


def _diagnosis_now(sources: Sources, exporter: str, server: str) -> Answer:
    """What the last scrape said, without Prometheus."""
    found = sources.diagnoses().get(server)
    if found is None:
        raise UserError("server: the exporter has no such target; give a start to ask Prometheus")
    if "says" not in found:
        raise UserError("server: the exporter has not scraped it yet; give a start to ask Prometheus")
    known = marks_from_exporter(exporter, server)
    recent = [each for each in known if each.at >= time.time() - CHANGES_BEFORE]
    return {
        "server": server,
        "window": None,
        **_foreign(found, Quoting, about=Foreign),
        "changes": [*map(_change, recent[-MAX_CAUSES:])],
        "alerts_fired": None,
        "certainty": {"notes": []},
    }


def sessions(sources: Sources, arguments: inputs.Sessions) -> Answer:
    """Who is at work now, the longest in their state first; who blocks whom; which statements cost most since the
    last reading, and which changed; what one session (spid) waited for. In the words of /sessions: cpu, elapsed,
    waited, recent and window are seconds, since is a Unix time. Costs and waits are differences between calls: ask
    twice, ten seconds apart. Texts need sessions.statement_text and a login in the exporter's URL."""
    found = _snapshot(sources, arguments)
    lists = {name: rows for name, rows in found.items() if isinstance(rows, list)}
    shown = {name: rows[: arguments.limit] for name, rows in lists.items()}
    return {
        "server": arguments.server,
        **_foreign(found | shown, Foreign, text=Quoting),
        "left_out": {name: max(0, len(rows) - arguments.limit) for name, rows in lists.items()},
    }


def changes(sources: Sources, arguments: inputs.Changes) -> Answer:
    """What changed on a server and when: options, caches, engines, restarts, the machine, annotations."""
    _, span = sources.window(arguments)
    with sources.connect() as prometheus:
        found = sources.changes(prometheus, arguments.server, span.start, span.end)
        notes = list(prometheus.warnings)
    if sources.exporter is None:
        notes.append("of equal changes within 15 s only the last is known; an exporter's URL (--url) has all")
    return {
        "server": arguments.server,
        "window": _window(span),
        "changes": [*map(_change, found[-arguments.limit :])],
        # Older ones of the window.
        "left_out": max(0, len(found) - arguments.limit),
        "source": "exporter" if sources.exporter else "prometheus",
        "notes": [*map(Foreign, notes)],
    }


def compare(sources: Sources, arguments: inputs.Compare) -> Answer:
    """Before and after a change, two windows, or runs: each measure with an interval and a verdict.

    Measures that changed beyond chance come first. A verdict says that it changed, not what made it change: look at
    `changes` and `warnings` for others in the same windows.
    """
    ways = (arguments.change, arguments.runs, arguments.before or arguments.after)
    if sum(way is not None for way in ways) != 1:
        raise UserError("expected one of: change; before and after; runs")
    given = arguments.model_dump(exclude={"server", "everything"})
    for name in ("before", "after", "runs"):
        if given[name] is not None:
            require_bounded(parse_span(name, given[name], time.time()), f"window {name}")
    request = Request(arguments.server, sources.selector, sources.exporter, **given)
    with sources.connect() as prometheus:
        comparison = answer(prometheus, request)
    if len(comparison.spans) > MAX_WINDOWS:
        windows = f"{len(comparison.spans)} windows; expected at most {MAX_WINDOWS}: give a shorter range"
        raise UserError(f"runs: {windows}")
    changed, others = changed_rows(comparison)
    unclear = [row for row in others if any(row.against_first)]
    rows = ([*changed, *unclear] if arguments.everything else changed)[:MAX_ROWS]
    said = _numbering(comparison, rows)
    return {
        "server": arguments.server,
        "headline": said(headline(comparison)),
        "confidence": CONFIDENCE,
        "step_seconds": comparison.step,
        "windows": [_window(span, said) for span in comparison.spans],
        "changes": [*map(_change, comparison.marks[:MAX_CHANGES])],
        "rows": [*map(_row, rows)],
        "rows_without_evidence": len(unclear),
        "rows_without_data": len(others) - len(unclear),
        "warnings": [Quoting(said(each)) for each in comparison.warnings],
        "method": method(comparison),
    }


def advise(sources: Sources, arguments: inputs.OneServer) -> Answer:
    """What eases what is wrong now: statements for an administrator, why, the most that they gain, and their price."""
    if sources.exporter is None:
        raise UserError("server: advice is of an exporter, which --url names")
    found = ask_exporter(sources.exporter, "/advice", {"target": arguments.server})
    if not isinstance(found, dict):
        raise UserError("server: the exporter has not read it, or it does not answer: ask diagnose")
    return {"server": arguments.server, **_foreign(found, Quoting, about=Foreign)}


def _window(span: Span, said: Callable[[str], str] = str) -> Answer:
    """A window of time. cuts: why it is shorter than it might be."""
    cuts = [Quoting(said(cut)) for cut in span.cuts]
    return {"name": Foreign(span.name), "start": iso(span.start), "end": iso(span.end), "cuts": cuts}


def _change(change: Change) -> Answer:
    """It happened between not_before and at; exactly at `at` if not_before is null. ref: for the tool compare."""
    times = {
        "at": iso(change.at),
        "not_before": None if change.not_before is None else iso(change.not_before),
    }
    return times | {name: Foreign(getattr(change, name)) for name in ("kind", "name", "old", "new", "ref")}


def _row(row: ComparisonRow) -> Answer:
    """One measure over all windows. against_first: one entry per later window."""
    found = row_data(row) | {"name": Foreign(row.name), "title": row.measure.title}
    return {name: each for name, each in found.items() if name not in ("against_previous", "at_equal_load")}


def _numbering(comparison: Comparison, rows: Sequence[ComparisonRow]) -> Callable[[str], str]:
    """Puts numbers of changes and rows in place of their names, which others chose, in a sentence of ours."""
    instead = {str(mark): f"changes[{number}]" for number, mark in enumerate(comparison.marks)}
    places = {row.title: f"rows[{number}]" for number, row in enumerate(rows)}
    for row in comparison.rows:
        if row.name:
            instead[row.title] = f"{row.measure.title} ({places.get(row.title, 'a row that is not listed')})"
    # In one pass, so that no name is found in what stands in place of another; the longest that fits is meant.
    names = re.compile("|".join(map(re.escape, sorted(instead, key=len, reverse=True))) or r"\b\B")
    return lambda text: names.sub(lambda found: instead[found[0]], text)


def _snapshot(sources: Sources, arguments: inputs.Sessions) -> dict[str, Any]:
    if sources.exporter is None:
        raise UserError("sessions are read by the exporter: start the command mcp with --url URL")
    parameters = {"target": arguments.server, "format": "json"}
    parameters |= {"text": "1"} if arguments.text else {}
    parameters |= {"spid": str(arguments.spid)} if arguments.spid else {}
    match ask_exporter(sources.exporter, "/sessions", parameters, accepted=503):
        case {"snapshot": None, "error": str(reason)}:
            raise UserError(f"{arguments.server} does not answer: {reason}")
        case {"snapshot": {"sessions": _, "blocking": _, "statements": _, "waits": _} as found}:
            return dict(found)
    raise UserError("--url: not an answer of ase-exporter to /sessions")


def _foreign(answer: Mapping[str, Any], usual: type[Foreign], **kinds: type[Foreign]) -> Answer:
    """What another program answered: all its texts are text of others. kinds: of which kind, by field."""

    def marked(key: str, value: Any) -> Any:
        match value:
            case str():
                return kinds.get(key, usual)(value)
            case list():
                return [marked(key, each) for each in value]
            case dict():
                return _foreign(value, usual, **kinds)
        return value

    return {key: marked(key, value) for key, value in answer.items()}
