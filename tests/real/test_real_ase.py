"""Everything that the exporter does, against a server given by the environment: `make test-real`.

Without one, the simulator stands in, which proves that this suite runs, and nothing about ASE.
"""

import json
import re
import time
from typing import ClassVar

import httpx2
import pytest
from tests.exporter.commands.command_line import Run
from tests.programs import eventually
from tests.real import ase, counters
from tests.real.conftest import IS_REAL, Watch

from ase_exporter.ase.connection import Connection, DatabaseError
from ase_exporter.ase.database_error import known_of_message
from ase_exporter.capture.file import lines, load
from ase_exporter.capture.privacy import system_names, vocabulary
from ase_exporter.catalogue import ServerFacts, load_catalogue, plan, read_facts
from ase_exporter.catalogue.facts import unavailable_reason
from ase_exporter.checks.target_check import TargetCheck
from ase_exporter.checks.view import check_view
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.sysmon.metrics import headlines
from ase_exporter.sysmon.runner import take_sample
from ase_exporter.views.terminal import print_view
from ase_simulator.schema.catalog import catalog
from ase_simulator.schema.profiles import profiles

CATALOGUE, _ = load_catalogue()
OPTION = "deadlock checking period"
# Of the rates of sp_sysmon: both windows do not begin and end at the same time.
TOLERANCE = 0.15

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(3600)]
# With the simulator in its place the suite proves only that it runs.
if not IS_REAL:
    pytestmark.append(pytest.mark.slow)


class Kept(Connection):
    """A connection that keeps what was printed last."""

    printed: ClassVar[list[str]] = []

    def query_messages(self, sql: str, deadline: float) -> list[str]:
        Kept.printed = super().query_messages(sql, deadline)
        return Kept.printed


@pytest.fixture(scope="module")
def facts(server: ase.Server) -> ServerFacts:
    with server.connected(server.monitor) as connection:
        return read_facts(lambda sql: connection.query(sql, time.monotonic() + ase.TIMEOUT))


def check(server: ase.Server, *, everything: bool) -> TargetCheck:
    return TargetCheck(server.config, server.target, CATALOGUE, everything=everything, timeout=ase.TIMEOUT)


@pytest.mark.skipif(IS_REAL, reason="a real ASE is tested")
def test_a_real_ase_is_given() -> None:
    pytest.skip("REAL_ASE_HOST is not set: the simulator stood in, no real ASE was tested")


def test_check_explains_everything(server: ase.Server, capsys: pytest.CaptureFixture[str]) -> None:
    by_default = check(server, everything=False).report()
    print_view(check_view(by_default))
    server.write("check.txt", capsys.readouterr().out)
    assert by_default.is_good, by_default
    whole = check(server, everything=True).report()
    assert whole.failures == []
    assert all(gap.cause and gap.metrics for gap in whole.gaps)


def test_every_statement_is_executed(server: ase.Server) -> None:
    failures, executed = {}, 0
    with server.connected(server.monitor) as monitor, server.connected(server.sa) as admin:
        for title, statements in check(server, everything=True).statements()[1].items():
            not_yet = "but not yet:" in title
            # Changes are looked for in whatever this version has.
            optional = not_yet or title.startswith("configuration changes")
            for sql in statements:
                try:
                    ase.execute(admin if not_yet else monitor, sql)
                    executed += 1
                except DatabaseError as error:
                    # A database that refuses is left out of what is sent, or not entered again.
                    closed = known_of_message(error.number, "names_database")
                    if not closed and not (optional and unavailable_reason(error.number)):
                        failures[title] = f"{error}: {sql}"
    assert failures == {}
    assert executed > 50


def test_tables_have_the_columns_of_their_version(facts: ServerFacts) -> None:
    # What manuals and published reports show of this version, or of the newest before it, as the simulator has it.
    same = [each for each in profiles().values() if each.cluster == facts.version.cluster]
    older = [each for each in same if each.level <= facts.version.numbers]
    known = catalog(max(older or same[:1], key=lambda each: each.level).key).tables
    missing = {
        f"{table.name}.{column.name}"
        for table in known.values()
        for column in table.columns
        if table.name in facts.tables and column.name not in facts.tables[table.name]
    }
    assert missing == set()


def test_totals_grow_as_counters_read_by_hand(server: ase.Server, facts: ServerFacts) -> None:
    """Each total grows by no less than between the inner readings by hand, and no more than between the outer ones."""
    available = {each.name for each in plan(CATALOGUE, facts) if each.available}
    sources = counters.sources(CATALOGUE, facts, available)
    scraper = counters.scraper(server, CATALOGUE)
    with server.connected(server.monitor) as connection:

        def by_hand() -> dict[str, tuple[int, dict[tuple[str, str], float]]]:
            return {name: source.read(connection) for name, source in sources.items()}

        outer = by_hand()
        first, inner = counters.scrape(scraper), by_hand()
        time.sleep(min(30.0, server.seconds / 10))
        inner_end, last, outer_end = by_hand(), counters.scrape(scraper), by_hand()
    scraper.close()
    wrong, compared = [], 0
    for name, source in sources.items():
        readings = [each[name] for each in (outer, inner, inner_end, outer_end)]
        # New rows count from their first reading on.
        if len({rows for rows, _ in readings}) > 1:
            continue
        for key in source.columns:
            metric, value = key
            label = CATALOGUE.collectors[name].metrics[metric].by if value else None
            hand = [sums[key] for _, sums in readings]
            if metric not in last or hand != sorted(hand):
                continue
            grown = counters.total(last, metric, label, value) - counters.total(first, metric, label, value)
            rounding = 1e-9 * abs(hand[-1]) + 1e-6
            compared += 1
            if not hand[2] - hand[1] - rounding <= grown <= hand[3] - hand[0] + rounding:
                wrong.append((metric, value, grown, hand))
    assert wrong == []
    assert compared > 20


def test_a_blocked_process_is_seen(server: ase.Server) -> None:
    scraper = counters.scraper(server, CATALOGUE)
    before = counters.total(counters.scrape(scraper), "ase_processes_blocked")
    with ase.blocking_pair(server):
        eventually(
            "a blocked process",
            lambda: counters.total(counters.scrape(scraper), "ase_processes_blocked") > before,
            ase.TIMEOUT,
        )
    scraper.close()


def test_a_change_is_found(server: ase.Server, watch: Watch, run: Run) -> None:
    with server.connected(server.sa) as admin:
        value = (
            "select u.value from master..sysconfigures c, master..syscurconfigs u where c.config = u.config"
        )
        ((old,),) = admin.query(f"{value} and c.name = '{OPTION}'", time.monotonic() + ase.TIMEOUT)

        def changes() -> str:
            httpx2.get(f"{watch.exporter}/probe?target={ase.NAME}", timeout=ase.TIMEOUT)
            return run("changes", f"--url={watch.exporter}", "--format=json").stdout

        # The first snapshot has nothing to compare with.
        eventually("a snapshot", lambda: "ase_exporter_changes_statements" in probe(watch), ase.TIMEOUT)
        try:
            ase.execute(admin, f"exec sp_configure '{OPTION}', {old + 100}")
            eventually("the change", lambda: OPTION in changes(), ase.TIMEOUT)
        finally:
            ase.execute(admin, f"exec sp_configure '{OPTION}', {old}")
        server.write("changes.json", changes())


def probe(watch: Watch) -> str:
    answer = httpx2.get(f"{watch.exporter}/probe?target={ase.NAME}", timeout=ase.TIMEOUT)
    return answer.raise_for_status().text


def test_sp_sysmon_agrees_with_the_monitoring_tables(server: ase.Server) -> None:
    seconds = 60 if server.is_real else 5
    scraper = counters.scraper(server, CATALOGUE)
    first, begun = counters.scrape(scraper), time.monotonic()
    report = take_sample(server.target, server.sa, seconds, open_connection=Kept.open)
    last, ended = counters.scrape(scraper), time.monotonic()
    scraper.close()
    server.write("sysmon.txt", "\n".join(Kept.printed))
    assert not report.warnings and report.header.mode == "No Clear"
    printed = {family.name: family for family in headlines(report)}
    agreeing = {
        "ase_sysmon_cache_searches_per_second": "ase_cache_searches_total",
        "ase_sysmon_committed_transactions_per_second": "ase_transactions_total",
        "ase_sysmon_device_ios_per_second": "ase_device_ios_total",
    }
    compared = {}
    for sysmon, exported in agreeing.items():
        if sysmon in printed and exported in last:
            grown = counters.total(last, exported) - counters.total(first, exported)
            compared[exported] = (grown / (ended - begun), counters.total(printed, sysmon))
    server.write("sysmon-agreement.json", json.dumps(compared, indent=2) + "\n")
    assert len(compared) > 1
    for name, (by_tables, by_sysmon) in compared.items():
        assert by_tables == pytest.approx(by_sysmon, rel=TOLERANCE, abs=1.0), name


@pytest.mark.parametrize("command", ["top", "advise"])
def test_what_happens_now_is_shown(server: ase.Server, facts: ServerFacts, run: Run, command: str) -> None:
    if command == "advise" and "monSpinlockActivity" not in facts.tables:
        pytest.skip("advise needs monSpinlockActivity, of 15.7 ESD#2 and later")
    options = {"top": ("--once", "--interval=3s"), "advise": ("--seconds=3",)}
    ended = run(command, *options[command], **server.environment)
    assert ended.returncode == 0, ended.stderr
    server.write(f"{command}.txt", ended.stdout)
    assert ended.stdout and "not known" not in ended.stdout.splitlines()[0]


def test_a_capture_holds_no_names(server: ase.Server, run: Run) -> None:
    with server.connected(server.sa) as admin:
        query = "select name from master..sysdatabases union select name from master..syslogins"
        names = {str(name).strip() for (name,) in admin.query(query, time.monotonic() + ase.TIMEOUT)}
    own = {word for each in CATALOGUE.collectors.values() for word in re.findall(r"\w+", each.sql or "")}
    names -= system_names() | vocabulary() | own
    assert names
    file = server.reports / "server.capture.gz"
    scrapes = f"--scrapes={5 if server.is_real else 1}"
    ended = run("capture", f"--output={file}", "--all", scrapes, **server.environment)
    assert ended.returncode == 0, ended.stderr
    taken = load(file)
    assert taken.header.names == "pseudonyms"
    text = "\n".join(lines(taken))
    assert {name for name in names if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)} == set()


def test_scrapes_for_long_have_no_error_keep_the_budget_and_their_totals_never_fall(
    server: ase.Server, watch: Watch, run: Run
) -> None:
    time.sleep(max(0.0, watch.since + server.seconds - time.time()))
    now = time.time()
    window = f"[{int(now - watch.since)}s]"
    with Prometheus(watch.prometheus) as prometheus:

        def worst(query: str) -> list[tuple[dict[str, str], float]]:
            return [(dict(sample.labels), sample.value) for sample in prometheus.query(query)]

        assert worst(f"count_over_time(ase_up{window}) >= {server.seconds / watch.interval / 2}")
        assert worst(f"max_over_time(ase_exporter_target_error{window}) > 0") == []
        assert worst(f"min_over_time(ase_up{window}) < 1") == []
        assert worst(f"min_over_time(ase_exporter_collector_success{window}) < 1") == []
        totals = prometheus.query('group by (__name__) ({__name__=~"(ase|dbhost)_.*_total"})')
        assert len(totals) > 20
        assert [
            each for name in totals for each in worst(f"resets({name.labels['__name__']}{window}) > 0")
        ] == []
        spent = f"rate(ase_exporter_session_cpu_seconds_total{window})"
        assert worst(f"{spent} > 1.5 * ase_exporter_budget_ratio") == []
    half = (watch.since + now) / 2
    windows = [f"--before={watch.since:.0f}..{half:.0f}", f"--after={half:.0f}..{now:.0f}"]
    where = [f"--prometheus={watch.prometheus}", f"--target={ase.NAME}"]
    ended = run("compare", *where, *windows)
    if now - watch.since < 20 * watch.interval:
        assert "expected at least" in ended.stderr
    else:
        assert ended.returncode == 0, ended.stderr
        server.write("compare.txt", ended.stdout)
