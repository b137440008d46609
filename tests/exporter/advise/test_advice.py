"""Advice: arithmetic, limits of ASE, thresholds below which there is none, and report formats."""

import re
from dataclasses import replace
from io import StringIO

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlglot import Dialect
from tests.exporter.diagnosis.states import healthy
from tests.exporter.untrusted.hostile_names import hostile_names

from ase_exporter.advise.advice import Advice, SpinlockFinding, _worthwhile, advise
from ase_exporter.advise.evidence import CachedObject, DataCache, Evidence, SpinlockRates
from ase_exporter.advise.remedies import AdviceStep, remedies
from ase_exporter.advise.view import advice_view
from ase_exporter.catalogue import load_catalogue
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.diagnosis.diagnose import diagnose
from ase_exporter.untrusted.encoders import is_writable
from ase_exporter.untrusted.entry import one_line
from ase_exporter.untrusted.terminal import PlainConsole
from ase_exporter.views import terminal
from ase_exporter.views.figures import size

GB = 2.0**30
BUSY = 1e7
SQL = Dialect.get_or_raise("tsql")


def spinlock(name: str, contention: float, spinlock_class: str = "", grabs: float = BUSY) -> SpinlockRates:
    return SpinlockRates(name, spinlock_class, grabs, grabs * contention * 100, grabs * contention)


def evidence(*spinlocks: SpinlockRates, version: str = "15.7 SP110", **other: object) -> Evidence:
    options = {
        "lock address spinlock ratio": 100,
        "open object spinlock ratio": 100,
        "number of open objects": 2000,
        "lock spinlock ratio": 85,
        "lock hashtable size": 8192,
        "procedure cache size": 100_000,
        "max memory": 10_000_000,
        "total logical memory": 9_000_000,
    }
    facts = Evidence(parse_version(version), 30.0, 64, 1000.0, options, spinlocks)
    return replace(facts, **other)  # type: ignore[arg-type]


HOT_CACHE = spinlock("default data cache", 0.3, "data_cache")
VERY_HOT_CACHE = spinlock("default data cache", 0.8, "data_cache")
FULL_CACHE = DataCache("default data cache", 64 * GB, 32, False, 8 * GB)
FEW_PARTITIONS = replace(FULL_CACHE, partitions=4)


def printed(advice: Advice) -> str:
    """What the command prints into a file."""
    text = StringIO()
    PlainConsole(file=text).print(terminal.printable(advice_view(advice)))
    return text.getvalue()


def only(advice: Advice) -> SpinlockFinding:
    (finding,) = advice.findings
    return finding


def test_address_locks_get_two_hundred_and_seven_spinlocks_for_eleven() -> None:
    finding = only(advise(evidence(spinlock("addrlockspins", 0.7))))
    (step,) = finding.steps
    assert finding.current == "lock address spinlock ratio = 100: ceil(1,031 / 100) = 11 spinlocks"
    assert step.statements == ("exec sp_configure 'lock address spinlock ratio', 5",)
    assert "ceil(1,031 / 5) = 207 spinlocks instead of 11" in step.why
    assert step.restart and step.ceiling == "at most 7 engines, which spin"


@given(spins=st.lists(st.floats(0, 1e12), min_size=1, max_size=5), busy=st.floats(0, 64) | st.none())
def test_no_more_engines_spin_than_are_busy(spins: list[float], busy: float | None) -> None:
    locks = [SpinlockRates(f"lock{n}", "", each, each, each / 2) for n, each in enumerate(spins)]
    advice = advise(evidence(*locks, busy=busy))
    whole_seconds = 64 / 30
    assert advice.spinning <= min(64, 64 if busy is None else busy + whole_seconds) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("lock", "severity", "statements"),
    [
        # A ratio is lowered no further than the target needs.
        (spinlock("fglockspins", 0.12), "hot", ["exec sp_configure 'lock spinlock ratio', 20"]),
        (spinlock("fglockspins", 0.6), "severe", ["exec sp_configure 'lock spinlock ratio', 5"]),
        # Descriptors call for action at three percent, others at ten.
        (spinlock("Des Upd Spinlocks", 0.04), "hot", ["exec sp_configure 'open object spinlock ratio', 20"]),
        (spinlock("addrlockspins", 0.04), "busy", []),
        # A high ratio of few grabs is left alone.
        (spinlock("addrlockspins", 0.4, grabs=100), "quiet", []),
        (spinlock("Dbtable->dbt_xdesqueue_spin", 0.6, "database"), "severe", []),
    ],
)
def test_a_spinlock_gets_what_its_contention_and_its_use_call_for(
    lock: SpinlockRates, severity: str, statements: list[str]
) -> None:
    advice = advise(evidence(lock))
    finding = only(advice)
    found = [statement for step in finding.steps for statement in step.statements]
    assert (finding.severity, found) == (severity, statements)
    text = printed(advice)
    assert ("Nothing to do" in text) == (severity in ("busy", "quiet"))
    assert ("No remedy by configuration is known" in text) == (severity == "severe" and not statements)


def test_the_most_expensive_spinlock_comes_first_not_the_one_with_the_highest_ratio() -> None:
    rare, expensive = spinlock("addrlockspins", 0.9, grabs=2000), spinlock("fglockspins", 0.2)
    found = [each.spinlock.name for each in advise(evidence(rare, expensive)).findings]
    assert found == ["fglockspins", "addrlockspins"]


def test_an_option_that_cannot_be_lowered_further_gives_no_step() -> None:
    tuned = evidence(spinlock("addrlockspins", 0.3), options={"lock address spinlock ratio": 5})
    assert only(advise(tuned)).steps == ()


@pytest.mark.parametrize(
    ("partitions", "engines", "pool", "page_size", "wanted"),
    [
        (1, 64, 8 * GB, 2048, 32),
        (4, 128, 8 * GB, 2048, 64),
        (4, 16, 8 * GB, 2048, 8),
        (4, 128, 16 * GB / 2048, 2048, 16),
        (4, 128, 16 * GB / 2048, 4096, 8),
    ],
)
def test_partitions_are_a_power_of_two_that_pools_of_256_pages_each_and_engines_allow(
    partitions: int, engines: int, pool: float, page_size: int, wanted: int
) -> None:
    cache = DataCache("default data cache", 16 * GB, partitions, False, pool)
    facts = evidence(VERY_HOT_CACHE, caches=(cache,), engines=engines, page_size=page_size)
    (step,) = only(found := advise(facts)).steps
    assert step.statements == (f"exec sp_cacheconfig 'default data cache', 'cache_partition={wanted}'",)
    assert not re.search(r"\b1 (engine|partition)s\b", printed(found))
    assert step.restart and f"at least {size(256 * page_size)} of each pool" in step.why


def cached(database: str, name: str, reads: float, owner: str = "dbo", size: float = GB / 4) -> CachedObject:
    return CachedObject(database, name, "default data cache", reads, size, owner, size)


def binding_step(
    *tables: CachedObject, temporary: frozenset[str] = frozenset({"tempdb"})
) -> AdviceStep | None:
    """The step for a hot cache that has as many partitions as help, and these tables."""
    finding = only(
        advise(evidence(HOT_CACHE, caches=(FULL_CACHE,), objects=tables, temporary_databases=temporary))
    )
    assert len(finding.steps) < 2
    return finding.steps[0] if finding.steps else None


def test_system_tables_are_bound_in_their_database_in_single_user_mode() -> None:
    step = binding_step(cached("claims", "sysobjects", 4000, size=2**20), cached("claims", "claim", 9000))
    assert step is not None
    assert step.statements == (
        "exec sp_cacheconfig 'system tables cache', '64M', 'mixed', 'relaxed', 'cache_partition=32'",
        "use master",
        "exec sp_dboption 'claims', 'single user', true",
        "use claims",
        "checkpoint",
        "exec sp_bindcache 'system tables cache', 'claims', 'sysobjects'",
        "use master",
        "exec sp_dboption 'claims', 'single user', false",
        "use claims",
        "checkpoint",
        "use master",
    )
    warned = " ".join(step.warnings)
    assert "single-user mode" in warned and "exclusive table lock" in warned and "clears" in warned


def test_key_tables_are_bound_in_their_database_with_their_owner() -> None:
    moved = replace(cached("claims", "sysobjects", 4000), cache="system tables cache")
    own = DataCache("system tables cache", 64 * 2.0**20, 32, True, 64 * 2.0**20)
    tables = (
        moved,
        cached("claims", "claim", 2500),
        cached("claims", "event", 2400, owner="app"),
        cached("orders", "line", 2300),
        cached("orders", "item", 2200),
        cached("claims", "rare", 100),
        cached("claims", "syslogs", 9000),
    )
    finding = only(advise(evidence(HOT_CACHE, caches=(FULL_CACHE, own), objects=tables)))
    (step,) = finding.steps
    # Half of the reads are best: more would only move the contention.
    assert step.statements[1:] == (
        "use claims",
        "exec sp_bindcache 'key tables cache', 'claims', 'claim'",
        "exec sp_bindcache 'key tables cache', 'claims', 'app.event'",
        "use master",
    )
    assert "Free below max memory: 1.9 GB" in step.why
    warned = " ".join(step.warnings)
    assert "exclusive table lock" in warned and "index" in warned and "single-user" not in warned


@pytest.mark.parametrize(
    "table",
    [
        cached("master", "sysdatabases", 5000),
        cached("tempdb", "sysobjects", 5000),
        cached("sybsystemprocs", "sysprocedures", 5000),
        cached("tempdb_batch", "sysindexes", 5000),
        cached("claims", "#session", 5000),
        cached("claims", "claim", 5000, owner=""),
        cached(one_line("claims\ngo\nshutdown"), "claim", 5000),
        cached("claims", one_line("claim\u2028"), 5000),
        cached("claims", "claim", 5000, owner=one_line("\x1b")),
        cached("claims", "payroll.salary", 5000),
        cached("claims", "claim", 5000, owner="[dbo].[salary"),
        cached("claims", "c" * 240, 5000, owner="o" * 30),
    ],
    ids=lambda table: f"{table.database}.{table.owner}.{table.name}",
)
def test_what_must_not_be_bound_is_never_bound(table: CachedObject) -> None:
    assert binding_step(table, temporary=frozenset({"tempdb_batch"})) is None
    kept = binding_step(table, cached("claims", "policy", 5000), temporary=frozenset({"tempdb_batch"}))
    assert kept is not None
    assert [line for line in kept.statements if "sp_bindcache" in line] == [
        "exec sp_bindcache 'key tables cache', 'claims', 'policy'"
    ]


def test_no_name_changes_what_a_statement_says() -> None:
    shapes = set()
    for name in ["a-b", *(each for each in map(one_line, hostile_names()) if is_writable(each))]:
        step = binding_step(cached(name, name, 5000, owner=name), cached("claims", "other", 5000, owner=""))
        # Temporary tables, and names that sp_bindcache would divide, are not bound.
        if name.startswith("#") or not set('.[]"').isdisjoint(name):
            assert step is None
        else:
            assert step is not None and all(map(str.isprintable, step.statements))
            tokens = [SQL.tokenize(statement) for statement in step.statements]
            shapes.add(tuple(len(each) for each in tokens))
    assert len(shapes) == 1


@pytest.mark.parametrize(
    ("engines", "page_size", "created"),
    [
        (256, 2048, "'64M', 'mixed', 'relaxed', 'cache_partition=64'"),
        (64, 16384, "'128M', 'mixed', 'relaxed', 'cache_partition=32'"),
        (1, 2048, "'64M', 'mixed', 'relaxed', 'cache_partition=1'"),
        (48, 2048, "'64M', 'mixed', 'relaxed', 'cache_partition=16'"),
    ],
)
def test_a_new_cache_has_at_most_64_partitions_each_of_256_pages(
    engines: int, page_size: int, created: str
) -> None:
    cache = replace(FULL_CACHE, partitions=int(created.rpartition("=")[2].strip("'")))
    tables = (cached("claims", "claim", 9000, size=2**20), cached("claims", "rest", 9000, owner=""))
    facts = evidence(HOT_CACHE, caches=(cache,), objects=tables, engines=engines, page_size=page_size)
    (step,) = only(advise(facts)).steps
    assert step.statements[0] == f"exec sp_cacheconfig 'key tables cache', {created}"
    assert "1 table left out: its owner is not known" in step.warnings


@pytest.mark.parametrize(
    ("size", "held", "free_megabytes", "partitions", "why_not"),
    [
        # Two tables of 600 GB, of which a cache of 100 GB holds a tenth: that much memory is not free.
        (600 * GB, 50 * GB, 102_128 // 2, 32, "are free below max memory"),
        (GB, GB, None, 32, "is not known"),
    ],
)
def test_what_does_not_pay_is_named_and_not_advised(
    size: float, held: float, free_megabytes: int | None, partitions: int, why_not: str
) -> None:
    tables = tuple(CachedObject("claims", name, "", 9000, held, "dbo", size) for name in ("claim", "line"))
    options = {"max memory": 512 * (free_megabytes or 0), "total logical memory": 1}
    cache = replace(FULL_CACHE, partitions=partitions)
    finding = only(advise(evidence(HOT_CACHE, caches=(cache,), objects=tables, options=options)))
    assert finding.steps == ()
    assert any(why_not in caution for caution in finding.cautions)


def test_a_table_that_does_not_fit_gets_strict_lru() -> None:
    tables = (
        CachedObject("claims", "claim", "", 9000, GB, "dbo", 600 * GB),
        CachedObject("claims", "line", "", 9000, GB, "", GB),
    )
    step = binding_step(*tables)
    assert step is not None and "'mixed', 'strict'" in step.statements[0]


def test_spinlocks_that_limit_together_are_eased_together() -> None:
    locks = [spinlock(name, 0.6) for name in ("addrlockspins", "fglockspins")]
    first, second = advise(evidence(*locks, busy=64.0)).hot
    (step,) = first.steps
    assert len(step.statements) == 2 and step.engines == pytest.approx(first.engines + second.engines)
    assert second.steps == () and "together with" in second.cautions[0]
    # Engines that are idle take up what is freed.
    assert all(each.steps for each in advise(evidence(*locks, busy=30.0)).hot)


def test_memscale_is_offered_for_hot_caches_of_versions_that_have_it() -> None:
    new = advise(evidence(VERY_HOT_CACHE, version="16.0 SP03", caches=(FEW_PARTITIONS,)))
    assert [feature.group for feature in new.features] == ["A", "B", "B", "C", "D", "E", "F"]
    assert "TSX" in (text := printed(new)) and "/proc/cpuinfo of the database host lists rtm" in text
    assert advise(evidence(VERY_HOT_CACHE, caches=(FEW_PARTITIONS,))).features == ()
    assert advise(evidence(spinlock("addrlockspins", 0.8), version="16.0 SP03")).features == ()


@pytest.mark.parametrize("table", [cached("claims", "sysobjects", 9000), cached("claims", "claim", 9000)])
def test_all_reads_are_not_moved_into_fewer_partitions(table: CachedObject) -> None:
    cache = replace(FULL_CACHE, partitions=64)
    assert only(advise(evidence(HOT_CACHE, caches=(cache,), objects=(table,)))).steps == ()


def test_nothing_is_called_well_where_no_spinlock_was_read() -> None:
    unread = evidence(missing={"ase_spinlock_grabs_total": "off"}, engines=0, transactions=None)
    assert "Nothing to do" not in printed(advise(unread))
    # And no figure stands for what is not known.
    assert printed(advise(unread)).startswith("ASE 15.7 SP110 (over 30 s)\n")


def test_too_little_read_is_no_advice() -> None:
    state = healthy()
    seen = diagnose(state)
    state.switched_off = {"spinlocks", "waits"}
    blind = diagnose(state)
    assert advise(evidence(diagnosis=seen)).is_known and not advise(evidence(diagnosis=blind)).is_known
    quiet = printed(advise(evidence(spinlock("addrlockspins", 0.01), diagnosis=blind)))
    assert "NOT KNOWN: " in quiet and "Nothing to do" not in quiet


def test_statements_are_printed_as_batches_with_their_warnings() -> None:
    tables = (cached("claims", "claim", 9000), cached("claims", "other", 9000, owner=""))
    advice = advise(evidence(HOT_CACHE, caches=(FULL_CACHE,), objects=tables))
    # isql knows `go` only at the start of a line.
    lines = printed(advice).splitlines()
    start = lines.index("Do:") + 1
    script = lines[start : lines.index("go", lines.index("use master", start)) + 1]
    assert script[-6:] == [
        "use claims",
        "go",
        "exec sp_bindcache 'key tables cache', 'claims', 'claim'",
        "go",
        "use master",
        "go",
    ]
    assert any(line.strip().startswith("Note: ") and "exclusive table lock" in line for line in lines)
    assert any("Do not add engines" in line for line in lines)
    assert sum(line.startswith("Note: ") for line in lines) >= 2


def test_every_option_that_advice_reads_is_an_option_of_the_catalogue_or_the_facts() -> None:
    catalogue, problems = load_catalogue()
    assert problems == []
    read = catalogue.collectors["configuration"].sql or ""
    for remedy in remedies().remedies:
        # Those that only sharpen a remedy are read with the facts of a server, which have all options.
        for option in (remedy.ratio and remedy.ratio.option, remedy.increase and remedy.increase.option):
            assert option is None or f"'{option}'" in read, option


@pytest.mark.parametrize("value", [None, 0, 1])
def test_an_option_that_has_the_value_is_not_set_again(value: int | None) -> None:
    options = {} if value is None else {"enable literal autoparam": value}
    step = AdviceStep(("exec sp_configure 'enable literal autoparam', 1",), "")
    kept, cautions = _worthwhile([step], evidence(options=options))
    assert (kept, bool(cautions)) == (((), True) if value == 1 else ((step,), False))


@pytest.mark.parametrize("value", [None, 0, 1])
def test_a_switch_is_named_where_it_is_there_and_off(value: int | None) -> None:
    options = {"procedure cache size": 7000, "max memory": 10**7, "total logical memory": 5 * 10**6}
    options |= {} if value is None else {"enable large chunk elc": value}
    found = only(advise(evidence(spinlock("Resource->rproccache_spin", 0.5), options=options)))
    assert any("enable large chunk elc" in caution for caution in found.cautions) == (value == 0)


def test_a_restart_is_not_advised_for_less_than_half_an_engine() -> None:
    contended = SpinlockRates("addrlockspins", "", 1e5, 3e6, 7e4)
    finding = only(advise(evidence(contended)))
    assert finding.engines < 0.5 and finding.steps == ()
    assert any("too little for a restart" in caution for caution in finding.cautions)
