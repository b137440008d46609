"""Names in any character set: exact where they are valid, bounded by their announced length where they are not."""

import time
from functools import partial
from typing import Literal

import pytest
from tests.exporter.ase.test_connection import connect
from tests.exporter.simulated import run, scraper_of
from tests.faults.scraping import scrape
from tests.simulator.tds.running import Running
from tests.simulator.tds.scripted import ScriptedBackend

from ase_exporter.ase.text import CHARSET
from ase_exporter.catalogue import facts
from ase_simulator.results import Column, Message, Result, Rows, Type
from ase_simulator.tds import charsets

# Bytes of another character set than the announced one. FreeTDS's conversion took the first two for the end of the
# connection, and filled the others with 2,049 characters of the process's memory.
INVALID = [b"caf\xe9", b"K\xf6ln", b"\xf6ln", b"\xf6a", b"M\xfcnchen \xdcbersicht", b"\xff", b"\xc3"]
SHOWN = ["caf\\xe9", "K\\xf6ln", "\\xf6ln", "\\xf6a", "M\\xfcnchen \\xdcbersicht", "\\xff", "\\xc3"]
NAMES = {
    "iso_1": "Köln café",
    "cp850": "Köln ░",
    "roman8": "Köln",
    "sjis": "表示ソ",
    "utf8": "Köln \U0001f600 表",
}


def deadline() -> float:
    return time.monotonic() + 60


def names(values: list[str], kind: Literal["char", "varchar"] = "varchar") -> Rows:
    return Rows([Column("n", Type(kind, 30))], [(value,) for value in values])


def answer(values: list[str]) -> list[Result]:
    return [names(values)]


def test_invalid_names_are_shown_with_their_bytes_and_with_no_other_memory(
    backend: ScriptedBackend, scripted: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The server says utf8 and sends something else.
    monkeypatch.setitem(charsets.CODECS, "utf8", "iso8859-1")
    connection = connect(scripted, password="password")
    for raw, shown in zip(INVALID, SHOWN, strict=True):
        both = [raw.decode("iso8859-1"), "fine"]
        backend.answers["names"] = partial(answer, both)
        for _ in range(3):
            assert [row[0] for row in connection.query("names", deadline())] == [shown, "fine"]
    connection.close()


@pytest.mark.parametrize("charset", NAMES)
def test_names_are_decoded_from_the_servers_character_set(
    backend: ScriptedBackend, scripted: Running, charset: str
) -> None:
    name = NAMES[charset]
    backend.charset = charset
    connection = connect(scripted, password="password")
    backend.answers[CHARSET] = lambda: [names([charset])]
    connection.detect_charset(deadline())
    backend.answers["names"] = lambda: [names([name, "fine"]), names([name], "char")]
    assert [row[0] for row in connection.query("names", deadline())] == [name, "fine"]
    connection.close()


def test_a_character_set_that_python_does_not_know_costs_only_what_is_not_ascii(
    backend: ScriptedBackend, scripted: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(charsets.CODECS, "utf8", "iso8859-1")
    connection = connect(scripted, password="password")
    backend.answers[CHARSET] = lambda: [names(["klingon"])]
    connection.detect_charset(deadline())
    backend.answers["names"] = lambda: [names(["K\xf6ln", "fine"])]
    assert [row[0] for row in connection.query("names", deadline())] == ["K\\xf6ln", "fine"]
    connection.close()


def test_invalid_bytes_in_a_message_show_no_other_memory(
    backend: ScriptedBackend, scripted: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(charsets.CODECS, "utf8", "iso8859-1")
    connection = connect(scripted, password="password")
    for raw in INVALID:
        words = raw.decode("iso8859-1")
        message = Message(0, 10, 1, f"cache {words} x")
        backend.answers["print"] = partial(list, [message])
        for _ in range(3):
            [line] = connection.query_messages("print", deadline())
            assert line.startswith("cache ")
            assert len(line) <= 60
    connection.close()


def test_nulls_in_a_catalogue_cost_one_line_and_no_traceback(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(facts, "DATABASES", "select convert(int, null), name from master..sysdatabases")
    with run("16.0 SP04", "idle", speed=0.0) as server:
        one = scraper_of(server.address)
        result = scrape(one)
        one.close()
    assert result.error_kind == "lost"
    [record] = caplog.records
    assert "an answer that cannot be read" in record.getMessage()
    assert not record.exc_info
