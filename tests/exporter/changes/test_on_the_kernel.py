"""Changes of the real kernel's settings: each once, in list, metric and Grafana. Needs root."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.exporter.changes.grafana_standin import TOKEN, GrafanaStandIn
from tests.exporter.changes.serving import Serving
from tests.exporter.host.kernel_settings import NR_HUGEPAGES, THP, KernelSettings, kernel_settings


@pytest.fixture
def kernel() -> Iterator[KernelSettings]:
    with kernel_settings() as settings:
        yield settings


@pytest.mark.timeout(400)
def test_thp_and_huge_pages_are_found_once_each(kernel: KernelSettings, tmp_path: Path) -> None:
    kernel.set(THP, "madvise")
    before = int(NR_HUGEPAGES.read_text())
    grafana = GrafanaStandIn()
    token = tmp_path / "token"
    token.write_text(TOKEN)
    grafana_settings = {"url": grafana.url, "token_file": str(token)}
    exporter = Serving(
        tmp_path, json.dumps({"host": {}, "changes": {"interval": "1s", "grafana": grafana_settings}})
    )

    def found() -> list[tuple[str, str, str, str]]:
        listed = json.loads(exporter.get("/changes?format=json&target=host"))
        return [(c["kind"], c["name"], c["old"], c["new"]) for c in reversed(listed)]

    try:
        database = exporter.state_directory / "changes.db"
        assert exporter.wait_until(lambda: database.exists() and _has_baseline(database))
        expected = []
        for mode, old in (("always", "madvise"), ("never", "always")):
            kernel.set(THP, mode)
            expected.append(("thp", "enabled", old, mode))
            assert exporter.wait_until(lambda: len(found()) >= len(expected))
            assert found() == expected
        kernel.pages(NR_HUGEPAGES, before + 3)
        expected.append(("hugepages", "nr_hugepages 2048kB", str(before), str(before + 3)))
        assert exporter.wait_until(lambda: len(found()) >= len(expected))
        assert found() == expected
        metrics = exporter.get("/metrics")
        for kind, name, old, new in expected:
            labels = f'{{from="{old}",kind="{kind}",name="{name}",to="{new}"}}'
            assert f"dbhost_change_timestamp_seconds{labels}" in metrics
        assert 'dbhost_changes_total{kind="thp"} 2.0' in metrics
        assert exporter.wait_until(lambda: len(grafana.annotations) >= len(expected))
        said = [text.partition(" (seen at")[0] for text in grafana.texts()]
        assert said == [f"{kind} {name}: {old} → {new}" for kind, name, old, new in expected]
    finally:
        exporter.stop()
        grafana.close()


def _has_baseline(database: Path) -> bool:
    import sqlite3

    connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
    try:
        return bool(connection.execute("SELECT count(*) FROM snapshots").fetchone()[0])
    except sqlite3.OperationalError:
        return False
    finally:
        connection.close()
