"""What the samples of a server cost who keeps them: bytes on disk, memory of a series. docs/serving.md does the sums.

Disk: hours of real scrapes of a simulated server, its time moved by hand, are written to Prometheus and to
VictoriaMetrics with their own times. Memory: one such scrape is served as many servers.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx2
import psutil
import pytest
import yaml
from tests.benchmarks.test_rule_evaluation import prometheus_configuration, scrapes, served
from tests.ports import free_block

from ase_exporter.compare.prometheus import Prometheus
from ase_exporter.demo.processes import HOST, Processes
from ase_exporter.metrics.exposition import escape_label, format_number
from ase_exporter.metrics.families import Family

SCENARIOS = ["idle", "quiet-oltp", "vldb", "memscale"]
INTERVAL = 15
HOURS = 2
SERVERS = 100
# Long enough for the head of Prometheus and the caches of VictoriaMetrics to be as large as they get.
SECONDS = 240

pytestmark = [
    pytest.mark.timeout(1800),
    pytest.mark.skipif(not shutil.which("victoria-metrics"), reason="victoria-metrics is not installed"),
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_disk(scenario: str, tmp_path: Path) -> None:
    lines: list[tuple[str, float]] = []
    largest = 0
    for at, families in scrapes(scenario, HOURS * 3600, INTERVAL):
        exposed = [(line, at) for line in exposition(families)]
        largest = max(largest, len(exposed))
        lines += exposed
    chunks, index = prometheus_bytes(lines, tmp_path)
    data, names = victoriametrics_bytes(lines, tmp_path)
    count = len(lines)
    print(
        f"\n{scenario}: {largest:,} series a scrape, {count:,} samples in {HOURS} h; bytes a sample: "
        f"Prometheus {chunks / count:.2f} and index {index / count:.2f}, "
        f"VictoriaMetrics {data / count:.2f} and index {names / count:.2f}"
    )
    assert 0 < data < 16 * count


def test_memory(tmp_path: Path) -> None:
    """Of Prometheus with the shipped rules, of an agent, and of the VictoriaMetrics to which that writes."""
    *_, (_, families) = scrapes("memscale", 600, INTERVAL)
    port = free_block(3)
    urls = [f"{HOST}:{port + number}" for number in range(3)]
    with served(families) as source, Processes(tmp_path) as processes:
        whole = prometheus_configuration(source)
        whole["scrape_configs"][0]["static_configs"] = whole["scrape_configs"][0]["static_configs"][:SERVERS]  # type: ignore[index]
        agent = {name: whole[name] for name in ("global", "scrape_configs")}
        agent |= {"remote_write": [{"url": f"http://{urls[2]}/api/v1/write"}]}
        for name, content in (("prometheus", whole), ("agent", agent)):
            (tmp_path / f"{name}.yml").write_text(yaml.safe_dump(content))
        commands = {
            "victoriametrics": ["victoria-metrics", f"-storageDataPath={tmp_path / 'victoria'}",
                                f"-httpListenAddr={urls[2]}"],
            "prometheus": ["prometheus", f"--config.file={tmp_path / 'prometheus.yml'}",
                           f"--storage.tsdb.path={tmp_path / 'data'}", f"--web.listen-address={urls[0]}"],
            "agent": ["prometheus", "--enable-feature=agent", f"--config.file={tmp_path / 'agent.yml'}",
                      f"--storage.agent.path={tmp_path / 'agent'}", f"--web.listen-address={urls[1]}"],
        }  # fmt: skip
        for name, command in commands.items():
            processes.start(name, command, os.environ)
        time.sleep(SECONDS)
        processes.check()
        with Prometheus(f"http://{urls[0]}") as prometheus:
            scraped = prometheus.query('count({job="ase",__name__!~"(ase|dbhost):.*|ALERTS.*"})')[0].value
            recorded = prometheus.query('count({__name__=~"(ase|dbhost):.*"})')[0].value
        print(
            f"\n{SERVERS} servers: {scraped:,.0f} series scraped every 15 s, {recorded:,.0f} recorded by rules"
        )
        for name in commands:
            used = psutil.Process(processes.pid(name))
            memory, cpu = used.memory_info().rss, sum(used.cpu_times()[:2])
            held = scraped + recorded if name == "prometheus" else scraped
            print(f"{name}: {memory / 2**20:,.0f} MiB, {memory / held / 1024:.1f} KiB a series; "
                  f"{cpu / SECONDS:.2f} CPUs")  # fmt: skip


def exposition(families: Iterable[Family]) -> Iterator[str]:
    """Lines of the text format, with the labels that Prometheus adds."""
    for family in families:
        for values, value in family.samples:
            pairs = zip(("job", "instance", *family.labels), ("ase", "PROD1", *values), strict=True)
            labels = ",".join(f'{name}="{escape_label(text)}"' for name, text in pairs)
            yield f"{family.name}{{{labels}}} {format_number(value)}"


def prometheus_bytes(lines: Sequence[tuple[str, float]], directory: Path) -> tuple[int, int]:
    """Of chunks, of the rest of a block."""
    recorded = directory / "recorded"
    with recorded.open("w") as file:
        file.writelines(f"{line} {at:.3f}\n" for line, at in lines)
        file.write("# EOF\n")
    blocks = directory / "blocks"
    command: list[str | Path] = ["promtool", "tsdb", "create-blocks-from", "openmetrics", recorded, blocks]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    chunks = sum(path.stat().st_size for path in blocks.glob("*/chunks/*"))
    return chunks, size(blocks) - chunks


def victoriametrics_bytes(lines: Sequence[tuple[str, float]], directory: Path) -> tuple[int, int]:
    """Of values and times, of the index; after the merge that comes by itself in time."""
    data = directory / "victoria"
    address = f"{HOST}:{free_block(1)}"
    with Processes(directory) as processes:
        command = ["victoria-metrics", f"-storageDataPath={data}", f"-httpListenAddr={address}"]
        processes.start("victoria-metrics", [*command, "-retentionPeriod=100y"], os.environ)
        with client(f"http://{address}") as http:
            for start in range(0, len(lines), 100_000):
                batch = "\n".join(f"{line} {at * 1000:.0f}" for line, at in lines[start : start + 100_000])
                http.post("/api/v1/import/prometheus", content=batch).raise_for_status()
            http.get("/internal/force_flush").raise_for_status()
            http.get("/internal/force_merge").raise_for_status()
            while "vm_active_force_merges 0" not in http.get("/metrics").text:
                time.sleep(0.2)
    return size(data / "data"), size(data / "indexdb")


@contextmanager
def client(url: str) -> Iterator[httpx2.Client]:
    """Of a server that has begun to answer."""
    with httpx2.Client(base_url=url, trust_env=False, timeout=120) as http:
        deadline = time.monotonic() + 60
        while True:
            try:
                http.get("/health").raise_for_status()
            except httpx2.HTTPError:
                assert time.monotonic() < deadline, f"{url} does not answer"
                time.sleep(0.1)
            else:
                break
        yield http


def size(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())
