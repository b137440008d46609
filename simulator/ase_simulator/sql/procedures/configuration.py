"""sp_configure and its kin: what is configured, what runs, what uses how much."""

from collections.abc import Iterator, Sequence

from ase_simulator.contracts import Option
from ase_simulator.results import Message, Result
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.procedures.registry import Call, procedure, said, table

_COLUMNS = (
    "[Parameter Name] varchar(30), [Default] char(11), [Memory Used] char(11), [Config Value] char(12), "
    "[Run Value] char(12), [Unit] char(20), [Type] char(10)"
)
_DYNAMIC = (
    "Configuration option changed. ASE need not be rebooted since the option is dynamic.",
    "Configuration option changed. The SQL Server need not be rebooted since the option is dynamic.",
)
_STATIC = (
    "Configuration option changed. ASE must be rebooted before the change in effect since the option "
    "is static.",
    "Configuration option changed. The SQL Server must be rebooted before the change in effect since the "
    "option is static.",
)
_CHANGERS = ("sa_role", "sso_role")


@procedure(
    "sp_configure",
    "@configname varchar(255) = null",
    "@configvalue varchar(255) = null",
    "@configvalue2 varchar(255) = null",
    "@filename varchar(255) = null",
)
def sp_configure(call: Call) -> Iterator[Result]:
    """Lists options, shows those whose name holds a text, or sets one."""
    wanted = call.text("@configname")
    options = sorted(call.server.options(), key=lambda option: option.name.lower())
    if wanted is None:
        yield from _groups(call, options)
        return
    found = matching(options, wanted)
    if not found:
        sections = [option for option in options if wanted.lower() in option.section.lower()]
        if not sections or call.text("@configvalue") is not None:
            call.status = 1
            yield Message(17410, 16, 1, "Configuration option doesn't exist.", "sp_configure")
            return
        found = sections
    value = call.text("@configvalue")
    if value is None:
        if len(found) > 1:
            yield said("Configuration option is not unique.\n")
            call.status = 1
        yield _listing(found)
        return
    if len(found) > 1:
        call.status = 1
        yield Message(17411, 16, 1, "Configuration option is not unique.", "sp_configure")
        yield table(
            "option_name varchar(30), config_value int, run_value int",
            [(option.name, option.configured, option.run) for option in found],
        )
        return
    yield from _set(call, found[0], value)


def matching(options: Sequence[Option], wanted: str) -> list[Option]:
    """The option of exactly that name, or all whose name holds the text."""
    exact = [option for option in options if option.name.lower() == wanted.lower()]
    return exact or [option for option in options if wanted.lower() in option.name.lower()]


def _set(call: Call, option: Option, value: str) -> Iterator[Result]:
    if not set(_CHANGERS) & set(call.session.roles):
        raise SqlError(10353, "sa_role")
    text = call.text("@configvalue2")
    new: int | str
    if value.lower() == "default":
        new = option.default
    elif option.unit == "name" and text is not None:
        new = text
    else:
        if not value.lstrip("-").isdigit():
            raise SqlError(249, "implicit", "VARCHAR", value, "INT")
        new = int(value)
    before = option.text or str(option.configured)
    after = call.server.set_option(option.name, new, call.session.login.name)
    call.session.backend.history.changed(
        call.session,
        "sp_configure",
        call.server.name,
        option.name,
        before,
        after.text or str(after.configured),
        "static" if option.static else "dynamic",
    )
    yield _listing([after])
    modern = call.session.profile.level >= (16, 0, 0, 0, 0)
    yield said((_STATIC if option.static else _DYNAMIC)[0 if modern else 1])
    more = after.memory_used - option.memory_used
    if more > 0:
        yield said(
            f"Changing the value of '{option.name}' to '{after.configured}' increases the amount of "
            "memory ASE "
            f"uses by {more} K."
        )
    else:
        yield said(
            f"Changing the value of '{option.name}' does not increase the amount of memory Adaptive "
            "Server uses."
        )


def _groups(call: Call, options: Sequence[Option]) -> Iterator[Result]:
    sections: dict[str, list[Option]] = {}
    for option in options:
        sections.setdefault(option.section, []).append(option)
    yield said("\nGroup: Configuration Options\n")
    for section in sorted(sections):
        yield said(f"\nGroup: {section}\n")
        yield _listing(sections[section])


def _listing(options: Sequence[Option]) -> Result:
    return table(_COLUMNS, [_row(option) for option in options])


def _row(option: Option) -> tuple[str, ...]:
    if option.unit == "name":
        config = run = f"{option.text:>12}"
        default = f"{'':>11}"
    else:
        default, config, run = f"{option.default:>11}", f"{option.configured:>12}", f"{option.run:>12}"
    memory = f"{'#' if _inside_another(option) else ''}{option.memory_used}"
    return (
        option.name[:30],
        default,
        f"{memory:>11}",
        config,
        run,
        option.unit,
        "static" if option.static else "dynamic",
    )


def _inside_another(option: Option) -> bool:
    """Memory that sp_configure marks with # because another option's memory holds it."""
    return option.memory_used > 0 and option.section == "Meta-Data Caches"
