"""Pages are escaped, load nothing, and fit a phone."""

from dataclasses import replace
from pathlib import Path

from tests.browser import opened
from tests.exporter.web.test_session_routes import SNAPSHOT, Exporter, answer, text

from ase_exporter.changes.change import Change, new_id
from ase_exporter.scraping.result import ScrapeSummary, TargetState
from ase_exporter.sessions.session import Session
from ase_exporter.views import page as module
from ase_exporter.views.page import render
from ase_exporter.web.pages import landing_page, server_page

TEMPLATES = sorted(Path(module.__file__).with_name("templates").glob("*.html"))
HOSTILE = '<script>alert("1")</script>' + "x" * 200
PHONE = 390


def changes_page() -> str:
    """The page of the changes, each text of which is hostile."""
    change = Change(
        new_id(), HOSTILE, "option", HOSTILE, HOSTILE, HOSTILE, 0.0, 0.0, who=HOSTILE, tags=("a",)
    )
    chosen = {"target": HOSTILE, "text": HOSTILE, "since": ""}
    return render(
        "changes.html",
        title="Changes",
        zone="UTC",
        changes=[change],
        chosen=chosen,
        host="",
        targets=["", HOSTILE],
    )


def landing() -> str:
    """The landing page with a hostile server."""
    summary = ScrapeSummary(error=HOSTILE, version=HOSTILE, unreadable=(HOSTILE,))
    states = {HOSTILE: TargetState(summary, at=0.0)}
    return landing_page(states, changed={HOSTILE: 1}, grafana=f"https://{HOSTILE}")


def server() -> str:
    """The page of a hostile server."""
    summary = ScrapeSummary(up=True, version=HOSTILE)
    change = Change(new_id(), HOSTILE, "option", HOSTILE, HOSTILE, HOSTILE, 0.0, 0.0)
    return server_page(HOSTILE, TargetState(summary, at=0.0), [change], f"https://{HOSTILE}")


def sessions() -> str:
    """The page of sessions, one of which has a hostile program."""
    snapshot = replace(SNAPSHOT, sessions=(Session(7, 1, "sa", HOSTILE, doing="cpu", seconds=60.0),))
    return text(answer(Exporter(snapshot=snapshot), target="ONE", refresh="0"))


def test_hostile_text_stays_text_and_a_phone_shows_all_of_it(tmp_path: Path) -> None:
    # Before the browser: it runs a loop of asyncio, and so does the page of sessions.
    pages = {make: make() for make in (changes_page, landing, server, sessions)}
    with opened(tmp_path / "page.html", width=PHONE) as seen:
        for page, source in pages.items():
            seen.show(source)
            tables = "".join(seen.page.locator("tbody").all_inner_texts())
            assert HOSTILE in tables.replace("\n", ""), page
            assert seen.page.evaluate("document.documentElement.scrollWidth") == PHONE, page


def test_a_server_that_was_not_scraped_says_so() -> None:
    assert "It was not scraped yet" in server_page("ONE", TargetState(), [])


def test_no_template_turns_escaping_off() -> None:
    for template in TEMPLATES:
        source = template.read_text(encoding="utf-8")
        assert "|safe" not in source and "autoescape" not in source, template.name
