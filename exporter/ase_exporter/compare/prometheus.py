"""A client of Prometheus's HTTP API (Prometheus, Mimir, VictoriaMetrics)."""

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx
import numpy as np
from numpy.typing import NDArray

from ase_exporter.errors import UserError

# The API rejects queries with more points per series.
MAX_POINTS = 11_000
LOOPBACK = ("127.0.0.1", "::1", "localhost")

Labels = Mapping[str, str]
Samples = NDArray[np.float64]


class PrometheusError(UserError):
    """The server cannot be reached, is not Prometheus, or rejects the query."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of an instant query."""

    labels: Labels
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a range query. times: Unix seconds. values may contain NaN."""

    labels: Labels
    times: Samples
    values: Samples


class Prometheus:
    """A client of one server. Every failure is a PrometheusError with one line."""

    def __init__(self, url: str, *, timeout: float = 30.0) -> None:
        try:
            self.url = httpx.URL(url.rstrip("/") + "/")
            # No proxy from the environment for connections to this machine.
            beyond = self.url.host not in LOOPBACK
            self._client = httpx.Client(base_url=self.url, timeout=timeout, trust_env=beyond)
        except httpx.InvalidURL as error:
            raise UserError(f"--prometheus: {url!r}: expected a URL such as http://127.0.0.1:9090") from error
        if self.url.scheme not in ("http", "https"):
            raise UserError(f"--prometheus: {url!r}: expected a URL such as http://127.0.0.1:9090")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def query(self, query: str, at: float | None = None) -> list[Sample]:
        """The value of each series now, or at a Unix time, without NaN and infinite values."""
        time = {} if at is None else {"time": f"{at:.3f}"}
        with self._readable(200):
            result = self._ask("POST", "api/v1/query", {"query": query} | time)["result"]
            found = [Sample(series["metric"], float(series["value"][1])) for series in result]
        return [sample for sample in found if math.isfinite(sample.value)]

    def recorded(self, selector: str, start: float, end: float) -> list[Series]:
        """The samples of each series from start to end as they were scraped."""
        seconds = max(1, math.ceil(end - start))
        query = {"query": f"{selector}[{seconds}s]", "time": f"{end:.3f}"}
        found = []
        with self._readable(200):
            for series in self._ask("POST", "api/v1/query", query)["result"]:
                samples = [
                    (float(time), float(value)) for time, value in series["values"] if float(time) >= start
                ]
                times, values = zip(*samples, strict=True) if samples else ((), ())
                found.append(Series(series["metric"], np.array(times), np.array(values)))
        return found

    def firing(self) -> list[Labels]:
        """The labels of every alert that is firing now."""
        with self._readable(200):
            alerts = self._ask("GET", "api/v1/alerts", {})["alerts"]
            return [alert["labels"] for alert in alerts if alert["state"] == "firing"]

    def over(self, query: str, start: float, end: float, step: float) -> list[Series]:
        """The values of each series from start to end, both included, `step` seconds apart."""
        step = max(step, (end - start) / (MAX_POINTS - 1))
        parameters = {
            "query": query,
            "start": f"{start:.3f}",
            "end": f"{end:.3f}",
            "step": f"{step:.3f}",
        }
        with self._readable(200):
            return [
                Series(
                    labels=series["metric"],
                    times=np.array([float(time) for time, _ in series["values"]]),
                    values=np.array([float(value) for _, value in series["values"]]),
                )
                for series in self._ask("POST", "api/v1/query_range", parameters)["result"]
            ]

    def _ask(self, method: str, path: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Send a request and return the `data` of the response."""
        try:
            answer = self._client.request(method, path, data=parameters or None)
        except httpx.TimeoutException as error:
            raise PrometheusError(f"Prometheus at {self._shown}: no answer in time") from error
        except httpx.HTTPError as error:
            raise PrometheusError(f"Prometheus at {self._shown}: {error or type(error).__name__}") from error
        with self._readable(answer.status_code):
            body = answer.json()
            if body["status"] == "success":
                data: dict[str, Any] = body["data"]
                return data
            reason = " ".join(str(body["error"]).split())
        raise PrometheusError(f"Prometheus at {self._shown}: {reason}")

    @contextmanager
    def _readable(self, status: int) -> Iterator[None]:
        """Take errors within the block for an answer of something else than Prometheus. status: of its response."""
        try:
            yield
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            reason = f"HTTP {status}, not an answer of Prometheus's API"
            raise PrometheusError(f"Prometheus at {self._shown}: {reason}") from error

    @property
    def _shown(self) -> str:
        """The URL without its user and password, if any."""
        return str(self.url.copy_with(userinfo=b"")).rstrip("/")
