"""The changes that windows are cut by: from the metric in Prometheus, or from the exporter's own history."""

import httpx

from ase_exporter.compare.windows import Mark
from ase_exporter.errors import UserError
from ase_exporter.prometheus import Prometheus

TIMEOUT = 30.0


def marks_from_prometheus(prometheus: Prometheus, selector: str, start: float, end: float) -> list[Mark]:
    """The changes of a server or a host between two times, from (ase|dbhost)_change_timestamp_seconds.

    Of a change that was made several times with the same old and new value the metric keeps the last.
    """
    seconds = max(1, round(end - start))
    named = f'__name__=~"(ase|dbhost)_change_timestamp_seconds", {selector}'
    query = f"last_over_time({{{named}}}[{seconds}s])"
    found = {
        Mark(sample.value, *(sample.labels.get(label, "") for label in ("kind", "name", "from", "to")))
        for sample in prometheus.query(query, end)
        if start <= sample.value <= end
    }
    return _in_order(found)


def marks_from_exporter(url: str, target: str) -> list[Mark]:
    """All changes of a target that the exporter remembers, with their ids. UserError if it cannot be asked."""
    try:
        answer = httpx.get(
            f"{url.rstrip('/')}/changes", params={"format": "json", "target": target}, timeout=TIMEOUT
        )
        answer.raise_for_status()
        found = {
            Mark(float(each["at"]), each["kind"], each["name"], each["old"], each["new"], each["id"])
            for each in answer.json()
        }
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise UserError(f"--exporter: {url}: {error or type(error).__name__}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"--exporter: {url}: not an answer of ase-exporter") from error
    return _in_order(found)


def _in_order(found: set[Mark]) -> list[Mark]:
    return sorted((mark for mark in found if not mark.is_verdict), key=lambda mark: mark.at)
