"""An assistant asks of six servers, each with another fault, why they are slow, and finds each cause."""

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.exporter.compare.conftest import prometheus_with, typed
from tests.exporter.mcp_server.running_server import ask, client
from tests.incidents.running import Site, Taken, incidents, take
from tests.needs import needs_prometheus
from tests.paths import REPOSITORY

pytestmark = [pytest.mark.e2e, pytest.mark.anyio, needs_prometheus]
FAULTS = ("blocking", "slow_device", "full_log", "data_cache_spinlock", "deployment", "backup")
# Whose sessions docs/mcp.md shows.
SHOWN = ("blocking", "deployment")
# Unix time of the first sample of each.
START = float(round(time.time()) - 3600)


def openmetrics(found: Mapping[str, Taken]) -> str:
    """What Prometheus would have scraped of the servers, each an instance."""
    lines: defaultdict[str, list[str]] = defaultdict(list)
    for name, taken in found.items():
        first = taken.before[0].monotonic
        for sample in (*taken.before, *taken.after):
            at = START + sample.monotonic - first
            lines["ase_up"].append(f'ase_up{{instance="{name}"}} 1 {at}')
            for metric, series in sample.series.items():
                for values, value in series.last.values.items():
                    pairs = {"instance": name, **dict(zip(series.last.labels, values, strict=True))}
                    text = ",".join(f'{label}="{each}"' for label, each in pairs.items() if each)
                    lines[metric].append(f"{metric}{{{text}}} {value!r} {at}")
    return typed(lines)


@pytest.fixture(scope="module")
def taken() -> dict[str, Taken]:
    return {name: take(incidents()[name], Site()) for name in FAULTS}


@pytest.fixture(scope="module")
def url(taken: dict[str, Taken], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with prometheus_with(openmetrics(taken), tmp_path_factory.mktemp("six")) as running:
        yield running


async def test_each_of_six_causes_is_found(url: str, taken: dict[str, Taken], tmp_path: Path) -> None:
    page = (REPOSITORY / "docs" / "mcp.md").read_text(encoding="utf-8")
    async with client(tmp_path / "log", "--prometheus", url) as connected:
        known = [each["server"] for each in (await ask(connected, "servers"))["servers"]]
        assert known == sorted(FAULTS)
        for name in known:
            truth, times = incidents()[name].truth, taken[name]
            since = START + times.fault_at - times.before[0].monotonic
            end = START + times.after[-1].monotonic - times.before[0].monotonic
            found = await ask(connected, "diagnose", server=name, start=str(since), end=str(end))
            first = found["causes"][0]
            assert first["finding"] in truth.first, (name, found["says"])
            assert re.search(truth.about, first["about"]), name
            remedies = first["next_steps"]
            if first["about_kind"] == "spinlock":
                advice = await ask(connected, "advise", server=name, start=str(since), end=str(end))
                remedies += [
                    text
                    for each in advice["findings"]
                    for step in each["steps"]
                    for text in step["statements"]
                ]
            assert re.search(truth.remedy, " ".join(remedies)), (name, remedies)
            answer = (
                f"{found['says']} (about {first['about_kind']} {first['about']})\nnext: {'; '.join(remedies)}"
            )
            assert (answer in page) == (name in SHOWN), answer
