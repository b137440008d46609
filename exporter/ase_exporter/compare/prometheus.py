"""A client of Prometheus's HTTP API (Prometheus, Mimir, VictoriaMetrics). Only ranges of time need numpy."""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import httpx2

from ase_exporter.errors import UserError
from ase_exporter.untrusted.answers import ask, no_answer
from ase_exporter.untrusted.entry import load_json
from ase_exporter.untrusted.redaction import redact, without_credentials

if TYPE_CHECKING:
    from ase_exporter.compare.statistics import Samples

# The API rejects queries with more points per series.
MAX_POINTS = 11_000
# Of one answer: far more than a week of a fleet takes.
MAX_BYTES = 256 * 2**20
# Seconds. How long ago a server was seen, or a change made, that can be named.
KNOWN_FOR = 30 * 86400.0
# Characters of an error that are shown.
MAX_REASON = 1000
# Unix seconds, at the end of the year 9999.
_LAST_TIME = 253_402_300_800.0
LOOPBACK = ("127.0.0.1", "::1", "localhost")

Labels = Mapping[str, str]


def _labels(series: Mapping[str, Any]) -> Labels:
    """The labels of a series. Raises TypeError if they are no texts."""
    found: Labels = series["metric"]
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise TypeError("expected labels")
    return found


@dataclass(frozen=True, slots=True)
class Sample:
    """One series of an instant query."""

    labels: Labels
    value: float


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a range query. times: Unix seconds. values may contain NaN."""

    labels: Labels
    times: "Samples"
    values: "Samples"


def _series(answer: Mapping[str, Any]) -> Series:
    """One series of an answer. Raises ValueError, TypeError or LookupError if it is none."""
    import numpy as np

    samples = [(float(time), float(value)) for time, value in answer["values"]]
    times, values = np.array(samples, float).reshape(-1, 2).T
    if not np.all(np.abs(times) < _LAST_TIME):
        raise ValueError("a time that no calendar has")
    return Series(_labels(answer), times, values)


class Prometheus:
    """A client of one server. Every failure is a UserError with one line, without the URL's password.

    timeout: seconds for one request. max_bytes: of one response. deadline: on the monotonic clock, for all requests
    together. warnings: what the server said about its answers so far, such as that they are partial. requests: how
    many it was sent.
    """

    def __init__(
        self, url: str, *, timeout: float = 30.0, max_bytes: float = MAX_BYTES, deadline: float = math.inf
    ) -> None:
        # Not from the parsed URL: an `@` or `/` in a password makes a part of it the host or the path.
        self._shown = without_credentials(url).rstrip("/")
        expected = f"--prometheus: {self._shown!r}: expected a URL such as http://127.0.0.1:9090"
        try:
            parsed = httpx2.URL(url.rstrip("/") + "/")
        except httpx2.InvalidURL:
            # Not chained: its message may hold a part of the password.
            raise UserError(expected) from None
        if parsed.scheme not in ("http", "https"):
            raise UserError(expected)
        self.url = parsed.copy_with(userinfo=b"")
        self.warnings: list[str] = []
        self.requests = 0
        self._timeout, self._max_bytes, self._deadline = timeout, max_bytes, deadline
        self._client = httpx2.Client(
            base_url=self.url,
            auth=(parsed.username, parsed.password) if parsed.userinfo else None,
            # No proxy from the environment for connections to this machine.
            trust_env=self.url.host not in LOOPBACK,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def query(self, query: str, at: float | None = None) -> list[Sample]:
        """The value of each series now, or at a Unix time, without NaN and infinite values."""
        time = {} if at is None else {"time": f"{at:.3f}"}
        with self._readable(200):
            answer = self._ask("api/v1/query", {"query": query} | time)
            found = [Sample(_labels(series), float(series["value"][1])) for series in answer["result"]]
        return [sample for sample in found if math.isfinite(sample.value)]

    def recorded(self, selector: str, start: float, end: float) -> list[Series]:
        """The samples of each series from start to end as they were scraped."""
        seconds = max(1, math.ceil(end - start))
        query = {"query": f"{selector}[{seconds}s]", "time": f"{end:.3f}"}
        with self._readable(200):
            found = list(map(_series, self._ask("api/v1/query", query)["result"]))
        return [
            Series(each.labels, each.times[each.times >= start], each.values[each.times >= start])
            for each in found
        ]

    def over(self, query: str, start: float, end: float, step: float) -> list[Series]:
        """The values of each series from start to end, both included, `step` seconds apart, or more in a long range."""
        if (points := MAX_POINTS - 1) * step < end - start:
            # A step is sent in milliseconds: counted from the start, rounded ones would miss the end.
            step = math.ceil((end - start) / points * 1000) / 1000
            start = end - points * step
        times = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        with self._readable(200):
            return list(map(_series, self._ask("api/v1/query_range", {"query": query} | times)["result"]))

    def _ask(self, path: str, parameters: Mapping[str, str]) -> dict[str, Any]:
        """Send a request and return the `data` of the response."""
        self.requests += 1
        try:
            status, content = self._read(path, parameters)
        except httpx2.HTTPError as error:
            reason = f"{no_answer(error)}: expected one that runs at --prometheus"
            raise UserError(f"Prometheus at {self._shown}: {reason}") from error
        with self._readable(status):
            body = load_json(content)
            if body["status"] == "success":
                data: dict[str, Any] = body["data"]
                self.warnings += (redact(str(each)) for each in body.get("warnings", ()))
                return data
            reason = " ".join(str(body["error"]).split())[:MAX_REASON]
        raise UserError(f"Prometheus at {self._shown}: {reason}")

    @contextmanager
    def _readable(self, status: int) -> Iterator[None]:
        """Take errors within the block for an answer of something else than Prometheus. status: of its response."""
        try:
            yield
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
            reason = f"HTTP {status}, not an answer of Prometheus's API: expected the address of one at --prometheus"
            raise UserError(f"Prometheus at {self._shown}: {reason}") from error

    def _read(self, path: str, parameters: Mapping[str, str]) -> tuple[int, bytes]:
        """Status and body of a response, within the limits."""
        seconds = min(self._timeout, self._deadline - time.monotonic())
        if seconds <= 0:
            raise httpx2.ReadTimeout("no time left")
        limits = {"max_bytes": self._max_bytes, "seconds": seconds}
        return ask(self._client, "POST", path, data=parameters, **limits)


def range_text(seconds: float) -> str:
    """A duration in PromQL."""
    return f"{max(1, round(seconds))}s"
