"""docs/configuration.md shows every key that there is, and defaults as they are."""

import re
import types
import typing
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields

import certifi
from tests.paths import DOCS

from ase_exporter.assets import load_yaml
from ase_exporter.config import Config, yaml_files
from ase_exporter.config.fields import Strict

PAGE = (DOCS / "configuration.md").read_text(encoding="utf-8")
TEXT = PAGE.partition("```yaml\n")[2].partition("```")[0].replace("/etc/ssl/company.pem", certifi.where())


def parts(kind: object) -> Iterator[type[Strict]]:
    """The parts of the configuration that a field's type holds."""
    if isinstance(kind, type) and issubclass(kind, Strict):
        yield kind
    elif isinstance(kind, types.UnionType) or typing.get_origin(kind):
        for part in typing.get_args(kind):
            yield from parts(part)


def entries(shown: object, several: bool) -> list[Mapping[str, object]]:
    """What is shown of a part: one mapping, those of a list, or those under names."""
    if isinstance(shown, list):
        return shown
    assert isinstance(shown, Mapping)
    return list(shown.values()) if several else [shown]


def missing(part: type[Strict], shown: list[Mapping[str, object]], path: str) -> Iterator[str]:
    """Keys of a part, and of those within it, that none of the entries shows."""
    for name, kind in typing.get_type_hints(part).items():
        if name.startswith("__"):
            continue
        here = f"{path}.{name}".lstrip(".")
        values = [entry[name] for entry in shown if name in entry]
        if not values:
            yield here
            continue
        for inner in parts(kind):
            several = typing.get_origin(kind) not in (None, types.UnionType)
            yield from missing(inner, [e for value in values for e in entries(value, several)], here)


def test_every_key_is_shown() -> None:
    assert list(missing(Config, [load_yaml(TEXT)], "")) == []


def without_default() -> set[tuple[str, str]]:
    """(key, value) of lines whose remark says that there is no default, or that it is none."""
    found = re.findall(r"^[ -]*(\w+):(.*?)# (?:none|no default)\b", TEXT, re.MULTILINE)
    return {(key, value.strip()) for key, value in found}


def untrue(part: Strict, path: str) -> Iterator[str]:
    """Keys whose value is shown as the default, and is not."""
    none = {key for key, _ in without_default()}
    for field in fields(part):  # type: ignore[arg-type]
        name = field.name
        value, here = getattr(part, name), f"{path}.{name}".lstrip(".")
        inner = [value] if isinstance(value, Strict) else []
        if isinstance(value, tuple | list):
            inner = [each for each in value if isinstance(each, Strict)]
        elif isinstance(value, Mapping):
            inner = [each for each in value.values() if isinstance(each, Strict)]
        for each in inner:
            yield from untrue(each, here)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if not inner and default is not MISSING and name not in none and value != default:
            yield here


# Examples by their nature: where a password is, how a process is found, what memory a database has.
EXAMPLES = ("auth.", "host.processes.", "targets.auth", "targets.sysmon.auth")


def test_what_is_shown_without_a_remark_is_the_default() -> None:
    config = yaml_files.parse(TEXT, Config, "configuration.md")
    assert [key for key in untrue(config, "") if not key.startswith(EXAMPLES)] == []
