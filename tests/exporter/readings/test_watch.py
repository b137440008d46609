"""The judge of a target in `serve`, over scrapes of generated states."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.exporter.clocks import StandingClock
from tests.exporter.diagnosis.states import State, families_at, generated, healthy, said
from tests.exporter.samples import exported

from ase_exporter.advise.advice import advise
from ase_exporter.advise.data import advice_data
from ase_exporter.advise.evidence import METRICS, evidence_of
from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.diagnosis.diagnose import DOWN, IDLE, NOT_KNOWN, STARTING, WORKS, Diagnosis, diagnose
from ase_exporter.diagnosis.measures import Rows
from ase_exporter.diagnosis.usual import MIN_MOMENTS, RECENT, SPACING
from ase_exporter.metrics.outcomes import CollectorOutcome
from ase_exporter.readings.watch import HOLDS, MAX_GAP, WINDOW, TargetWatch
from ase_exporter.scraping.result import ScrapeRequest, ScrapeResult

INTERVAL = 15.0
ALL = ScrapeRequest()
# Collectors whose tables may be empty.
RARE = ("locks", "oldest_transactions", "error_log", "databases", "database_space")


class Server:
    """Scrapes of a state and what is said of it. directory: the state directory."""

    def __init__(self, state: State, directory: Path | None = None) -> None:
        self.state = state
        self.time = StandingClock()
        self.watch = self.watched_by(directory)

    def watched_by(self, directory: Path | None) -> TargetWatch:
        return TargetWatch("ONE", directory, self.time.clock)

    def scrape(
        self,
        after: float = INTERVAL,
        request: ScrapeRequest = ALL,
        error: str = "",
        *,
        up: bool = True,
        last: bool = True,
    ) -> ScrapeResult:
        """The next scrape, so many seconds later. error: why it fails. last: as `families_at` has it."""
        self.time.ahead += after
        result = ScrapeResult(0.0, request, clock=self.time.clock)
        result.summary.error, result.summary.up, result.ended = error, up, True
        result.facts = ServerFacts(parse_version("16.0 SP04"))
        if not error:
            read = families_at(self.state, self.time.ahead, last=last)
            result.collected = {name: read.get(name, []) for name in dict.fromkeys((*read, *RARE)) if name}
            off = self.state.switched_off
            result.collected = {name: each for name, each in result.collected.items() if name not in off}
            result.outcomes = dict.fromkeys(result.collected, CollectorOutcome(0.0))
        self.watch.judge(result)
        return result

    def after(self, seconds: float, interval: float = INTERVAL) -> Diagnosis:
        """What is said after scrapes over so many seconds."""
        for _ in range(round(seconds / interval) - 1):
            self.scrape(interval, last=False)
        found = self.scrape(interval).diagnosis
        assert found
        return found


def state_with(first: str) -> State:
    """A state of a server that answers, whose diagnosis is this."""
    for seed in range(1000):
        state = generated(seed)
        if state.series["ase_up", ()] and diagnose(state).state == first:
            return state
    raise AssertionError(first)


@pytest.fixture(scope="module")
def spins() -> State:
    return state_with("spinning")


@pytest.mark.parametrize("number", [20, pytest.param(500, marks=pytest.mark.slow)])
def test_scrapes_export_what_the_package_says(number: int) -> None:
    states = [state for state in map(generated, range(number)) if state.series["ase_up", ()]]
    for state in states:
        expected, server = diagnose(state), Server(state)
        server.after(2 * WINDOW)
        found = server.scrape()
        assert found.diagnosis
        if not state.momentary:
            assert said(found.diagnosis)[:3] == said(expected)[:3]
        now = found.diagnosis
        held = {labels[0] for labels, value in exported(found, "ase_diagnosis_finding").items() if value}
        assert held == {each.name for each in now.findings}
        ranks = exported(found, "ase_diagnosis_rank")
        assert max(ranks, key=ranks.__getitem__) == (now.state, now.word)
        ((state_name, _, subject, word),) = exported(found, "ase_diagnosis_first_info")
        first = now.findings[0] if now.findings else None
        assert (state_name, word) == (now.state, now.word)
        assert subject == (first.subject.name if first and first.subject else "")
        account = exported(found, "ase_diagnosis_account_sessions")
        assert {labels[0]: value for labels, value in account.items()} == now.account.parts
        level = exported(found, "ase_diagnosis_level")[()]
        assert (level == 0) == (now.state in (WORKS, IDLE)) and (level == 2) == (now.level == "bad")
        unknown = {each.name for each in now.unknown}
        assert not unknown & {labels[0] for labels in exported(found, "ase_diagnosis_finding")}


def test_a_momentary_state_is_none(spins: State) -> None:
    queue = State({**spins.series, ("ase_processes_blocked", ()): 190.0})
    queue.momentary = {"ase_processes_blocked", "ase_lock_waits_over_threshold"}
    server = Server(queue)
    assert "blocked" not in {each.name for each in server.after(2 * WINDOW).findings}
    # What has waited before is wrong all the same, and now is not the least of the window.
    queue.set("ase_wait_seconds_total", 1e6, event_id="150", event="waiting for a lock", **{"class": "lock"})
    (told,) = (each.text for each in Server(queue).after(2 * WINDOW).findings if each.name == "blocked")
    assert "processes blocked now: 190," in told


def test_the_first_scrape_waits_for_a_second(spins: State) -> None:
    server = Server(spins)
    first = server.scrape()
    assert first.diagnosis and first.diagnosis.state == STARTING
    assert not exported(first, "ase_diagnosis_level")
    second = server.scrape().diagnosis
    assert second and second.state == "spinning"


@pytest.mark.parametrize("interval", [1.0, 5.0, 7.5, 15.0, 30.0, 60.0, 300.0])
def test_it_does_not_matter_how_often_it_is_scraped(interval: float, spins: State) -> None:
    server = Server(spins)
    found = server.after(4 * max(WINDOW, interval), interval)
    assert said(found)[:3] == said(diagnose(spins))[:3]
    seconds = float(found.source.split()[2])
    assert max(WINDOW, interval) <= seconds <= max(2 * WINDOW, interval)


def test_a_server_that_does_not_answer_is_down_and_nothing_else_is_known(spins: State) -> None:
    server = Server(spins)
    server.after(2 * WINDOW)
    found = server.scrape(error="login refused", up=False)
    assert found.diagnosis and found.diagnosis.sentence == "DOWN: login refused"
    assert exported(found, "ase_diagnosis_finding") == {("down", "DOWN"): 1.0}
    again = server.scrape().diagnosis
    assert again and again.state == STARTING
    assert server.after(WINDOW).state == "spinning"


@pytest.mark.parametrize("off", ["", "spinlocks"])
def test_advice_is_of_the_last_diagnosis(off: str, spins: State) -> None:
    server = Server(replace(spins, switched_off={off}))
    assert server.watch.evidence() is None
    found = server.after(2 * WINDOW)
    evidence = server.watch.evidence()
    assert evidence and evidence.diagnosis == found
    told = advice_data(advise(evidence))
    assert [each["cause"]["finding"] for each in told["causes"]] == [each.name for each in found.findings]
    assert found.source == f"the last {told['seconds']:.0f} s"
    hottest = found.findings[0].subject
    assert off or (hottest and hottest.name in {each.name for each in evidence.spinlocks})
    server.scrape(error="login refused", up=False)
    assert server.watch.evidence() is None


def test_all_that_advice_reads_is_kept() -> None:
    asked = set()

    class Asked(State):
        def rows(self, metric: str) -> Rows:
            asked.add(metric)
            return super().rows(metric)

        rates = rows

    state = Asked({**healthy().series, ("ase_cache_partitions", (("cache", "hot"),)): 1.0})
    evidence_of(state, diagnose(healthy()), parse_version("16.0 SP04"), WINDOW, page_size=2048)
    assert asked == METRICS


def test_before_its_first_answer_a_late_scrape_says_down() -> None:
    late = ScrapeResult(0.0)
    assert exported(late, "ase_diagnosis_first_info") == {(DOWN, "", "", "DOWN"): 1.0}
    assert not exported(ScrapeResult(0.0, ScrapeRequest(frozenset({"waits"}))), "ase_diagnosis_first_info")


def test_a_diagnosis_holds_for_a_while_but_not_beyond_a_failure(spins: State) -> None:
    server = Server(spins)
    server.after(2 * WINDOW)
    found = server.scrape().diagnosis
    assert server.scrape(after=HOLDS - 1).diagnosis is found
    assert server.scrape(after=2).diagnosis is not found
    for error, up in (("login refused", False), ("connection lost", True)):
        server.after(2 * WINDOW)
        failed = server.scrape(after=1, error=error, up=up).diagnosis
        assert failed and failed.state == (NOT_KNOWN if up else DOWN) and error in failed.text
        after = server.scrape(after=1).diagnosis
        assert after and after.state == STARTING


@pytest.mark.parametrize(
    "asked", [ScrapeRequest(frozenset({"waits"})), ScrapeRequest(session_groups=frozenset({"sessions"}))]
)
def test_a_scrape_of_something_else_is_not_judged_and_changes_nothing(
    asked: ScrapeRequest, spins: State
) -> None:
    server = Server(spins)
    server.after(2 * WINDOW)
    assert server.scrape(request=asked).diagnosis is None
    found = server.scrape().diagnosis
    assert found and found.state == "spinning"


def test_rates_do_not_reach_over_a_long_gap(spins: State) -> None:
    server = Server(spins)
    server.after(2 * WINDOW)
    for gap, expected in ((MAX_GAP + 1, STARTING), (MAX_GAP - 1, "spinning")):
        found = server.scrape(after=gap).diagnosis
        assert found and found.state == expected


def test_what_is_usual_is_compared_with_and_outlives_a_restart(spins: State, tmp_path: Path) -> None:
    server = Server(spins, tmp_path)
    found = server.after(RECENT + (MIN_MOMENTS + 2) * SPACING, 60.0)
    assert found.findings[0].usual == pytest.approx(found.findings[0].share)
    server.watch = server.watched_by(tmp_path)
    found = server.after(2 * WINDOW)
    assert found.findings[0].usual == pytest.approx(found.findings[0].share)
    server.watch = server.watched_by(None)
    assert server.after(2 * WINDOW).findings[0].usual is None
