"""A stand-in for Grafana."""

from collections.abc import Iterator

import pytest
from tests.exporter.changes.grafana_standin import GrafanaStandIn


@pytest.fixture
def grafana() -> Iterator[GrafanaStandIn]:
    with GrafanaStandIn() as stand_in:
        yield stand_in
