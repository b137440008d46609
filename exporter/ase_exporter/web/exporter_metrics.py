"""ase_exporter_*: metrics about the exporter itself, on /metrics."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version

from prometheus_client import ProcessCollector

from ase_exporter.ase.call_record import call_record
from ase_exporter.metrics.declared import OWN
from ase_exporter.metrics.families import Family, Kind


class ExporterMetrics:
    def __init__(self) -> None:
        self._process = ProcessCollector(registry=None)
        self._gauges: dict[str, Callable[[], float]] = {}
        self._requests: Counter[tuple[str, str]] = Counter()
        self.loaded()
        self.gauge("config_last_reload_successful", lambda: self.reload_ok)
        self.gauge("config_last_reload_success_timestamp_seconds", lambda: self._loaded_at)

    def gauge(self, name: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is read at each scrape. name: without ase_exporter_."""
        self._gauges[f"ase_exporter_{name}"] = value

    def count_response(self, path: str, status: int) -> None:
        """Count one HTTP response. path: of the route, '' if none was reached."""
        self._requests[path, str(status)] += 1

    def loaded(self) -> None:
        self.reload_ok, self._loaded_at = True, time.time()

    def families(self) -> Iterator[Family]:
        """All of them, with those of the process (CPU, memory, descriptors)."""
        for metric in self._process.collect():
            sample = metric.samples[0]
            kind: Kind = "counter" if metric.type == "counter" else "gauge"
            yield Family(sample.name, kind, metric.documentation, (), [((), sample.value)])
        yield OWN.family("ase_exporter_build_info", [((version("ase-exporter"),), 1.0)])
        for name, read in self._gauges.items():
            yield OWN.value(name, read())
        paused = [((target,), 1.0) for target in call_record.paused]
        if paused:
            yield OWN.family("ase_exporter_target_paused", paused)
        requests = [((code, path), float(count)) for (path, code), count in self._requests.items()]
        yield OWN.family("ase_exporter_http_requests_total", requests)
