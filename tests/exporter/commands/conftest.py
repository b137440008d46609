"""An exporter that posts annotations to a Grafana stand-in."""

from collections.abc import Iterator

import pytest
from tests.exporter.changes.grafana_standin import TOKEN, GrafanaStandIn
from tests.exporter.running_exporter import RunningExporter
from tests.exporter.running_exporter import exporter as serving


@pytest.fixture(scope="module")
def exporter(
    tmp_path_factory: pytest.TempPathFactory, shared_grafana: GrafanaStandIn
) -> Iterator[RunningExporter]:
    directory = tmp_path_factory.mktemp("exporter")
    (directory / "token").write_text(TOKEN)
    settings = f"changes: {{grafana: {{url: '{shared_grafana.url}', token_file: {directory}/token}}}}"
    options = [f"--state-dir={directory / 'state'}", "--web.enable-annotations"]
    with serving(directory, settings, options) as started:
        yield started
