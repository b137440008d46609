"""Scripted faults of a server, switched on and off by scenarios and tests while it runs."""

import logging
from collections import Counter
from copy import deepcopy
from dataclasses import dataclass, field, fields
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

NotNegative = Annotated[float, Field(ge=0)]

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Break:
    """How a result set ends early: after `after_rows` rows the connection is closed within a row, is reset, or
    sends a token that does not exist in TDS."""

    how: Literal["close", "reset", "garbage"]
    after_rows: int = 0


@dataclass(slots=True)
class Faults:
    """All are off at first. Steps of scenarios set them by these names, and connections read them for every request.

    mute: connections are accepted and never answered. refuse: new connections are closed at once.
    hang: requests are never answered, except attentions. ignore_attention: attentions are never answered.
    seconds_per_row: delay before each row. broken: how result sets end early.
    only: hang, seconds_per_row and broken apply only to requests whose text contains this.
    column_types: types of columns (`table.column`) in place of the documented ones.
    column_values: values of columns (`table.column`) in all rows in place of the server's own; None for NULL.
    missing_columns: columns (`table.column`) that monTableColumns lists and tables lack, as after an EBF without
    installmaster.
    missing_tables: tables that are not there, as monitoring tables before installmaster has been run.
    elapsed_limit: seconds after which a resource limit ends a batch that waits for a slow table (11056); 0: none.
    locked_tables: another session holds locks in these tables: selects wait, except at isolation level 0.
    slow_tables: seconds that each select from these tables takes longer.
    login_trigger: SQL that runs in each new session, whose settings it may change.
    authentication: who checks passwords (@@authmech). directory_down: LDAP or PAM does not answer, so that logins
    fail as with a wrong password (4002).
    instances: of Cluster Edition; their rows are seen with `set system_view cluster`. system_view: of new sessions.
    strict: a batch ends where it asks for what is not simulated. refused: how often each such thing was asked for.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    mute: bool = False
    refuse: bool = False
    hang: bool = False
    ignore_attention: bool = False
    seconds_per_row: NotNegative = 0.0
    broken: Break | None = None
    only: str = ""
    column_types: dict[str, str] = field(default_factory=dict)
    column_values: dict[str, int | float | str | None] = field(default_factory=dict)
    missing_columns: frozenset[str] = frozenset()
    missing_tables: frozenset[str] = frozenset()
    elapsed_limit: NotNegative = 0.0
    locked_tables: frozenset[str] = frozenset()
    slow_tables: dict[str, NotNegative] = field(default_factory=dict)
    login_trigger: str = ""
    authentication: Literal["ase", "ldap", "pam"] = "ase"
    directory_down: bool = False
    instances: Annotated[int, Field(ge=1, le=32)] = 1
    system_view: Literal["instance", "cluster"] = "instance"

    strict: bool = field(default=False, init=False)
    refused: Counter[str] = field(default_factory=Counter, init=False)

    def become(self, others: "Faults") -> None:
        for each in fields(self):
            if each.init:
                setattr(self, each.name, deepcopy(getattr(others, each.name)))

    def not_simulated(self, what: str) -> None:
        """Log and count a request for what is not simulated."""
        self.refused[what] += 1
        _log.warning("not simulated: %s", what)

    def strikes(self, request: str) -> bool:
        """Whether hang, seconds_per_row and broken apply to a request, given by its text or procedure name."""
        return self.only in request
