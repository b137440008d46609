"""Pseudonyms: no name leaves the machine; what they keep; what stays readable."""

import re
import string
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.paths import SHARED

from ase_exporter.capture.file import (
    Capture,
    CaptureHeader,
    ColumnType,
    Execution,
    Failure,
    Result,
    Value,
    lines,
)
from ase_exporter.capture.privacy import Pseudonyms, system_names, vocabulary, with_pseudonyms
from ase_exporter.catalogue import PlannedCollector, load_catalogue
from ase_exporter.catalogue.facts import CACHES, COLUMNS, DATABASES, OPTIONS, PROXY_COLUMNS, SERVER
from ase_exporter.changes import detect
from ase_exporter.untrusted.encoders import is_writable, sql_identifier

HEADER = CaptureHeader("0.1.0", "2026-01-01T00:00:00+00:00", 1, 15.0)
BANNER = "Adaptive Server Enterprise/16.0 SP04/EBF 30399 SMP/P/x86_64/SLES 12.4/ase160/3587/64-bit/FBO/Wed Aug 24 2022"
# Words that cannot be part of anything else in the file.
SECRET = st.from_regex(r"[A-Z]{2}[a-z]{5,9}[0-9]{2}", fullmatch=True)
NAME = st.one_of(
    SECRET,
    st.builds("{}_{}".format, SECRET, SECRET),
    st.builds("{} {}".format, SECRET, SECRET),
    st.builds("{}.{}.example".format, SECRET, SECRET),
    st.builds("/{}/{}.dat".format, SECRET, SECRET),
    st.builds("{}.{}.{}.{}".format, *[st.integers(100, 255)] * 4),
)


def text(name: str) -> ColumnType:
    return ColumnType(name, "str", 255, 0, True)


def statement(
    sql: str, columns: list[ColumnType], *rows: list[Value], messages: list[str] | None = None
) -> Execution:
    return Execution(1, sql, 0.1, [Result(messages or [], columns, list(rows))])


def printed(sql: str, *messages: str) -> Execution:
    return Execution(1, sql, 10.0, [Result(messages)])


def failed(text_: str) -> Execution:
    return Execution(1, "select 1 from master..monLocks", 0.1, [], Failure("query_failed", 10330, text_))


def databases(*names: str) -> Execution:
    rows: list[list[Value]] = [[7, name] for name in names]
    return statement(DATABASES, [ColumnType("dbid", "int", 10, 0, False), text("name")], *rows)


def capture(*statements: Execution) -> Capture:
    return Capture(HEADER, list(statements))


def written(taken: Capture) -> str:
    return "\n".join(lines(with_pseudonyms(taken, b"key")[0]))


def collector_statements() -> list[tuple[str, list[str]]]:
    """A select of every collector of the catalogue, with the columns that are text."""
    found = []
    for collector in load_catalogue()[0].collectors.values():
        labels = {label.column for label in collector.labels.values()}
        labels |= {label.column for metric in collector.metrics.values() for label in metric.labels.values()}
        sql = collector.sql or f"select {', '.join(sorted(labels))} from master..{collector.table}"
        found.append((" ".join(sql.split()), sorted(labels)))
    return found


COLLECTORS = collector_statements()
# Values of these are ASE's own: a name in one of them would have to be created by SAP.
PUBLIC = {"ReplacementStrategy", "Type", "IOType", "OperationName", "ModuleName", "AllocatorName"}
PUBLIC |= {"MemoryPoolName", "ConfigOption", "LockState", "LockType", "WaitLockType"}


@given(names=st.lists(NAME, min_size=6, max_size=6, unique=True))
@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
def test_planted_names_are_nowhere_in_the_file(names: list[str]) -> None:
    server, database, cache, login, thing, address = names
    bindings = detect.OBJECT_BINDINGS.format(database=sql_identifier(database))
    error = f"Login '{login}' at {address} cannot open {database}..{thing}: permission denied on {cache}"
    planted = [
        statement(SERVER, [text(""), text(""), text("")], [BANNER, server, "2048"]),
        databases("master", database),
        statement(CACHES, [text("CacheName")], ["default data cache"], [cache]),
        statement(
            OPTIONS, [text("name"), text("value")], [cache, f"/sybase/{server}.cfg"], ["max memory", "1"]
        ),
        statement(PROXY_COLUMNS, [text("name"), text("name")], [thing, login]),
        statement(bindings, [text("name"), text("char_value")], [thing, cache]),
        printed("sp_sysmon '00:00:10', 'noclear'", f"Server Name:   {server}", f"  Cache: {cache}"),
        failed(error),
        statement("sp_sysmon", [text("a")], [f"from {address} by {login}"], messages=[error]),
        Execution(
            1, "select b", 0.1, [Result([], [ColumnType("b", "bytearray", 99, 0, True)], [[server.encode()]])]
        ),
    ]
    for sql, columns in COLLECTORS:
        row = [thing if column not in PUBLIC else "mixed" for column in columns]
        planted.append(statement(sql, list(map(text, columns)), list(row)))
    file = written(capture(*planted))
    for name in names:
        assert name not in file
        for word in re.findall(r"[A-Z]{2}[a-z]{5,9}[0-9]{2}", name):
            assert word not in file
        assert name.encode().hex() not in file


SPINLOCKS = "select SpinlockName from master..monSpinlockActivity"
WORDS = st.text(string.ascii_letters + string.digits + "_é", min_size=1, max_size=12)


@given(words=st.lists(WORDS, min_size=1, max_size=40, unique=True))
def test_pseudonyms_are_stable_unique_and_of_the_same_length_and_classes(words: list[str]) -> None:
    pseudonyms = Pseudonyms(b"key")
    assert pseudonyms.word("payroll") != Pseudonyms(b"another").word("payroll")
    first = [pseudonyms.word(word) for word in words]
    assert [pseudonyms.word(word) for word in words] == first
    assert len(set(first)) == len(words)
    for word, found in zip(words, first, strict=True):
        assert found != word and found not in vocabulary()
        if len(word) > 3:
            assert len(found) == len(word)
        for before, after in zip(word, found, strict=False):
            assert before.isupper() == after.isupper()
            assert before.isdigit() == after.isdigit()
            assert (before == "_") == (after == "_")


def test_the_same_name_has_one_pseudonym_in_tables_texts_and_sql() -> None:
    bindings = detect.OBJECT_BINDINGS.format(database="payroll")
    taken = capture(
        databases("payroll"),
        statement(CACHES, [text("CacheName")], ["log cache"]),
        statement(
            SPINLOCKS, [text("SpinlockName")], ["log cache"], ["bufspin log cache"], ["Resource->rdes_spin"]
        ),
        statement(bindings, [text("name")], ["salaries"]),
        failed("Database 'payroll' does not exist"),
    )
    hidden, pseudonyms = with_pseudonyms(taken, b"key")
    database, cache = pseudonyms.word("payroll"), f"{pseudonyms.word('log')} {pseudonyms.word('cache')}"
    assert hidden.statements[0].rows == [[7, database]]
    assert hidden.statements[2].rows == [[cache], [f"bufspin {cache}"], ["Resource->rdes_spin"]]
    assert hidden.statements[3].sql == detect.OBJECT_BINDINGS.format(database=database)
    assert hidden.statements[4] == failed(f"Database '{database}' does not exist")


def test_names_of_the_system_options_and_literals_stay() -> None:
    sql = "select name, case when status & 32 = 32 then 'loading' else 'online' end from master..sysdatabases"
    taken = capture(
        statement(sql, [text("name"), text("")], ["tempdb", "online"], ["sybsystemprocs", "loading"]),
        statement(OPTIONS, [text("name"), text("value")], ["user log cache size", "2048"]),
        statement(CACHES, [text("CacheName")], ["log cache"]),
        statement(SERVER, [text(""), text("")], [BANNER, "X"]),
    )
    hidden, _ = with_pseudonyms(taken, b"key")
    assert hidden.statements[0].rows == taken.statements[0].rows
    assert hidden.statements[1].rows == taken.statements[1].rows
    assert hidden.statements[3].rows[0][0] == BANNER
    assert "tempdb" in system_names()


@pytest.mark.shared
def test_names_of_spinlocks_that_real_servers_have_stay_readable() -> None:
    file = SHARED / "ase" / "spinlock-names-asebox.txt"
    names = [line.strip() for line in file.read_text().splitlines() if line and not line.startswith("#")]
    pseudonyms = Pseudonyms(b"key")
    kept = [name for name in names if pseudonyms.spinlock(name) == name]
    assert len(kept) > 0.6 * len(names), sorted(set(names) - set(kept))


def test_numbers_dates_and_sizes_stay() -> None:
    columns = [ColumnType("SPID", "int", 10, 0, False), ColumnType("a", "float", 53, 0, True)]
    taken = capture(statement("select SPID, a from master..monProcess", columns, [17, 0.5]))
    assert with_pseudonyms(taken, b"key")[0].statements == taken.statements
    assert replace(taken.header, names="pseudonyms") == with_pseudonyms(taken, b"key")[0].header


@pytest.mark.parametrize(
    ("planted", "secrets"),
    [
        (failed("Login failed: host ip-10-211-212-213.zorgmax.example"), ["211-212-213", "212", "zorg"]),
        (failed("from ::ffff:10.211.212.213, fe80::zorg or 2001:db8::bade"), ["211.212", "212.213", "bade"]),
        (failed("00:1a:2b:3c:4d:5e at \\\\zorghost\\share, mail zorg@example.org"), ["1a:2b", "zorg"]),
        (failed("no index on zorg_spin, zorgspins or row->zorgmax"), ["zorg"]),
        (failed("Anmeldung von „zorgmax“, échec de «zorgmin», вход 'Зоргмакс'"), ["zorg", "Зорг", "макс"]),
        (
            failed("'पगारसूची' or '給与台帳' or 'ｐａｙｒｏｌｌ' or 'ＺＯＲＧ'"),
            [*"पगारसूची給与台帳ｐａｙｒｏｌＺ"],
        ),
        (
            statement(
                SERVER,
                [text(""), text(""), ColumnType("", "int", 10, 0, True)],
                [BANNER.replace("SLES 12.4", "aseprod01 Linux host.zorgmax.example"), "X", 2048],
            ),
            ["zorg", "prod01"],
        ),
        (statement("select Name from master..monTask", [text("Name")], ["zorg_spin"]), ["zorg"]),
        (
            statement(
                "select ErrorMessage, Time from master..monErrorLog",
                [text("ErrorMessage")],
                ["SQL Text: select * from zorgmax where card = 4111222233334444 -- server error"],
            ),
            ["zorg", "4111222233334444", "select *"],
        ),
    ],
)
def test_a_secret_in_an_unexpected_place_is_replaced(planted: Execution, secrets: list[str]) -> None:
    file = written(capture(planted))
    for secret in secrets:
        assert secret not in file.partition('"sql":')[2].partition('"results"')[2]


def test_names_that_ase_uses_words_or_digits_of_are_replaced_as_a_whole() -> None:
    names = ["zorg-0412", "orders log", "48151623", "zorg.data.server"]
    texts = [f"Database '{name}' and database {name} is full" for name in names]
    hidden, pseudonyms = with_pseudonyms(capture(databases(*names), *map(failed, texts)), b"key")
    for name, each in zip(names, hidden.statements[1:], strict=True):
        found = pseudonyms.name(name)
        assert each.error is not None
        assert each.error.text == f"Database '{found}' and database {found} is full"


def test_a_column_that_somebody_added_to_a_table_is_replaced() -> None:
    columns = statement(
        f"{COLUMNS} where Language = 'en_US'",
        [text("TableName"), text("ColumnName"), text("TypeName")],
        ["monEngine", "Yields", "int"],
    )
    proxy = statement(
        PROXY_COLUMNS, [text("name"), text("name")], ["monEngine", "yields"], ["monEngine", "zorgmax"]
    )
    hidden, _ = with_pseudonyms(capture(columns, proxy), b"key")
    assert hidden.statements[1].rows[0] == ["monEngine", "yields"]
    assert "zorgmax" not in written(capture(columns, proxy))


def test_words_equal_to_a_pseudonym_are_replaced_too() -> None:
    name = "hr"
    other = Pseudonyms(b"key").word(name)
    hidden, _ = with_pseudonyms(capture(databases(name), failed(f"not {other}, but {name}")), b"key")
    assert hidden.statements[1].error is not None
    assert hidden.statements[1].error.text.split()[-1] == other
    assert hidden.statements[1].error.text.split()[1] != f"{other},"


def test_a_database_named_as_a_literal_of_the_statement_is_replaced() -> None:
    sql = "select name, case when status & 32 = 32 then 'loading' else 'online' end from master..sysdatabases"
    taken = capture(statement(sql, [text("name"), text("")], ["loading", "online"], ["online", "loading"]))
    hidden, pseudonyms = with_pseudonyms(taken, b"key")
    assert hidden.statements[0].rows == [
        [pseudonyms.name("loading"), "online"],
        [pseudonyms.name("online"), "loading"],
    ]


def test_names_of_the_target_are_known() -> None:
    texts = "Adaptive Server is not found (data-server.log:5000), login 'disk user'"
    hidden, pseudonyms = with_pseudonyms(capture(failed(texts)), b"key", ["data-server.log", "disk user"])
    assert hidden.statements[0].error is not None
    assert hidden.statements[0].error.text == texts.replace(
        "data-server.log", pseudonyms.name("data-server.log")
    ).replace("disk user", pseudonyms.name("disk user"))


@given(name=st.text(st.characters(codec="utf-8"), min_size=3, max_size=12).filter(is_writable))
@example("0\\b")
def test_the_database_in_a_statement_is_replaced_whatever_its_name(name: str) -> None:
    sql = detect.OBJECT_BINDINGS.format(database=sql_identifier(f"Zorgmax{name}"))
    space = PlannedCollector("", select=load_catalogue()[0].collectors["database_space"].sql or "")
    left_out = space.statement_without([f"Zorgmax{name}"])
    asked = [statement(each, [text("name")], ["a"]) for each in (sql, left_out)]
    taken = capture(databases(f"Zorgmax{name}"), *asked)
    hidden, pseudonyms = with_pseudonyms(taken, b"key")
    found = pseudonyms.name(f"Zorgmax{name}")
    assert hidden.statements[2].sql == space.statement_without([found]) != left_out
    assert hidden.statements[0].rows == [[7, found]]
    assert hidden.statements[1].sql == detect.OBJECT_BINDINGS.format(database=sql_identifier(found))
    assert "Zorgmax" not in written(taken)
