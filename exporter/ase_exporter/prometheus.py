"""Reads from a server with Prometheus's HTTP API (Prometheus, Mimir, VictoriaMetrics)."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import httpx
import numpy as np
from numpy.typing import NDArray

from ase_exporter.errors import UserError

# The API refuses more points than this in one series.
MOST_POINTS = 11_000
LOOPBACK = ("127.0.0.1", "::1", "localhost")

Labels = Mapping[str, str]
Samples = NDArray[np.float64]


class PrometheusError(UserError):
    """It cannot be reached, or does not answer as Prometheus does, or refuses the query."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of an instant query."""

    labels: Labels
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a range query. times: seconds since 1970; values may hold NaN."""

    labels: Labels
    times: Samples
    values: Samples


class Prometheus:
    """One server. Every failure is a PrometheusError: one line that names it."""

    def __init__(self, url: str, *, timeout: float = 30.0) -> None:
        try:
            self.url = httpx.URL(url.rstrip("/") + "/")
            # A proxy of the environment leads nowhere from this machine to itself.
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
        """Give back the connection."""
        self._client.close()

    def query(self, query: str, at: float | None = None) -> list[Sample]:
        """The value of each series now, or at a Unix time; NaN and infinite ones are left out."""
        time = {} if at is None else {"time": f"{at:.3f}"}
        result = self._ask("POST", "api/v1/query", {"query": query} | time)["result"]
        found = [Sample(series["metric"], float(series["value"][1])) for series in result]
        return [sample for sample in found if math.isfinite(sample.value)]

    def firing(self) -> list[Labels]:
        """The labels of every alert that fires now."""
        alerts = self._ask("GET", "api/v1/alerts", {})["alerts"]
        return [alert["labels"] for alert in alerts if alert["state"] == "firing"]

    def over(self, query: str, start: float, end: float, step: float) -> list[Series]:
        """Values per series from start to end, both included, a step apart."""
        step = max(step, (end - start) / (MOST_POINTS - 1))
        parameters = {
            "query": query,
            "start": f"{start:.3f}",
            "end": f"{end:.3f}",
            "step": f"{step:.3f}",
        }
        return [
            Series(
                labels=series["metric"],
                times=np.array([float(time) for time, _ in series["values"]]),
                values=np.array([float(value) for _, value in series["values"]]),
            )
            for series in self._ask("POST", "api/v1/query_range", parameters)["result"]
        ]

    def _ask(self, method: str, path: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """The data of an answer."""
        try:
            answer = self._client.request(method, path, data=parameters or None)
        except httpx.TimeoutException as error:
            raise PrometheusError(f"Prometheus at {self._shown}: no answer in time") from error
        except httpx.HTTPError as error:
            raise PrometheusError(f"Prometheus at {self._shown}: {error or type(error).__name__}") from error
        try:
            body = answer.json()
            if body["status"] == "success":
                data: dict[str, Any] = body["data"]
                return data
            reason = str(body["error"])
        except (ValueError, KeyError, TypeError):
            reason = f"HTTP {answer.status_code}, not an answer of Prometheus's API"
        raise PrometheusError(f"Prometheus at {self._shown}: {' '.join(reason.split())}")

    @property
    def _shown(self) -> str:
        """The address without a user or password that may stand in it."""
        return str(self.url.copy_with(userinfo=b"")).rstrip("/")
