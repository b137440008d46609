"""Of servers with other faults than contention, `diagnose` finds the causes that docs/mcp.md shows."""

import re
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping

import pytest
from tests.exporter.compare.conftest import prometheus_with, typed
from tests.incidents.running import Site, Taken, incidents, take
from tests.needs import needs_prometheus
from tests.paths import REPOSITORY

from ase_exporter.mcp_server.sources import Sources
from ase_exporter.mcp_server.tools import TOOLS

pytestmark = [pytest.mark.e2e, needs_prometheus]
FAULTS = ("blocking", "deployment")
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


@pytest.mark.parametrize("name", FAULTS)
def test_a_cause_is_found_and_shown_as_in_the_page(url: str, taken: dict[str, Taken], name: str) -> None:
    truth, times = incidents()[name].truth, taken[name]
    since = START + times.fault_at - times.before[0].monotonic
    end = START + times.after[-1].monotonic - times.before[0].monotonic
    window: dict[str, object] = {"server": name, "start": str(since), "end": str(end)}
    found = TOOLS["diagnose"].call(Sources(url), window)
    first = found["causes"][0]
    assert first["finding"] in truth.first, found["says"]
    assert re.search(truth.about, first["about"])
    remedies = "; ".join(first["next_steps"])
    assert re.search(truth.remedy, remedies)
    answer = f"{found['says']} (about {first['about_kind']} {first['about']})\nnext: {remedies}"
    assert answer in (REPOSITORY / "docs" / "mcp.md").read_text(encoding="utf-8")
