"""Two exporters share targets: Prometheus scrapes each target through exactly one of them."""

import re
import time
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from tests.deploy.fenced import block
from tests.exporter.compare.conftest import running_prometheus
from tests.exporter.running_exporter import RunningExporter, configuration, exporter
from tests.exporter.simulated import run

from ase_exporter.compare.prometheus import Prometheus, Sample

PAGE = "docs/serving.md"
NAMES = [f"PROD{number}" for number in range(6)]

# With scale-out and its stores: every night.
pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(400)]


def of_the_page(*exporters: RunningExporter) -> str:
    """The page's scrape job with the addresses of these exporters."""
    text = block(PAGE, "yaml", "hashmod")
    for number, running in enumerate(exporters):
        text = text.replace(f"exporter-{number}.example.com:10150", running.url.removeprefix("http://"))
    assert "example.com" not in text
    return f"global: {{scrape_interval: 5s}}\n{text}"


def scraped(running: RunningExporter) -> set[str]:
    """The targets that an exporter has scraped, according to its landing page."""
    page = httpx2.get(running.url, trust_env=False, timeout=60).text
    rows = dict(
        re.findall(
            r'<tr><td class="name"><a href="[^"]*">([^<]*)</a>.*</td>\s*<td class="(?:whole|whole soft)">(.*)</td>',
            page,
        )
    )
    assert set(rows) == set(NAMES)
    return {name for name, state in rows.items() if state.split("</td>")[0] != "not scraped yet"}


def test_prometheus_gives_each_target_to_exactly_one_of_two_exporters(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("zero", "one", "prometheus")]
    for folder in folders:
        folder.mkdir()
    with run("16.0 SP04") as server:
        settings = configuration(dict.fromkeys(NAMES, server.address))
        with exporter(folders[0], settings) as zero, exporter(folders[1], settings) as one:
            (folders[2] / "prometheus.yml").write_text(of_the_page(zero, one), encoding="utf-8")
            with running_prometheus(folders[2]) as url, Prometheus(url) as prometheus:
                ups = until_all_are_up(prometheus)
            shares = [scraped(zero), scraped(one)]
            connections = server.listener.connections
    assert Counter(sample.labels["instance"] for sample in ups) == Counter(NAMES)
    assert shares[0] | shares[1] == set(NAMES)
    assert not shares[0] & shares[1]
    assert all(shares)
    assert connections == len(NAMES)


def until_all_are_up(prometheus: Prometheus) -> list[Sample]:
    end = time.monotonic() + 200
    while len(ups := prometheus.query("ase_up == 1")) < len(NAMES):
        assert time.monotonic() < end, ups
        time.sleep(0.2)
    return ups
