"""Changes to compare around, from the metric in Prometheus or from the exporter's history."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from ase_exporter.changes.annotate import ExporterClient
from ase_exporter.changes.change import HOST, Change, checked
from ase_exporter.compare.prometheus import Labels, Prometheus
from ase_exporter.errors import UserError, expected_names
from ase_exporter.untrusted.entry import load_json
from ase_exporter.untrusted.redaction import without_credentials

# Seconds. How often the metric is sampled: of equal changes that follow each other sooner, only the last is found.
RESOLUTION = 15.0
# How long after a change its series is looked for: detection, and two scrapes.
VISIBLE_AFTER = 900.0
# Two times of the start that differ by less are the same restart.
SAME_RESTART = 10.0


def marks_between(
    prometheus: Prometheus, selector: str, start: float, end: float, now: float
) -> list[Change]:
    """The changes of a server or a host between two Unix times, from (ase|dbhost)_change_timestamp_seconds.

    Also those whose series a later change has taken over.
    """
    by_time: defaultdict[float, list[tuple[Labels, float]]] = defaultdict(list)
    end_seen = min(now, end + VISIBLE_AFTER)
    metrics = '__name__=~"(ase|dbhost)_change(_not_before)?_timestamp_seconds"'
    for series in prometheus.over(f"{{{metrics}, {selector}}}", start, end_seen, RESOLUTION):
        for at, value in zip(series.times, series.values, strict=True):
            by_time[float(at)].append((series.labels, float(value)))
    return _in_order(set().union(*map(_paired, by_time.values())), start, end)


def with_restarts(
    prometheus: Prometheus,
    selector: str,
    start: float,
    end: float,
    now: float,
    marks: Sequence[Change] | None = None,
) -> list[Change]:
    """Changes and restarts of a server between two Unix times.

    marks: the changes, if they are known. Restarts that are not among them come from ase_start_timestamp_seconds.
    A restart was not there yet at the last scrape before it: what was compared with it must not be the outage.
    """
    found = marks_between(prometheus, selector, start, end, now) if marks is None else list(marks)
    query = f"ase_start_timestamp_seconds{{{selector}}}"
    end_seen = min(now, end + VISIBLE_AFTER)
    series = prometheus.over(query, start, end_seen, RESOLUTION)
    scraped = prometheus.over(f"timestamp({query})", start, end_seen, RESOLUTION)
    scrapes = sorted({float(at) for each in scraped for at in each.values})
    known = [mark.at for mark in found if mark.kind == "restart"]
    for at in sorted({float(at) for each in series for at in each.values if start <= at <= end}):
        if all(abs(at - other) > SAME_RESTART for other in known):
            found.append(Change("", "", "restart", "server", "", "", at))
            known.append(at)
    for number, mark in enumerate(found):
        if mark.kind == "restart":
            found[number] = replace(
                mark, not_before=max((at for at in scrapes if at < mark.at), default=None)
            )
    return sorted(found, key=lambda mark: mark.at)


def _paired(samples: Iterable[tuple[Labels, float]]) -> set[Change]:
    """Changes from the two metrics of one moment, which have the same labels."""
    at: dict[tuple[str, ...], float] = {}
    not_before: dict[tuple[str, ...], float] = {}
    for labels, value in samples:
        key = tuple(labels.get(label, "") for label in ("kind", "name", "from", "to"))
        (not_before if "_not_before_" in labels.get("__name__", "") else at)[key] = value
    found = set()
    for (kind, name, old, new), value in at.items():
        earlier = not_before.get((kind, name, old, new), value)
        known = earlier if earlier < value else None
        found.add(Change("", "", kind, name, old, new, value, known))
    return found


def marks_from_exporter(url: str, target: str) -> list[Change]:
    """All changes of a target in the exporter's history, with ids. Raises UserError if it cannot be read."""
    found = changes_of(ExporterClient(url), {"format": "json", "target": target})
    return _in_order(set(found), 0.0, math.inf)


def changes_of(exporter: ExporterClient, query: Mapping[str, str]) -> list[Change]:
    """What an exporter answers to /changes. Raises UserError, also for a target that it does not know."""
    target = query.get("target", HOST)
    with _readable(exporter):
        found = [checked(each) for each in _ask(exporter, "/changes", query)]
    # Not every target that was changed is still configured.
    if found or target == HOST or (name := target_named(exporter, target)) == target:
        return found
    return changes_of(exporter, {**query, "target": name})


def target_named(exporter: ExporterClient, name: str | None) -> str:
    """A target of an exporter: of that name, or whose server calls itself so; without a name the only one.

    Raises UserError.
    """
    with _readable(exporter):
        servers = {str(target): told["server"] for target, told in _ask(exporter, "/diagnosis", {}).items()}
    called = [name] if name in servers else [each for each in servers if name in (None, servers[each])]
    if len(called) == 1:
        return str(called[0])
    shown = without_credentials(exporter.url)
    if name is None:
        raise UserError(f"-S: expected one of those of {shown}; {expected_names('', servers)}")
    raise UserError(f"-S {name}: {shown} has no such target; {expected_names(name, servers)}")


def ask_exporter(
    url: str | ExporterClient, path: str, parameters: Mapping[str, str], accepted: int = 200
) -> Any:
    """The JSON that an exporter answers. Raises UserError, without the URL's password, if there is none."""
    exporter = ExporterClient(url) if isinstance(url, str) else url
    with _readable(exporter):
        return _ask(exporter, path, parameters, accepted)


def _ask(exporter: ExporterClient, path: str, parameters: Mapping[str, str], accepted: int = 200) -> Any:
    try:
        return load_json(exporter.request("GET", path, accepted=accepted, params=parameters))
    except UserError as error:
        raise UserError(text if (text := str(error)).startswith("--") else f"--url: {text}") from None


@contextmanager
def _readable(exporter: ExporterClient) -> Iterator[None]:
    """Take errors within the block for an answer of something else. Raises UserError."""
    try:
        yield
    except (ValueError, TypeError, LookupError):
        shown = without_credentials(exporter.url)
        raise UserError(
            f"--url: {shown}: not an answer of ase-exporter: expected the address of one"
        ) from None


def _in_order(found: Iterable[Change], start: float, end: float) -> list[Change]:
    within = (mark for mark in found if start <= mark.at <= end)
    return sorted(within, key=lambda mark: (mark.at, mark.kind, mark.name))
