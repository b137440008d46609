"""Fixtures of the host tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.exporter.host.perf_stand_in import StandIn


@pytest.fixture
def stand_in(tmp_path: Path) -> Iterator[StandIn]:
    stand_in = StandIn(tmp_path)
    yield stand_in
    stand_in.close()
