"""Thresholds of one's own, for all servers and for some of them: the file that `--thresholds` reads.

    data_cache: 15%                       # as --set has them
    limits:                               # and where others hold; the last one that fits counts
      - {server: BILLING, data_cache: 5%}
      - {server: BILLING, spinlock: log cache, data_cache: 20%}

A rule is written once for each part of the series that has limits of its own, with `or` between, so that no alert knows
two limits of one thing and its evaluation costs no more.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from ase_exporter import assets
from ase_exporter.config import yaml_files
from ase_exporter.rules.parameters import (
    DEFINITIONS,
    PLACEHOLDER,
    DefinitionError,
    beside,
    changed,
    check_order,
    checked_value,
    full_name,
    thresholds,
)

_LABEL_VALUE = re.compile(r'[^"\\\n]+')
_EXPECTED = "{server: NAME, PARAMETER: VALUE}"
_SERIES = re.compile(r'"[^"]*"|\b(?P<name>(?:ase|dbhost)[_:][\w:]+)(?:\{(?P<more>[^}]*)\})?')


@dataclass(frozen=True)
class Limit:
    """Parameters that differ (values, by full name) for series with some labels (where)."""

    where: Mapping[str, str]
    values: Mapping[str, str]


@dataclass(frozen=True)
class Thresholds:
    """What a user sets: parameters for all servers, and limits."""

    values: Mapping[str, str] = field(default_factory=dict)
    limits: Sequence[Limit] = ()

    def __bool__(self) -> bool:
        return bool(self.values or self.limits)


@dataclass(frozen=True)
class Scope:
    """A part of all series: labels that have these values (equal), or none of those (other). values: as of Limit."""

    equal: Mapping[str, str] = field(default_factory=dict)
    other: Mapping[str, Sequence[str]] = field(default_factory=dict)
    values: Mapping[str, str] = field(default_factory=dict)

    def split(self, limit: Limit) -> "Iterator[Scope]":
        """The part of it in which the limit holds, and the rest, as parts that share no series."""
        where = limit.where.items()
        if any(
            self.equal.get(label, value) != value or value in self.other.get(label, ())
            for label, value in where
        ):
            yield self
            return
        rest = self
        for label, value in where:
            if label not in rest.equal:
                excluded = {**rest.other, label: (*rest.other.get(label, ()), value)}
                yield Scope(rest.equal, excluded, rest.values)
                rest = Scope({**rest.equal, label: value}, rest.other, rest.values)
        yield Scope(rest.equal, rest.other, {**rest.values, **limit.values})


def scopes(limits: Iterable[Limit], used: Iterable[str]) -> list[Scope]:
    """The parts of all series in which parameters that a rule uses differ; together they are all series."""
    found = [Scope()]
    names = set(used)
    for limit in limits:
        if values := {name: value for name, value in limit.values.items() if name in names}:
            found = [part for scope in found for part in scope.split(Limit(limit.where, values))]
    return found


def within(expr: str, scope: Scope) -> str:
    """An expression of the series of a scope alone."""

    def part(match: re.Match[str]) -> str:
        if not (name := match["name"]):
            return match[0]
        matchers = [f'{label}="{value}"' for label, value in scope.equal.items() if _has(name, label)]
        for label in (label for label in scope.other if _has(name, label)):
            matchers += [f'{label}!="{value}"' for value in scope.other[label]]
        if not matchers:
            return match[0]
        return f"{name}{{{', '.join([*matchers, *filter(None, [match['more']])])}}}"

    return _SERIES.sub(part, expr)


def _has(metric: str, label: str) -> bool:
    return label == "instance" or bool(re.match(_labels()[label], metric))


def _labels() -> Mapping[str, str]:
    """Labels that a limit may name beside the server -> a pattern of the metrics that have each."""
    labels: Mapping[str, str] = beside("parameter_kinds.yaml")["limit_labels"]
    return labels


@cache
def limitable() -> Mapping[str, Sequence[str]]:
    """The parameters of which a server may have its own value -> the expressions that compare with each."""
    found: dict[str, list[str]] = {}
    for definition in DEFINITIONS.glob("*.yaml"):
        content = assets.load_yaml(definition.read_text(encoding="utf-8"))
        for rule in (rule for group in content["groups"] for rule in group["rules"]):
            expr = rule["expr"] + rule.get("stays", "")
            for name in set(PLACEHOLDER.findall(expr)) & thresholds().keys():
                found.setdefault(name, []).append(expr)
    return found


def own(path: Path | None, settings: Iterable[str] = ()) -> Thresholds:
    """What a file says, and settings NAME=VALUE, which come after it. Raises UserError."""
    read = _read(path) if path else Thresholds()
    values = {**read.values, **changed(settings)}
    _check_orders(values, read.limits, str(path or "--set"))
    return Thresholds(values, read.limits)


def _check_orders(values: Mapping[str, str], limits: Sequence[Limit], where: str) -> None:
    """As check_order, with each set of limits that comes together."""
    check_order(values, where)
    for scope in scopes(limits, limitable()):
        check_order({**values, **scope.values}, f"{where}: limits of {', '.join(scope.equal.values())}")


def _read(path: Path) -> Thresholds:
    given = yaml_files.load(path, dict[str, Any])
    listed = given.pop("limits", [])
    values = dict(checked_value(name, value, str(path)) for name, value in given.items())
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise DefinitionError(f"{path}: limits: expected a list of {_EXPECTED}")
    return Thresholds(values, [_limit(each, f"{path}: limits[{index}]") for index, each in enumerate(listed)])


def _limit(given: Mapping[str, Any], where: str) -> Limit:
    labels: dict[str, str] = {}
    values: dict[str, str] = {}
    for name, value in given.items():
        if name != "server" and name not in _labels():
            full = full_name(name, limitable(), where)
            values.update([checked_value(full, value, where)])
        elif isinstance(value, str) and _LABEL_VALUE.fullmatch(value):
            labels["instance" if name == "server" else name] = value
        else:
            raise DefinitionError(f"{where}: {name}: expected text without quotes")
    if not labels or not values:
        raise DefinitionError(f"{where}: expected {_EXPECTED}")
    for label, name in product(labels, values):
        if not all(_names(expr, label) for expr in limitable()[name]):
            raise DefinitionError(f"{where}: {label}: what {name} limits has no such label")
    return Limit(labels, values)


def _names(expr: str, label: str) -> bool:
    """Whether series in an expression have a label."""
    return any(_has(found["name"], label) for found in _SERIES.finditer(expr) if found["name"])
