"""sp_configure: the options, their present values, and ASE's validation."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Any

from ase_simulator.contracts import Option, ServerError
from ase_simulator.model.workload import DEFAULTS
from ase_simulator.schema.profiles import parse_level
from ase_simulator.yaml_text import load_yaml

_LIMIT = 2147483647

_EXECUTABLE_KB = 40_000


@dataclass(frozen=True, slots=True)
class OptionEntry:
    """An option as options.yaml lists it; since: first version that has it."""

    option: Option
    read_only: bool
    since: str = "0.0"


@cache
def catalogue() -> tuple[OptionEntry, ...]:
    """All options of all versions, with their defaults."""
    text = resources.files("ase_simulator.model").joinpath("options.yaml").read_text("utf-8")
    sections = load_yaml(text).items()
    return tuple(_entry(section, row) for section, rows in sections for row in rows)


def _entry(section: str, row: Sequence[Any]) -> OptionEntry:
    number, name, unit, kind, default, minimum, maximum, *since = row
    value, text = (0, default) if isinstance(default, str) else (default, "")
    greatest = _LIMIT if maximum is None else maximum
    memory = _memory(name, value)
    option = Option(
        number,
        name,
        section,
        unit,
        kind == "static",
        minimum or 0,
        greatest,
        value,
        value,
        value,
        memory,
        text,
    )
    return OptionEntry(option, kind == "read-only", *since)


def _memory(name: str, configured: int) -> int:
    """KB that an option takes at that value."""
    return int(configured * DEFAULTS["memory_kb"].get(name, 0.0))


class Options:
    """The configuration of one server: the options that its version has.

    at_once: static options take effect without a restart (a scenario's convenience, not ASE's behaviour).
    """

    def __init__(self, version: str, *, at_once: bool = False) -> None:
        self.version = version
        entries = [entry for entry in catalogue() if parse_level(entry.since) <= parse_level(version)]
        self._options = {entry.option.name.lower(): entry.option for entry in entries}
        self._read_only = {entry.option.name for entry in entries if entry.read_only}
        self._at_once = at_once

    def all(self, caches_kb: int = 0) -> list[Option]:
        """Every option with the memory that it takes; values that ASE computes are computed here.

        caches_kb: size of all data caches.
        """
        logical = self.logical_memory_kb(caches_kb)
        shown = {
            "total data cache size": caches_kb,
            "total logical memory": logical // 2,
            "total physical memory": logical // 2,
        }
        return [
            replace(option, configured=0, run=shown[option.name]) if option.name in shown else option
            for option in self._options.values()
        ]

    def has(self, name: str) -> bool:
        """Whether this version has that option; names that no version has are errors (17410)."""
        if name.lower() not in {entry.option.name.lower() for entry in catalogue()}:
            raise ServerError(17410, f"Configuration option doesn't exist: '{name}'.")
        return name.lower() in self._options

    def logical_memory_kb(self, caches_kb: int) -> int:
        return caches_kb + int(
            _EXECUTABLE_KB
            + sum(o.configured * DEFAULTS["memory_kb"].get(o.name, 0.0) for o in self._options.values())
        )

    def run(self, name: str, default: int = 0) -> int:
        """The run value of an option, by its exact name; default where this version does not have it."""
        option = self._options.get(name.lower())
        return option.run if option else default

    @property
    def threaded_kernel(self) -> bool:
        """Whether engines are threads of one process, as they may be since 15.7, and not processes."""
        mode = self._options.get("kernel mode")
        return mode is not None and mode.text == "threaded"

    def find(self, name: str) -> Option:
        """The one option whose name contains `name`; raises ASE's 17410 if none does, 17411 if several do."""
        wanted = name.lower()
        if wanted in self._options:
            return self._options[wanted]
        hits = [option for key, option in self._options.items() if wanted in key]
        if not hits:
            raise ServerError(17410, "Configuration option doesn't exist.")
        if len(hits) > 1:
            raise ServerError(17411, "Configuration option is not unique.")
        return hits[0]

    def set(self, name: str, value: int | str, caches_kb: int = 0) -> Option:
        """Set an option: dynamic ones at once, static ones at the next restart.

        caches_kb: size of all data caches, which with the new value must fit into `max memory`.
        """
        option = self.find(name)
        if option.name in self._read_only:
            raise ServerError(17418, f"You cannot change the configuration option '{option.name}'.")
        if option.unit == "name":
            changed = replace(option, text=str(value))
        else:
            changed = self._with_number(option, value)
        self._options[option.name.lower()] = changed
        needed = self.logical_memory_kb(caches_kb) // 2
        grows = changed.configured > option.configured and option.name in DEFAULTS["memory_kb"]
        if needed > self._options["max memory"].configured and (grows or option.name == "max memory"):
            self._options[option.name.lower()] = option
            raise ServerError(
                5849,
                f"Verification failed for parameter '{option.name}': the configuration would need {needed} "
                "pages of 2K, more than 'max memory'.",
            )
        return changed

    def restart(self) -> None:
        """Static options take effect."""
        self._options = {key: replace(option, run=option.configured) for key, option in self._options.items()}

    def _with_number(self, option: Option, value: int | str) -> Option:
        try:
            number = int(value)
        except ValueError:
            raise ServerError(
                5847, f"The value '{value}' for the configuration parameter '{option.name}' is not a number."
            ) from None
        if not option.minimum <= number <= option.maximum:
            raise ServerError(
                5848,
                f"The value {number} for the configuration parameter '{option.name}' is not within its "
                f"legal range: minimum {option.minimum}, maximum {option.maximum}.",
            )
        takes_effect = not option.static or self._at_once
        return replace(
            option,
            configured=number,
            run=number if takes_effect else option.run,
            memory_used=_memory(option.name, number),
        )
