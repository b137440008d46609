"""ase_exporter_*: metrics about the exporter itself, on /metrics."""

from collections.abc import Callable
from importlib.metadata import version

from prometheus_client import CollectorRegistry, Counter, Gauge, ProcessCollector


class ExporterMetrics:
    """The registry. requests: counts responses by path and status code."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        build = Gauge(
            "ase_exporter_build_info", "Always 1, with the version.", ["version"], registry=self.registry
        )
        build.labels(version("ase-exporter")).set(1)
        self._reload_ok = Gauge(
            "ase_exporter_config_last_reload_successful",
            "1 if the last load of the configuration succeeded.",
            registry=self.registry,
        )
        self._loaded_at = Gauge(
            "ase_exporter_config_last_reload_success_timestamp_seconds",
            "Unix time of the last successful load of the configuration.",
            registry=self.registry,
        )
        self.requests = Counter(
            "ase_exporter_http_requests", "HTTP requests answered.", ["path", "code"], registry=self.registry
        )
        self.loaded()

    def gauge(self, name: str, text: str, value: Callable[[], float]) -> None:
        """Add a gauge whose value is read at each scrape. text: its HELP."""
        Gauge(name, text, registry=self.registry).set_function(value)

    def loaded(self) -> None:
        """Note that the configuration has just been loaded."""
        self._reload_ok.set(1)
        self._loaded_at.set_to_current_time()

    def load_failed(self) -> None:
        """Note that a bad configuration was not loaded."""
        self._reload_ok.set(0)
