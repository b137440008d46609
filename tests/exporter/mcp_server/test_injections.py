"""Texts that try to instruct an assistant stay data: whole fields, which the answer lists as foreign."""

import re
import time
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from tests.exporter.compare.conftest import prometheus_with
from tests.needs import needs_prometheus

from ase_exporter.assets import load_yaml
from ase_exporter.mcp_server.privacy import public_text
from ase_exporter.mcp_server.sources import Sources
from ase_exporter.mcp_server.tools import TOOLS
from ase_exporter.untrusted.encoders import promql

INJECTIONS = list(chain(*load_yaml(Path(__file__).with_name("injections.yaml").read_text()).values()))
SHOWN = {public_text(each) for each in INJECTIONS}
# A change is referred to by all that it says.
QUOTING = {"ref", "warnings", "cuts"}
UNITS = re.compile(
    r"per_second|_seconds|bytes|spinning|online|samples|scrapes|coverage|contention|confidence"
)
# Numbers without a unit of their own, and why.
PLAIN = {
    *("value", "values", "difference", "low", "high"),  # in the unit of the row
    *("median_before", "median_after", "spread_before", "spread_after"),  # likewise
    *("share", "usual_share", "held", "rank", "sessions"),  # 0 to 1 and a little more; seconds per second
    *("spid", "blocked_by", "depth", "blocks", "uses", "logical_reads", "reads_each"),
    "waits",  # of a session, since its login
    # In the words of /sessions, which the tool explains.
    *("seconds", "cpu", "elapsed", "elapsed_each", "waited", "recent", "window", "since"),
    *("reads", "usual_reads", "physical_reads", "line", "kpid", "listed"),
    *("relative", "left_out", "rows_without_evidence", "rows_without_data"),
}
PER_SERVER = 25
STEPS = 60


@cache
def end() -> float:
    """The time of the last samples: when they are written, as Prometheus looks back five minutes only."""
    return time.time() // 15 * 15


def strings(found: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Every text of an answer, with the field that it is in."""
    if isinstance(found, str):
        yield field, found
    elif isinstance(found, dict):
        for name, each in found.items():
            # Names of labels are text of others, too; those of fields are ours.
            yield from strings(each, field if field == "labels" else name)
            yield from [(field, name)] if field == "labels" else []
    elif isinstance(found, list):
        for each in found:
            yield from strings(each, field)


def numbers(found: Any, field: str = "") -> Iterator[str]:
    """The names of the fields of an answer that have a number."""
    if isinstance(found, dict):
        yield from (each for name, inner in found.items() for each in numbers(inner, name))
    elif isinstance(found, list):
        yield from (each for inner in found for each in numbers(inner, field))
    elif isinstance(found, int | float) and not isinstance(found, bool):
        yield field


def seen(answer: dict[str, Any]) -> set[str]:
    """The injections that an answer shows. Each is a whole field that is listed as foreign."""
    assert [each for each in numbers(answer) if each not in PLAIN and not UNITS.search(each)] == []
    found = set()
    for field, text in strings(answer):
        if hits := {each for each in SHOWN if each in text}:
            assert field in answer["foreign"], (field, text)
            assert text in SHOWN or field in QUOTING, (field, text)
            found |= hits
    return found


def samples() -> list[str]:
    """Servers of some injections each: spinlocks, caches, waits, changes and alerts of these names."""
    lines = []

    def series(metric: str, labels: dict[str, str], start: float, per_second: float = 0.0) -> None:
        pairs = ",".join(f"{name}={promql(text)}" for name, text in labels.items())
        for step in range(STEPS):
            at = end() - 15 * (STEPS - step)
            lines.append(f"{metric}{{{pairs}}} {start + per_second * 15 * step} {at}")

    for number in range(0, len(INJECTIONS), PER_SERVER):
        one = {"instance": f"S{number}"}
        series("ase_up", one, 1)
        series("ase_info", one | {"version": "16.0 SP04"}, 1)
        series("ase_engines", one | {"state": "online"}, 8)
        series("ase_transactions_total", one, 1000, 50)
        for engine in range(8):
            for state, share in (("user", 0.9), ("idle", 0.1)):
                labels = one | {"engine": str(engine), "state": state, "mode": state}
                series("ase_engine_cpu_seconds_total", labels, 1, share)
        for at, text in enumerate(INJECTIONS[number : number + PER_SERVER]):
            spinlock = one | {"spinlock": text, "class": "data_cache"}
            series("ase_spinlock_grabs_total", spinlock, 1e6, 1e5)
            series("ase_spinlock_spins_total", spinlock, 1e6, 1e9 / (at + 1))
            series("ase_spinlock_waits_total", spinlock, 1e6, 7e4)
            series("ase_cache_partitions", one | {"cache": text}, 1)
            series("ase_cache_size_bytes", one | {"cache": text}, 1e9)
            change = one | {"kind": "annotation", "name": text, "from": text, "to": ""}
            series("ase_change_timestamp_seconds", change, end() - 600 + 20 * at)
            series("ALERTS", one | {"alertname": text, "alertstate": "firing"}, 1)
            series("ase_diagnosis_rank", one | {"word": text, "finding": text}, at)
            first = {"word": text, "finding": text, "kind": text, "subject": text}
            series("ase_diagnosis_first_info", one | first, 1)
    return lines


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with prometheus_with(samples(), tmp_path_factory.mktemp("injections")) as running:
        yield running


@pytest.mark.e2e
@needs_prometheus
def test_no_injection_becomes_part_of_a_sentence(url: str) -> None:
    assert len(set(INJECTIONS)) == len(SHOWN) == 100
    sources = Sources(url)
    found: dict[str, set[str]] = {"servers": seen(TOOLS["servers"].call(sources, {}))}
    for number in range(0, len(INJECTIONS), PER_SERVER):
        window: dict[str, object] = {
            "server": f"S{number}",
            "start": str(end() - 800),
            "end": str(end() - 15),
        }
        halves = {"before": f"{end() - 800}..{end() - 500}", "after": f"{end() - 480}..{end() - 15}"}
        calls: dict[str, dict[str, object]] = {
            **dict.fromkeys(("diagnose", "changes"), window),
            "compare": {"server": f"S{number}", **halves, "everything": True},
        }
        for tool, arguments in calls.items():
            found[tool] = found.get(tool, set()) | seen(TOOLS[tool].call(sources, arguments))
    assert found["changes"] == SHOWN
    assert all(found.values()), found
