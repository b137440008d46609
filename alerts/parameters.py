"""Reads the alert parameters: parameters.yaml, overridden by a file of the user's own. Checks every value's kind."""

import math
import re
from pathlib import Path
from typing import Any

import yaml

PARAMETERS = Path(__file__).parent / "parameters.yaml"

# Numbers that must lie from 0 to 1. The kind of every other parameter follows from its shipped value.
RATIOS = frozenset(
    {
        "cache.procedure_loads",
        "change.contention_rise",
        "cpu.busy",
        "cpu.saturated",
        "cpu.spinning_critical",
        "cpu.spinning_warning",
        "cpu.throughput_share",
        "hugepages.page_tables_share",
        "locks.used",
        "log.critical",
        "log.semaphore_waits",
        "log.warning",
        "server.connections_used",
        "space.critical",
        "space.forecast_free",
        "space.warning",
        "spinlock.cache_warning",
        "spinlock.critical",
        "spinlock.descriptor_warning",
        "spinlock.other_warning",
        "tlb.min_ratio",
    }
)
# https://prometheus.io/docs/prometheus/latest/configuration/configuration/#configuration-file
_DURATION = re.compile(r"(?=\d)(\d+y)?(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?")


class DefinitionError(Exception):
    """A definition or a parameter is invalid. The message is one line that names it."""


def parameters(own: Path | None = None) -> dict[str, str]:
    """Return all parameters by dotted name, as the text that goes into a rule.

    own: a file in the form of parameters.yaml that names only what differs. Raises DefinitionError and OSError.
    """
    shipped = _read(PARAMETERS)
    overrides = _read(own) if own else {}
    for name, value in overrides.items():
        if name not in shipped:
            raise DefinitionError(f"{own}: {name}: no such parameter; parameters.yaml lists all of them")
        if expected := _mismatch(name, value, shipped[name]):
            raise DefinitionError(f"{own}: {name}: {value!r}: expected {expected}")
    return {name: str(value) for name, value in (shipped | overrides).items()}


def _mismatch(name: str, value: Any, shipped: Any) -> str | None:
    """What was expected of a parameter, or None if the value fits."""
    if isinstance(shipped, str):
        if _DURATION.fullmatch(shipped):
            fits = isinstance(value, str) and _DURATION.fullmatch(value)
            return None if fits else "a duration such as 5m or 1h30m"
        fits = isinstance(value, str) and re.fullmatch(r"[^\s\"'\\]+", value)
        return None if fits else "text without spaces or quotes"
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if name in RATIOS:
        return None if 0 <= number <= 1 else "a ratio from 0 to 1"
    return None if 0 <= number < math.inf else "a number, 0 or more"


def _read(path: Path) -> dict[str, Any]:
    """Parameters by dotted name, as YAML gives them."""
    try:
        content = yaml.safe_load(path.read_text()) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f"line {mark.line + 1}: " if mark else ""
        raise DefinitionError(f"{path}: {line}not valid YAML") from None
    if not isinstance(content, dict) or not all(isinstance(group, dict) for group in content.values()):
        raise DefinitionError(f"{path}: expected groups of parameters, as in parameters.yaml")
    return {f"{group}.{name}": value for group, values in content.items() for name, value in values.items()}
