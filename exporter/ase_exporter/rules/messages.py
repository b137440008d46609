"""The messages of the error log by number: what they mean and who should hear of them, as messages.yaml lists them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from annotated_types import Interval

from ase_exporter.config import yaml_files
from ase_exporter.config.fields import Strict

Severity = Annotated[int, Interval(ge=0, le=26)]
Who = Literal["page", "ticket", "ignore"]


@dataclass(frozen=True, kw_only=True, slots=True)
class MessageGroup(Strict):
    """Messages with the same class and action. messages: number -> severity and cause.

    numbers: severity -> numbers whose cause is that of the group.
    """

    about: str
    who: Who
    source: str
    action: str
    messages: Mapping[int, tuple[Severity, str]] = field(default_factory=dict)
    cause: str = ""
    numbers: Mapping[Severity, Sequence[int]] = field(default_factory=dict)

    def severities(self) -> Iterator[tuple[int, int]]:
        """Number and severity of each message."""
        yield from ((number, severity) for number, (severity, _) in self.messages.items())
        yield from ((number, severity) for severity, numbers in self.numbers.items() for number in numbers)

    def rows(self) -> Iterator[tuple[str, int, str]]:
        """Numbers, severity and cause, as a table shows them."""
        yield from ((str(number), severity, cause) for number, (severity, cause) in self.messages.items())
        yield from (
            (", ".join(map(str, each)), severity, self.cause) for severity, each in self.numbers.items()
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class Messages(Strict):
    """The whole file. sources: by the name that groups use."""

    sources: Mapping[str, str]
    groups: Sequence[MessageGroup]

    def classes(self) -> dict[int, tuple[int, Who]]:
        """Severity and class of each number."""
        return {
            number: (severity, group.who) for group in self.groups for number, severity in group.severities()
        }


@cache
def messages() -> Messages:
    """The content of messages.yaml."""
    return yaml_files.load_shipped(Path(__file__).with_name("messages.yaml"), Messages)
