"""Incidents: kept once when a finding begins, bounded, without text of statements."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from tests.exporter.clocks import ShiftedClock
from tests.exporter.diagnosis.states import healthy
from tests.exporter.web.test_session_routes import SNAPSHOT

from ase_exporter.changes.change import Change
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.diagnosis.diagnose import Diagnosis, Finding, Unknown, diagnose
from ase_exporter.errors import UserError
from ase_exporter.scraping.result import ScrapeSummary
from ase_exporter.scraping.targets import Answer
from ase_exporter.sessions.incidents import FOLDER, Incidents
from ase_exporter.sessions.session import Snapshot
from ase_exporter.web.incident_keeper import LATER, SAME, IncidentKeeper

TEXT = "select a from t where b = ?"


def at(seconds: float) -> Snapshot:
    return replace(SNAPSHOT, at=SNAPSHOT.at + seconds)


def test_the_newest_are_kept_and_no_text_is(tmp_path: Path) -> None:
    kept = Incidents(tmp_path, 3)
    names = [kept.keep("A/../B", f"BLOCKED\n{number}", at(number), {}) for number in range(5)]
    assert [each.id for each in kept.all()] == names[:1:-1]
    newest = kept.one(names[-1])
    assert (newest.target, newest.finding) == ("A/../B", "BLOCKED\\n4")
    assert [each["spid"] for each in newest.content["blocking"]] == [7, 10, 11]
    assert TEXT not in "".join(path.read_text() for path in (tmp_path / FOLDER).iterdir())
    assert (tmp_path / FOLDER).stat().st_mode & 0o077 == 0


def test_a_server_that_is_always_in_trouble_costs_the_others_no_incident(tmp_path: Path) -> None:
    kept = Incidents(tmp_path, 3)
    first = kept.keep("A-B", "BLOCKED", SNAPSHOT, {})
    names = [kept.keep("A", "BLOCKED", at(number), {}) for number in range(1, 6)]
    assert [each.id for each in kept.all()] == [names[4], names[3], first]


@pytest.mark.parametrize("name", ["../secret", "20260101T000000Z-A", "", "x.json"])
def test_other_files_are_not_read(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret.json").write_text("{}")
    Incidents(tmp_path, 3).keep("A", "BLOCKED", SNAPSHOT, {})
    with pytest.raises(UserError, match="no such incident"):
        Incidents(tmp_path, 3).one(name)


KEPT = {"target": "A", "time": "t", "finding": "f", "sessions": []}
ODD: list[dict[str, object]] = [{"sessions": [{"spid": []}]}, {"active": [1]}, {"account": {"a": "b"}}]
ODD += [{"next": {"a": 1}}, {"blocking": [1]}, {"statements": ["x"]}, {"target": 1}, {"sessions": [{}]}]


@pytest.mark.parametrize("damaged", ["[", *(json.dumps(KEPT | odd) for odd in ODD)])
def test_a_damaged_file_is_left_out_and_named_when_it_is_asked_for(tmp_path: Path, damaged: str) -> None:
    kept = Incidents(tmp_path, 3)
    name = kept.keep("A", "BLOCKED", SNAPSHOT, {})
    (tmp_path / FOLDER / f"{name}.json").write_text(damaged)
    assert list(kept.all()) == []
    with pytest.raises(UserError, match=f"incident {name}: cannot be read"):
        kept.one(name)


@dataclass
class Server:
    """Answers for sessions, and takes annotations. asked: the targets; statements: from the second answer on.

    first: the first answer, if it matters.
    """

    asked: list[str] = field(default_factory=list)
    annotations: list[Change] = field(default_factory=list)
    first: Snapshot | None = None

    async def sessions(self, target: str, *groups: str) -> Answer:
        if target == "GONE":
            raise KeyError(target)
        self.asked.append(target)
        if target == "DOWN":
            return Answer(b"", ScrapeSummary(error="no route"))
        first = self.asked.count(target) == 1
        found = self.first or replace(at(len(self.asked)), statements=() if first else SNAPSHOT.statements)
        return Answer(b"", ScrapeSummary(), sessions=found)

    async def annotate(self, change: Change) -> None:
        self.annotations.append(change)

    def keeper(self, directory: Path, clock: Clock = SYSTEM_CLOCK) -> IncidentKeeper:
        """What keeps its incidents, and waits for nothing but the event loop."""

        async def at_once(seconds: float) -> None:
            assert seconds == LATER

        return IncidentKeeper(lambda: Incidents(directory, 9), self.sessions, self.annotate, clock, at_once)


def diagnosis(*bad: str, unknown: tuple[str, ...] = ()) -> Diagnosis:
    """One with these findings, the worst first."""
    known = catalogue().findings
    doubts = tuple(Unknown(name, known[name].word, "too few samples", True) for name in unknown)
    findings = tuple(
        Finding(name, known[name].word, "", 0.9, 1.0, "bad", "high", None, None, (), (*known[name].next,))
        for name in bad
    )
    return replace(diagnose(healthy()), findings=findings, unknown=doubts)


BLOCKED = diagnosis("blocked")


async def kept(server: Server, directory: Path, *targets: str) -> None:
    """Have incidents kept."""
    keeper = server.keeper(directory)
    for target in targets or ("ONE",):
        keeper.note(target, BLOCKED)
    await keeper.finished()


def test_an_incident_is_kept_once_and_linked_from_an_annotation(tmp_path: Path) -> None:
    server, clock = Server(), ShiftedClock()

    async def scrapes() -> None:
        keeper = server.keeper(tmp_path, clock.clock)
        keeper.note("ONE", BLOCKED)
        # Another server has its own.
        keeper.note("TWO", BLOCKED)
        # One at a time of a server, whatever begins.
        keeper.note("ONE", diagnosis("log_waits"))
        await keeper.finished()
        # The same again only later.
        keeper.note("ONE", BLOCKED)
        clock.ahead += SAME
        keeper.note("ONE", diagnosis())
        keeper.note("ONE", BLOCKED)
        await keeper.finished()

    asyncio.run(scrapes())
    # Which of two that are kept at the same time is written first is nobody's promise.
    assert sorted(each.target for each in server.annotations[:2]) == ["ONE", "TWO"]
    assert [each.target for each in server.annotations[2:]] == ["ONE"]
    first = list(Incidents(tmp_path, 9).all())[-1]
    assert first.content["later"] and first.snapshot.statements == SNAPSHOT.statements
    assert first.snapshot == replace(at(1).without_text(), at=first.snapshot.at)
    change = next(each for each in server.annotations if each.target == "ONE")
    assert change.is_incident
    assert change.describe().startswith(f"BLOCKED: incident {first.id} (") and change.tags == ("incident",)


def test_what_goes_on_over_a_restart_is_not_kept_again(tmp_path: Path) -> None:
    server = Server()

    async def process(*noted: Diagnosis) -> None:
        keeper = server.keeper(tmp_path)
        await keeper.start()
        for each in noted:
            keeper.note("ONE", each)
            await keeper.finished()

    asyncio.run(process(diagnosis("spinning", "blocked")))
    # After its start an exporter knows gauges at once, rates with the second scrape.
    asyncio.run(process(diagnosis("blocked", unknown=("spinning",)), diagnosis("spinning", "blocked")))
    assert [each.finding for each in Incidents(tmp_path, 9).all()] == ["SPINS"]
    # What begins after it has ended is kept.
    asyncio.run(process(diagnosis(), diagnosis("spinning")))
    assert [each.finding for each in Incidents(tmp_path, 9).all()] == ["SPINS", "SPINS"]


# Findings at first, then those of a minute later.
BECAME = [
    "SPINS: contended spinning",
    "STARVED: saturated starved blocked",
    "BLOCKED: blocked blocked spinning",
]


@pytest.mark.parametrize("became", [*BECAME, "SPINS: spinning"])
def test_an_incident_is_called_what_the_diagnosis_says_a_minute_later(tmp_path: Path, became: str) -> None:
    word, _, names = became.partition(": ")
    first, *later = names.split()

    async def minute() -> None:
        keeper = Server().keeper(tmp_path)
        keeper.note("ONE", diagnosis(first))
        keeper.note("ONE", diagnosis(*later))
        await keeper.finished()
        # It is no second incident, neither then nor if it comes and goes.
        keeper.note("ONE", diagnosis())
        keeper.note("ONE", diagnosis(*later[:1]))
        await keeper.finished()

    asyncio.run(minute())
    (incident,) = Incidents(tmp_path, 9).all()
    assert (incident.finding, [*incident.content["next"]]) == (word, [word])


def test_a_server_that_does_not_answer_leaves_none(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    asyncio.run(kept(server, tmp_path, "GONE", "DOWN"))
    assert not (tmp_path / FOLDER).exists() and not server.annotations
    assert "DOWN: the incident is not kept, or not whole: no route" in caplog.text
