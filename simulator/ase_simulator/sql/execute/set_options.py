"""Runs SET option statements."""

from collections.abc import Iterator, Sequence

from ase_simulator.results import EnvChange, Result
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import NotSimulatedError, SqlError, message
from ase_simulator.sql.logins import ROLES
from ase_simulator.sql.syntax.keywords import ACCEPTED_SETTINGS, FIXED_SETTINGS

_SWITCHES = {"nocount", "quoted_identifier", "chained"}
_LEVELS = {"0": 0, "1": 1, "uncommitted": 0, "committed": 1}
_HIGHER_LEVELS = frozenset({"2", "3", "repeatable", "serializable"})
_LANGUAGES = frozenset({"us_english", "french", "german", "japanese", "spanish", "chinese", "korean"})


def apply(session: Context, words: Sequence[str]) -> Iterator[Result]:
    """Runs one SET statement, given its words; raises SqlError 155 for an unknown option."""
    rest = [word for word in words if word != ","]
    name = rest[0].lower()
    values = rest[1:]
    value = values[-1] if values else ""
    settings = session.settings
    if name == "rowcount":
        settings.rowcount = _whole(value, name)
    elif name == "textsize":
        settings.textsize = _whole(value, name) or 32768
    elif name == "transaction":
        settings.isolation = _isolation(values)
    elif name == "system_view" and session.profile.cluster:
        if value not in ("cluster", "instance"):
            raise SqlError(102, value)
        settings.system_view = value
    elif name == "language":
        yield from _language(session, value)
    elif _SWITCHES.intersection(word.lower() for word in rest[:-1]):
        for switch in rest[:-1]:
            if switch.lower() in _SWITCHES:
                if switch.lower() == "chained" and session.trancount and _switch(value) != settings.chained:
                    raise SqlError(226, "SET CHAINED")
                setattr(settings, switch.lower(), _switch(value))
    elif name == "lock":
        _lock(session, [word.lower() for word in values])
    elif name in ("clientname", "clienthostname", "clientapplname"):
        session.activity.names[name] = value
    elif name == "role":
        _role(session, values[0].lower(), _switch(value))
    elif name in FIXED_SETTINGS:
        if value.lower() != FIXED_SETTINGS[name]:
            raise NotSimulatedError(f"SET {name.upper()} {value.upper()}".strip())
    elif name not in ACCEPTED_SETTINGS:
        raise SqlError(155, rest[0], "SET")


def _role(session: Context, role: str, on: bool) -> None:
    """`role mon_role on`: raises SqlError 11039, or 10353 for a role that is not granted."""
    if role not in ROLES:
        raise SqlError(11039, role)
    if role not in session.login.roles:
        raise SqlError(10353, role)
    session.set_roles[role] = on


def _lock(session: Context, words: Sequence[str]) -> None:
    """`lock wait`, `lock wait 5`, `lock nowait`: how long this session waits for a lock."""
    if words == ["nowait"]:
        session.locker.timeout = 0.0
    elif words[:1] == ["wait"]:
        session.locker.timeout = float(_whole(words[1], "wait")) if len(words) > 1 else None
    else:
        raise SqlError(102, words[-1] if words else "lock")


def _whole(value: str, name: str) -> int:
    if not value.isdigit():
        raise SqlError(102, value or name)
    return int(value)


def _switch(value: str) -> bool:
    if value.lower() not in ("on", "off"):
        raise SqlError(102, value)
    return value.lower() == "on"


def _isolation(words: Sequence[str]) -> int:
    """`isolation level 0` … `3`, or the ANSI names."""
    lowered = [word.lower() for word in words]
    if lowered[:2] != ["isolation", "level"] or len(lowered) < 3:
        raise SqlError(102, words[-1] if words else "transaction")
    level = isolation_of(lowered[2:])
    if level is None:
        raise SqlError(102, words[2])
    return level


def isolation_of(words: Sequence[str]) -> int | None:
    """The level that words such as `0` or `read uncommitted` ask for. Raises NotSimulatedError for 2 and 3."""
    if not _HIGHER_LEVELS.isdisjoint(words[:1]):
        raise NotSimulatedError("isolation levels 2 and 3")
    return next((_LEVELS[word] for word in words[:2] if word in _LEVELS), None)


def _language(session: Context, value: str) -> Iterator[Result]:
    if value not in _LANGUAGES:
        raise SqlError(2740, value)
    old, session.settings.language = session.settings.language, value
    yield EnvChange("language", value, old)
    yield message(5703, value)
