"""The pages that show all servers and one server, from their last scrapes."""

import time
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version

from ase_exporter.changes.change import Change
from ase_exporter.diagnosis.account import Account
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import Diagnosis
from ase_exporter.scraping.result import TargetState
from ase_exporter.views.figures import moment, short, shown, zone
from ase_exporter.views.page import render
from ase_exporter.views.view import Cell, Items, Line, Part, Plot, Section, Table, Verdict, columns

# Seconds after which a browser loads a page again: scrapes are not more frequent.
REFRESH = 15
MAX_CHANGES = 10


def landing_page(states: Mapping[str, TargetState], *, changed: Mapping[str, int], grafana: str = "") -> str:
    """Every target with the outcome of its last scrape, the worst first, as HTML.

    changed: number of recent changes by target. grafana: its address, or ''.
    """
    return render(
        "landing.html",
        title=f"ase-exporter {version('ase-exporter')}",
        refresh=REFRESH,
        now=time.time(),
        states=dict(sorted(states.items(), key=lambda each: (-each[1].rank, each[0]))),
        changed=changed,
        grafana=grafana,
    )


def server_page(name: str, state: TargetState, changes: Sequence[Change], grafana: str = "") -> str:
    """What the last scrape of a target says, and what changed lately, as HTML."""
    return render(
        "server.html", title=name, refresh=REFRESH, parts=list(_parts(state, changes)), grafana=grafana
    )


def missing_page() -> str:
    """What is said in place of a page that there is not, as HTML."""
    return render("missing.html", title="There is no such page")


def _parts(state: TargetState, changes: Sequence[Change]) -> Iterator[Part]:
    if state.summary is None or state.at is None:
        yield Verdict(
            "It was not scraped yet: Prometheus, or a browser on its metrics, asks for a scrape.", "none"
        )
        return
    yield Line(
        f"ASE {state.summary.version or 'of unknown version'}; last scrape {moment(state.at)} {zone(state.at)}."
    )
    if state.diagnosis is None:
        yield Verdict(state.summary.error or "A diagnosis needs readings of a minute.", state.level)
    else:
        yield from _diagnosis(state.diagnosis)
    newest = sorted(changes, key=lambda each: each.at, reverse=True)[:MAX_CHANGES]
    rows = [(moment(each.at), each.brief) for each in newest]
    yield Section("Changes", [Table(columns("when", "what", whole=("when",)), rows, empty="None lately.")])


def _diagnosis(found: Diagnosis) -> Iterator[Part]:
    yield Verdict(found.sentence, found.level)
    if found.not_judged:
        yield Line(found.not_judged)
    if found.findings:
        rows = [
            (
                each.sentence,
                shown(each.share, "ratio"),
                shown(each.usual, "ratio"),
                "\n".join(each.next_steps),
            )
            for each in found.findings
        ]
        titles = ("finding", "of session time", "usual", "what to do")
        yield Section("What is wrong", [Table(columns(*titles, figures=titles[1:3]), rows)])
    if found.account.parts:
        read = Line(f"Read: {found.source}.", "method")
        yield Section("Where the time goes", [_account(found.account), read])
    if blind := dict.fromkeys(f"{each.word}: {each.reason}" for each in found.unknown):
        yield Section("Not judged", [Items([*blind])], folded=True)


def _account(account: Account) -> Table:
    shares = account.shares
    rows = [
        (
            part.title,
            short(account.parts.get(name)),
            shown(shares[name], "ratio"),
            Cell("", plot=Plot(spans=[(0.0, shares[name] or 0.0)])),
        )
        for name, part in catalogue().account.items()
    ]
    return Table(columns("part", "sessions", "share", "", figures=("sessions", "share")), rows)
