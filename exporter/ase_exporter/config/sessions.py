"""Settings of what is shown and kept of sessions and statements."""

from dataclasses import dataclass
from typing import Annotated

from annotated_types import Ge, Le

from ase_exporter.config.fields import Strict


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionsConfig(Strict):
    """The page /sessions, and incidents.

    statement_text: whether callers who log in are shown the text of statements, without literals. ended_statements:
    whether statements are also read from the pipe of those that ended. incidents: how many moments at which a finding
    began are kept in the state directory; 0 for none.
    """

    statement_text: bool = False
    ended_statements: bool = False
    incidents: Annotated[int, Ge(0), Le(500)] = 50
