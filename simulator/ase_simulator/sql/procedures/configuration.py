"""sp_configure: lists and sets configuration options."""

from collections.abc import Iterator, Sequence

from ase_simulator.contracts import Option
from ase_simulator.results import Message, Result
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.procedures.registry import ProcedureCall, print_line, procedure, table

_COLUMNS = (
    "[Parameter Name] varchar(30), [Default] char({}), [Memory Used] char(11), [Config Value] char({}), "
    "[Run Value] char({}), [Unit] char(20), [Type] char({})"
)
# Widths in published output of 12.5.4, and of 15.7 and 16.0.
_OLD_COLUMNS = _COLUMNS.format(11, 12, 12, 10)
_NEW_COLUMNS = _COLUMNS.format(20, 20, 20, 20)
_SINCE = (15, 7, 0, 0, 0)
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
def sp_configure(call: ProcedureCall) -> Iterator[Result]:
    """Lists options, shows those whose name contains a text, or sets one."""
    wanted = call.text("@configname")
    options = sorted(call.server.options(), key=lambda option: option.name.lower())
    if wanted is None:
        yield from _groups(call, options)
        return
    group = [option for option in options if option.section.lower() == wanted.lower()]
    if group and call.text("@configvalue") is None:
        yield print_line(f"\nGroup: {group[0].section}\n")
        yield _listing(call, group)
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
            yield print_line("Configuration option is not unique.\n")
            call.status = 1
        yield _listing(call, found)
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
    """The option of exactly that name, or all whose name contains the text."""
    exact = [option for option in options if option.name.lower() == wanted.lower()]
    return exact or [option for option in options if wanted.lower() in option.name.lower()]


def _set(call: ProcedureCall, option: Option, value: str) -> Iterator[Result]:
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
    call.session.record_change(
        "sp_configure",
        call.server.name,
        option.name,
        before,
        after.text or str(after.configured),
        "static" if option.static else "dynamic",
    )
    yield _listing(call, [after])
    modern = call.session.profile.level >= _SINCE
    yield print_line((_STATIC if option.static else _DYNAMIC)[0 if modern else 1])
    more = after.memory_used - option.memory_used
    if more > 0:
        yield print_line(
            f"Changing the value of '{option.name}' to '{after.configured}' increases the amount of "
            "memory ASE "
            f"uses by {more} K."
        )
    else:
        yield print_line(
            f"Changing the value of '{option.name}' does not increase the amount of memory Adaptive "
            "Server uses."
        )


def _groups(call: ProcedureCall, options: Sequence[Option]) -> Iterator[Result]:
    sections: dict[str, list[Option]] = {}
    for option in options:
        sections.setdefault(option.section, []).append(option)
    yield print_line("\nGroup: Configuration Options\n")
    for section in sorted(sections):
        yield print_line(f"\nGroup: {section}\n")
        yield _listing(call, sections[section])


def _listing(call: ProcedureCall, options: Sequence[Option]) -> Result:
    columns = _NEW_COLUMNS if call.session.profile.level >= _SINCE else _OLD_COLUMNS
    return table(columns, [_row(option) for option in options])


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
    """Whether sp_configure marks the memory with # because it is part of another option's."""
    return option.memory_used > 0 and option.section == "Meta-Data Caches"
