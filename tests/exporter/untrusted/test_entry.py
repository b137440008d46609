"""Each way by which text of others enters makes one printable line of it."""

import json
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.exporter.ase.test_connection import connect
from tests.exporter.compare.test_prometheus import server
from tests.exporter.untrusted.hostile_names import hostile_names
from tests.simulator.tds.running import running
from tests.simulator.tds.scripted import ScriptedBackend

from ase_exporter.capture.file import Capture, CaptureHeader, ColumnType, Execution, Result, lines, parse
from ase_exporter.changes.change import Change
from ase_exporter.changes.filters import parse_filter
from ase_exporter.changes.store import open_store
from ase_exporter.compare.marks import marks_from_exporter
from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.sysmon.lines import numbered
from ase_exporter.untrusted.entry import load_json, one_line
from ase_simulator.results import Column, Rows, Type
from ase_simulator.server import Listener

# A server sends at most 255 bytes of a name; half of a surrogate pair cannot be sent.
NAMES = [
    name for name in hostile_names() if len(name.encode(errors="replace")) < 250 and "\ud800" not in name
]
SHOWN = list(map(one_line, NAMES))


def test_one_line_is_printable_and_keeps_what_is() -> None:
    assert all(map(str.isprintable, SHOWN))
    assert [name for name in NAMES if name.isprintable()] == [
        shown for name, shown in zip(NAMES, SHOWN, strict=True) if name.isprintable()
    ]
    assert one_line("a\nb\x1b\u202e") == r"a\nb\x1b\u202e"


@pytest.mark.parametrize("kind", ["varchar", "univarchar"])
def test_rows_of_a_server(kind: str) -> None:
    backend = ScriptedBackend()
    rows = [(name,) for name in NAMES]
    backend.answers["names"] = lambda: [Rows([Column("n", Type(kind, 255))], rows)]  # type: ignore[arg-type]
    with running(lambda: Listener(backend)) as run:
        connection = connect(run)
        found = [row[0] for row in connection.query("names", time.monotonic() + 60)]
        connection.close()
    # ASE's server does not send trailing blanks of char columns; an empty text is one blank.
    assert [text.rstrip() for text in found] == [text.rstrip() for text in SHOWN]


def test_captures() -> None:
    header = CaptureHeader("0", datetime(2026, 1, 2, tzinfo=UTC).isoformat(), 1, 15.0)
    result = Result((), [ColumnType("n", "str", 255, 0, True)], [[name] for name in NAMES])
    taken = Capture(header, [Execution(1, "select n", 0.1, [result])])
    (statement,) = parse(list(lines(taken)), "x").statements
    assert [row[0] for row in statement.results[0].rows] == SHOWN


def test_answers_of_prometheus_and_of_an_exporter() -> None:
    series = [{"metric": {"name": name}, "value": [0, "1"]} for name in NAMES]
    body = {"status": "success", "data": {"resultType": "vector", "result": series}}
    with server(json.dumps(body).encode()) as (address, _), Prometheus(f"http://{address}") as prometheus:
        assert [sample.labels["name"] for sample in prometheus.query("x")] == SHOWN
    changes = [
        Change(f"{at:016x}", "PROD", "cache", name, "1", "2", float(at)).json()
        for at, name in enumerate(NAMES)
    ]
    with server(json.dumps(changes).encode()) as (address, _):
        assert [mark.name for mark in marks_from_exporter(f"http://{address}", "PROD")] == SHOWN


def test_history_of_a_state_directory(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    for number, name in enumerate(NAMES):
        change = Change(f"{number:016x}", "PROD", "cache", name, name, "2", float(number), tags=(name,))
        store.add(change)
    store.close()
    store = open_store(tmp_path)
    found = sorted(store.find(parse_filter({}, 1000)), key=lambda change: change.at)
    store.close()
    assert [(change.name, change.old, change.tags) for change in found] == [(s, s, (s,)) for s in SHOWN]


def test_lines_of_a_report_and_json() -> None:
    assert all(line.text.isprintable() for line in numbered(NAMES))
    assert load_json(json.dumps([NAMES, {"names": NAMES}])) == [SHOWN, {"names": SHOWN}]
