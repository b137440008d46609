"""The queries of the dashboards, and those of their panels that have no data on the simulated servers."""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest
from dashboards import write
from dashboards.queries import Json
from tests.dashboards.variables import substituted

from ase_exporter.assets import load_yaml

WITHOUT_DATA = load_yaml(Path(__file__).with_name("without_data.yaml").read_text(encoding="utf-8"))


def listed(key: str) -> set[tuple[str, str]]:
    """Panels of without_data.yaml, by uid and title."""
    return {(uid, title) for uid, titles in WITHOUT_DATA[key].items() for title in titles}


EMPTY, EMPTY_QUERIES = listed("empty"), listed("empty_queries")
NONE: frozenset[tuple[str, str]] = frozenset()

# Change impact has a test of its own.
DASHBOARDS = [each for each in write.DASHBOARDS if each["uid"] != "ase-change"]
# Dashboards of one server, and the server that has most of what they show.
OF_ONE_SERVER = {"ase-details": "ORDERS"}
every_dashboard = pytest.mark.parametrize("dashboard", DASHBOARDS, ids=lambda each: str(each["uid"]))


@dataclass(frozen=True)
class Case:
    """One query of a panel, an annotation or a variable."""

    uid: str
    title: str
    expr: str
    instant: bool

    def __str__(self) -> str:
        return f"{self.uid}: {self.title}: {self.expr}"


def queries(dashboard: Json) -> Iterator[Case]:
    """Those of its panels."""
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            yield Case(dashboard["uid"], panel["title"], target["expr"], target["instant"])


def annotations(dashboard: Json) -> Iterator[Case]:
    """Those of its annotations."""
    for each in dashboard["annotations"]["list"]:
        yield Case(dashboard["uid"], each["name"], each["expr"], instant=False)


def chosen(expr: str, servers: str, window: float, more: Mapping[str, str] = MappingProxyType({})) -> str:
    """The expression with variables replaced, as Grafana would send it. window: seconds of a rate. more: variables."""
    values = {"host_job": ".+", "host": ".+", "job": ".+", "instance": servers}
    return substituted(expr, values | {"__rate_interval": f"{window:g}s"} | dict(more))


def unexplained(
    dashboard: Json, has_data: Callable[[Case], bool], known: Set[tuple[str, str]] = NONE
) -> tuple[list[str], set[tuple[str, str]]]:
    """Return queries without data or an explanation, and the panels (uid, title) that have data."""
    empty, filled = [], set()
    for case in queries(dashboard):
        if has_data(case):
            filled.add((case.uid, case.title))
        else:
            empty.append(case)
    explained = EMPTY | known | (EMPTY_QUERIES & filled)
    return [str(case) for case in empty if (case.uid, case.title) not in explained], filled
