"""What SET changes in a session."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Settings:
    """The options of one session. contexts: values of application contexts by context and attribute."""

    rowcount: int = 0
    nocount: bool = False
    ansinull: bool = False
    quoted_identifier: bool = False
    textsize: int = 32768
    language: str = "us_english"
    isolation: int = 1
    chained: bool = False
    noexec: bool = False
    parseonly: bool = False
    fmtonly: bool = False
    system_view: str = "instance"
    others: dict[str, str] = field(default_factory=dict)
    contexts: dict[tuple[str, str], str] = field(default_factory=dict)
