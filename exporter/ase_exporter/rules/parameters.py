"""The alert parameters: parameters.yaml, overridden by what users set. Checks the kind of each value."""

import math
import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Any

from ase_exporter import assets
from ase_exporter.catalogue.labels import log_problems
from ase_exporter.errors import UserError
from ase_exporter.rules.messages import messages

# From these severities on, messages page, or are tickets, unless messages.yaml says otherwise.
PAGES, TICKETS = 20, 17
PARAMETERS = assets.directory("parameters.yaml")
DEFINITIONS = assets.directory("definitions")
PLACEHOLDER = re.compile(r"<<~?([a-z0-9_.]+)>>")
# What rules, the diagnosis, `top`, `advise` and `compare` calculate with: a value for the rules alone would contradict.
_ONE_VALUE = "spinlock.seconds_per_spin"
# Limits of warnings whose name does not say that of the critical alert.
_CRITICAL = {"server.connections_used": "server.full", "locks.used": "server.full"}

# https://prometheus.io/docs/prometheus/latest/configuration/configuration/#configuration-file
_DURATION = re.compile(r"(?=\d)(\d+y)?(\d+w)?(\d+d)?(\d+h)?(\d+m)?(\d+s)?(\d+ms)?")


class DefinitionError(UserError):
    """A definition or a parameter is invalid. The message is one line that names it."""


def parameters() -> dict[str, str]:
    """Return the shipped parameters by dotted name, as the text that goes into a rule."""
    return {name: str(value) for name, value in _shipped().items()}


@cache
def thresholds() -> Mapping[str, float]:
    """Return the shipped parameters that are numbers, by dotted name."""
    return {name: float(value) for name, value in _numbers_and_texts().items() if not isinstance(value, str)}


def changed(settings: Iterable[str]) -> dict[str, str]:
    """Return the parameters that settings NAME=VALUE give another value, as `parameters` does.

    NAME is group.name or a short name. Raises DefinitionError.
    """
    overrides: dict[str, str] = {}
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise DefinitionError(f"--set {setting}: expected NAME=VALUE, such as data_cache=0.15")
        overrides.update([checked_value(name.strip(), text.strip(), "--set")])
    return overrides


def checked_value(name: str, value: Any, where: str) -> tuple[str, str]:
    """Full name and text of a parameter that a user gives; text may be a percentage.

    where: what an error begins with. Raises DefinitionError.
    """
    shipped = _shipped()
    full = full_name(name, shipped, where)
    if full.startswith(_ONE_VALUE):
        raise DefinitionError(
            f"{where}: {name}: the exporter calculates with it, too: change it in {PARAMETERS}"
        )
    if isinstance(value, str):
        value = _value(value, shipped[full])
    if expected := _mismatch(full, value, shipped[full]):
        raise DefinitionError(f"{where}: {name}: {value!r}: expected {expected}")
    return full, str(value)


def check_order(overrides: Mapping[str, str], where: str) -> None:
    """Refuse a limit of a warning over that of the critical alert: both would fire at once, or the wrong one."""
    values = {**parameters(), **overrides}
    for name in values:
        critical = _CRITICAL.get(name, name.replace("warning", "critical"))
        if name.startswith("spinlock."):
            critical = "spinlock.critical"
        is_warning = name in _CRITICAL or (name.endswith("warning") and critical in values)
        if is_warning and float(values[name]) > float(values[critical]):
            raise DefinitionError(f"{where}: {name} {values[name]} is over {critical} {values[critical]}")


def full_name(name: str, names: Iterable[str], where: str) -> str:
    """The one of the names that a user means: itself, or what a short name stands for. Raises DefinitionError."""
    short = {
        name: full for name, full in beside("parameter_kinds.yaml")["short_names"].items() if full in names
    }
    if name in short:
        return str(short[name])
    if name in names:
        return name
    # A part of a name is refused even if one has it: tomorrow there may be two.
    known = [*short, *names]
    found = [each for each in names if each.partition(".")[2] == name]
    found = found or [each for each in names if name and name in each]
    found = found or get_close_matches(name, known, cutoff=0.5) or known
    raise DefinitionError(f"{where}: {name}: expected {'one of ' * (len(found) > 1)}{', '.join(found)}")


@cache
def _shipped() -> dict[str, Any]:
    """All parameters by dotted name: those of parameters.yaml, and the patterns of messages."""
    return _numbers_and_texts() | _patterns()


def _value(text: str, shipped: Any) -> Any:
    """A number if the shipped value is one and the text too, such as 0.15 or 15%, else the text as it is."""
    if isinstance(shipped, str):
        return text
    try:
        number = float(text.removesuffix("%"))
        number = round(number / 100, 12) if text.endswith("%") else number
    except ValueError:
        return text
    return int(number) if number.is_integer() else number


def _mismatch(name: str, value: Any, shipped: Any) -> str | None:
    """What was expected of a parameter, or None if the value fits."""
    if isinstance(shipped, str):
        expected = "text without spaces or quotes", re.compile(r"[^\s\"'\\]+")
        if _DURATION.fullmatch(shipped):
            expected = "a duration such as 5m or 1h30m", _DURATION
        return None if isinstance(value, str) and expected[1].fullmatch(value) else expected[0]
    number = value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    if name in ratios():
        return None if 0 <= number <= 1 else "a ratio from 0 to 1"
    return None if 0 <= number < math.inf else "a number, 0 or more"


def _numbers_and_texts() -> dict[str, Any]:
    """The parameters of parameters.yaml by dotted name, as YAML gives them."""
    groups = assets.load_yaml(PARAMETERS.read_text(encoding="utf-8"))
    return {f"{group}.{name}": value for group, values in groups.items() for name, value in values.items()}


def _patterns() -> dict[str, str]:
    """Patterns of messages as parameters of rules: whatever differs from what the severity alone would say.

    page: numbers under PAGES. ticket: numbers that are tickets, but not by their severity. quiet: numbers that are no
    page from PAGES on, or nothing at all from TICKETS on. problem_tickets: problems that are tickets by their text.
    """
    found: dict[str, list[int]] = {"page": [], "ticket": [], "quiet": []}
    for number, (severity, who) in messages().classes().items():
        if who == "page" and severity < PAGES:
            found["page"].append(number)
        if who == "ticket" and not TICKETS <= severity < PAGES:
            found["ticket"].append(number)
        if who != "page" and severity >= (PAGES if who == "ticket" else TICKETS):
            found["quiet"].append(number)
    tickets = dict.fromkeys(each["problem"] for each in log_problems() if each["who"] == "ticket")
    return {
        **{f"messages.{name}": _alternatives(numbers) for name, numbers in found.items()},
        "messages.problem_tickets": "|".join(tickets),
    }


def _alternatives(numbers: Iterable[int]) -> str:
    """A pattern for these numbers: those that differ in the last digit share an alternative."""
    digits: dict[int, str] = {}
    for number in sorted(numbers):
        digits[number // 10] = digits.get(number // 10, "") + str(number % 10)
    return "|".join(f"{tens}{last if len(last) == 1 else f'[{last}]'}" for tens, last in digits.items())


@cache
def ratios() -> frozenset[str]:
    return frozenset(
        f"{group}.{name}"
        for group, names in beside("parameter_kinds.yaml")["ratios"].items()
        for name in names
    )


@cache
def beside(name: str) -> dict[str, Any]:
    """What a file beside this module holds."""
    loaded: dict[str, Any] = assets.load_yaml(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return loaded
