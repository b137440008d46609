"""ase_exporter_*: metrics about the exporter itself, on /metrics."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.metadata import version

from prometheus_client import ProcessCollector

from ase_exporter.metrics.families import Family, Kind, single


class ExporterMetrics:
    """Counts responses and configuration loads, and reads gauges."""

    def __init__(self) -> None:
        self._process = ProcessCollector(registry=None)
        self._gauges: list[tuple[str, str, Callable[[], float]]] = []
        self._requests: Counter[tuple[str, str]] = Counter()
        self.loaded()
        self.gauge(
            "ase_exporter_config_last_reload_successful",
            "1 if the last load of the configuration succeeded.",
            lambda: float(self._reload_ok),
        )
        self.gauge(
            "ase_exporter_config_last_reload_success_timestamp_seconds",
            "Unix time of the last successful load of the configuration.",
            lambda: self._loaded_at,
        )

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is read at each scrape. text: its HELP."""
        self._gauges.append((name, text, value))

    def count_response(self, path: str, status: int) -> None:
        """Count one HTTP response. path: of the route, '' if none was reached."""
        self._requests[path, str(status)] += 1

    def loaded(self) -> None:
        """Note that the configuration has just been loaded."""
        self._reload_ok, self._loaded_at = True, time.time()

    def load_failed(self) -> None:
        """Note that a bad configuration was not loaded."""
        self._reload_ok = False

    def families(self) -> Iterator[Family]:
        """All of them, with those of the process (CPU, memory, descriptors)."""
        for metric in self._process.collect():
            sample = metric.samples[0]
            kind: Kind = "counter" if metric.type == "counter" else "gauge"
            yield single(sample.name, kind, metric.documentation, sample.value)
        build = Family("ase_exporter_build_info", "gauge", "Always 1, with the version.", ("version",))
        build.add(1.0, version("ase-exporter"))
        yield build
        for name, text, value in self._gauges:
            yield single(name, "gauge", text, value())
        requests = Family(
            "ase_exporter_http_requests_total", "counter", "HTTP requests answered.", ("code", "path")
        )
        for (path, code), count in self._requests.items():
            requests.add(count, code, path)
        yield requests
