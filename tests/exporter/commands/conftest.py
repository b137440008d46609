"""An exporter that posts annotations to a Grafana stand-in."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.exporter.changes.grafana_standin import TOKEN, GrafanaStandIn
from tests.exporter.changes.serving import Serving


@pytest.fixture(scope="module")
def shared_grafana() -> Iterator[GrafanaStandIn]:
    with GrafanaStandIn() as stand_in:
        yield stand_in


@pytest.fixture
def grafana(shared_grafana: GrafanaStandIn) -> GrafanaStandIn:
    shared_grafana.annotations.clear()
    return shared_grafana


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("token") / "token"
    path.write_text(TOKEN)
    return path


@pytest.fixture(scope="module")
def exporter(
    tmp_path_factory: pytest.TempPathFactory, shared_grafana: GrafanaStandIn, token_file: Path
) -> Iterator[Serving]:
    settings = f"changes: {{grafana: {{url: '{shared_grafana.url}', token_file: {token_file}}}}}"
    serving = Serving(tmp_path_factory.mktemp("exporter"), settings)
    yield serving
    serving.stop()
