"""A policy becomes few series that follow the calendar."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from ase_exporter.checks.proposed_policy import proposed_policy
from ase_exporter.config import Config, yaml_files
from ase_exporter.config.policy import Policy, WeeklyWindow
from ase_exporter.metrics.families import Family
from ase_exporter.scraping.policy import policy_families

NIGHT = "sat sun 22:00-04:00 Europe/Berlin"


def policy(text: str) -> tuple[Policy, ...]:
    return yaml_files.parse(f"policy: [{text}]", Config, "exporter.yaml").policy


def series(text: str, at: str = "2026-11-24T12:00Z", databases: tuple[str, ...] = ("a", "b")) -> list[str]:
    """What is exported, as METRIC LABELS VALUE without 1."""
    families = policy_families(policy(text), databases, datetime.fromisoformat(at).timestamp())
    return [
        " ".join(filter(None, [family.name.removeprefix("ase_policy_"), *labels, f"{value:g}".strip("1")]))
        for family in families
        for labels, value in family.samples
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{exempt: [AseDown], reason: x}", [f"exempt AseDown{database} always" for database in ("", " a", " b")]),
        ("{databases: [a*], exempt: [AseSpaceLow], reason: old}", ["exempt AseSpaceLow a always"]),
        ("{databases: [a], exempt: [AseDown], reason: x, until: 2026-11-24T12:00:01Z}", ["exempt AseDown a always"]),
        ("{databases: [a], exempt: [AseDown], reason: x, until: 2026-11-24T12:00Z}", []),
        ("{databases: [a], criticality: normal}, {criticality: low}", ["low_criticality", "low_criticality b"]),
        (
            "{databases: [a], dumps: {log: never}}, {dumps: {database: 2h, log: 90}}",
            [f"dump_interval_seconds {row}" for row in ("a log 0", "a database 7200", "b database 7200", "b log 90")],
        ),
        ("{databases: [A], exempt: [AseDown], reason: x}", []),
        ("{}", []),
    ],
)  # fmt: skip
def test_entries_hold_for_the_databases_that_they_name_until_they_end(text: str, expected: list[str]) -> None:
    assert series(text) == expected


def test_a_window_is_of_its_kind_and_only_open_at_its_time() -> None:
    text = f"{{databases: [a], exempt: [AseBlocking], reason: batch, windows: [{NIGHT}]}}"
    assert series(text, "2026-11-22T23:00Z") == ["exempt AseBlocking a window"]
    assert series(text, "2026-11-24T23:00Z") == []


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "UTC"])
def test_windows_follow_the_wall_clock_over_a_year(zone: str) -> None:
    windows = {
        hours: WeeklyWindow.parse(f"mon sat {hours} {zone}")
        for hours in ("22:00-04:00", "01:30-02:30", "00:00-24:00")
    }
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    while moment.year == 2026:
        shown = moment.astimezone(ZoneInfo(zone))
        clock, day = f"{shown:%H:%M}", f"{shown:%a}".lower()
        before = f"{shown - timedelta(days=1):%a}".lower()
        for hours, window in windows.items():
            start, end = hours.split("-")
            expected = (
                (day in "mon sat" and clock >= start) or (before in "mon sat" and clock < end)
                if start > end
                else day in "mon sat" and start <= clock < end
            )
            assert window.contains(moment.timestamp()) == expected, (hours, shown)
        moment += timedelta(minutes=30)


def test_check_proposes_what_the_server_and_prometheus_show() -> None:
    def family(name: str, *rows: tuple[str, ...]) -> Family:
        labels = ("database", "state")[: len(rows[0])]
        return Family(f"ase_database_{name}", "gauge", "Help.", labels, [(row, 1.0) for row in rows])

    names = [("archive",), ("b[1]",), ("model",), ("orders",), ("tempdb_2",), ("trunc",)]
    families = [
        family("backup_failed", *names),
        family("state", ("archive", "read only"), ("b[1]", "online"), ("orders", "online")),
        family("log_dump_timestamp_seconds", ("archive",), ("b[1]",), ("orders",)),
    ]
    intervals = {"log": {"orders": 903.0}, "database": {"orders": 86500.0, "trunc": 9e9}}
    config = yaml_files.parse(proposed_policy(families, intervals), Config, "proposed.yaml")
    assert [(*each.databases, each.dumps.database, each.dumps.log) for each in config.policy] == [
        ("archive", 0, 0),
        ("orders", 86400, 900),
        ("trunc", None, 0),
    ]
    assert proposed_policy([], intervals) == ""
