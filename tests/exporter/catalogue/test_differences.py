"""What differs from the catalogue on one server: types of columns."""

from collections.abc import Callable, Mapping

import pytest
from tests.versions import VERSIONS

from ase_exporter.catalogue import ServerFacts, load_catalogue
from ase_exporter.catalogue.differences import TypeMismatch, type_mismatches
from ase_exporter.catalogue.versions import parse_version

CATALOGUE, _ = load_catalogue()
EVERYTHING = dict.fromkeys(CATALOGUE.collectors, True)


def facts(**tables: Mapping[str, str]) -> ServerFacts:
    return ServerFacts(parse_version("16.0 SP04"), tables=tables)


@pytest.mark.parametrize("version", VERSIONS)
def test_documented_versions_have_no_differences(
    facts_of: Callable[[str], ServerFacts], version: str
) -> None:
    read = facts_of(version)
    assert read.tables
    assert type_mismatches(CATALOGUE, read, EVERYTHING) == []


@pytest.mark.parametrize(
    ("kind", "mismatched"),
    [
        ("int", False),
        ("unsigned bigint", False),
        ("numeric(20,0)", False),
        ("real", False),
        ("varchar(30)", True),
        ("datetime", True),
    ],
)
def test_metrics_need_numbers(kind: str, mismatched: bool) -> None:
    found = type_mismatches(CATALOGUE, facts(monNetworkIO={"PacketsSent": kind, "PacketsReceived": "int"}))
    expected = TypeMismatch(
        "network", "monNetworkIO", "PacketsSent", kind, "a number", ("ase_network_packets_total",)
    )
    assert found == ([expected] if mismatched else [])


def test_timestamps_and_the_time_of_events_need_dates() -> None:
    tables = {
        "monState": {"StartDate": "varchar", "CountersCleared": "datetime", "Connections": "int"},
        "monErrorLog": {"Time": "int", "Severity": "varchar"},
    }
    found = type_mismatches(CATALOGUE, facts(**tables))
    assert [(each.column, each.expected, each.metrics) for each in found] == [
        ("StartDate", "a date", ("ase_start_timestamp_seconds",)),
        ("Time", "a date", ()),
    ]
