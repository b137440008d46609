"""An exporter that posts annotations to a Grafana stand-in."""

from collections.abc import Iterator

import pytest
from tests.exporter.changes.grafana_standin import TOKEN, GrafanaStandIn
from tests.exporter.changes.serving import Serving, serving


@pytest.fixture(scope="module")
def exporter(tmp_path_factory: pytest.TempPathFactory, shared_grafana: GrafanaStandIn) -> Iterator[Serving]:
    directory = tmp_path_factory.mktemp("exporter")
    (directory / "token").write_text(TOKEN)
    settings = f"changes: {{grafana: {{url: '{shared_grafana.url}', token_file: {directory}/token}}}}"
    with serving(directory, settings) as started:
        yield started
