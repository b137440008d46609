"""What SET changes in a session."""

from dataclasses import dataclass


@dataclass(slots=True)
class Settings:
    """The options of one session."""

    rowcount: int = 0
    nocount: bool = False
    quoted_identifier: bool = False
    textsize: int = 32768
    language: str = "us_english"
    isolation: int = 1
    chained: bool = False
    system_view: str = "instance"
