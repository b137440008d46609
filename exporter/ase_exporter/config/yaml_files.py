"""Loading and validating YAML files.

Errors are one line with file, line, key and what was expected, never a value, which may be a secret.
"""

import difflib
import re
from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError
from yaml.constructor import ConstructorError

from ase_exporter.assets import load_yaml
from ase_exporter.errors import UserError, near_name
from ase_exporter.regular_files import read_text

T = TypeVar("T")
_Loc = tuple[int | str, ...]
_Problem = tuple[_Loc, str]

_ADAPTERS: dict[object, TypeAdapter[Any]] = {}

# pydantic's error types for an unknown key, of models and of dataclasses.
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")
# pydantic's own words.
_SHOULD_BE = "Input should be "
_MISSING_KEY = "this key is missing"
# In place of them.
_EXPECTED = {
    "missing": _MISSING_KEY,
    **dict.fromkeys(
        ("string_type", "path_type"),
        "expected text; put quotes around what YAML reads as something else, such as NO, on or 0123",
    ),
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "expected a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "expected a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "expected true or false"),
    **dict.fromkeys(("list_type", "tuple_type"), "expected a list"),
    **dict.fromkeys(
        ("dict_type", "mapping_type", "model_type", "dataclass_type", "invalid_key"), "expected KEY: VALUE"
    ),
}
_MAX_PROBLEMS = 5
_UNKNOWN_KEY = "unknown key"
# Bytes. The strict loader takes seconds for each MiB.
MAX_FILE = 4 << 20
_NOT_SHOWN = "(not shown)"
# Names of settings, and names that users give to logins, modules and labels.
_KEY = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}|\[key\]")
_SETTING = re.compile(r"[a-z_]{1,40}")
# Beginning of PyYAML's message -> what to tell instead.
_HINTS = {
    "found undefined alias": "a value that begins with * must be quoted",
    "could not determine a constructor for the tag '!": "a value that begins with ! must be quoted",
    "mapping values are not allowed": "KEY: VALUE is not possible here: is the indentation right, and every value"
    " quoted that has a colon and a blank in it?",
    "expected '<document start>'": "expected KEY: VALUE; is it a file of another program?",
    "found character '\\t'": "a tab where YAML expects blanks",
    "found character": "a value that begins with this character must be quoted",
}
_BARE_WORD = "expected KEY: VALUE, with a space after the colon; a value with a comma in it must be quoted"
# Parts of a message that cannot come from the file: YAML's own punctuation and the names of its tokens.
_HARMLESS = re.compile(r"'(?:[,:\]}]|<[a-z ]+>)'")


class _RejectedError(ConstructorError):
    """A message of this module."""

    def __init__(self, problem: str, node: yaml.Node) -> None:
        super().__init__(None, None, problem, node.start_mark)


class _Loader(yaml.SafeLoader):
    """SafeLoader that rejects what YAML would silently misread: duplicate keys and, in braces, bare words."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[object] = set()
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, Hashable):
                raise _RejectedError("expected a simple key", key_node)
            if key in seen:
                raise _RejectedError("this key is defined twice", key_node)
            if node.flow_style and value_node.start_mark.index == key_node.end_mark.index:
                # `{password:x}` and `{password: x,y}` each have such a word.
                raise _RejectedError(_BARE_WORD, key_node)
            seen.add(key)
        return super().construct_mapping(node, deep)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> object:
        try:
            return super().construct_object(node, deep)
        except (ValueError, LookupError, AttributeError):
            # A tag or a date that does not fit, such as !!int or 2024-13-45.
            raise _RejectedError("a value that cannot be read must be quoted", node) from None


def _adapter(form: type[T] | TypeAdapter[T]) -> TypeAdapter[T]:
    """Made once for each form: of the whole configuration it takes 20 ms."""
    if isinstance(form, TypeAdapter):
        return form
    if form not in _ADAPTERS:
        _ADAPTERS[form] = TypeAdapter(form)
    return _ADAPTERS[form]


def load(path: Path, form: type[T] | TypeAdapter[T]) -> T:
    """The validated content of a file. Raises UserError with file, line and key for whatever is wrong."""
    try:
        text = read_text(path, MAX_FILE)
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    return parse(text, form, str(path))


def load_shipped(path: Path, form: type[T] | TypeAdapter[T]) -> T:
    """The same of a file of ours, which is right: without the strict loader, that takes ten times as long."""
    adapter = _adapter(form)
    try:
        return adapter.validate_python(load_yaml(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, ValidationError):
        # The strict loader says file, line and key.
        return load(path, adapter)


def parse(text: str, form: type[T] | TypeAdapter[T], source: str) -> T:
    """The validated content of a text. Raises UserError as `load` does, with `source` as the file."""
    data, root = _read(text, source)
    if data is None or root is None:
        raise UserError(f"{source}: the file is empty; expected settings, or {{}} for none")
    try:
        return _adapter(form).validate_python(data)
    except ValidationError as error:
        raise UserError(_describe(source, root, error, _adapter(form).core_schema)) from None


def _read(text: str, source: str) -> tuple[object, yaml.Node | None]:
    """The value of a text, and its root node, which knows the lines; None for an empty text. Raises UserError."""
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise UserError(f"{source}:{line}: not valid YAML: a control character") from None
    try:
        root = loader.get_single_node()
        return (None if root is None else loader.construct_document(root)), root
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or ""
        message = problem if isinstance(error, _RejectedError) else _hint(problem)
        raise UserError(f"{source}{f':{mark.line + 1}' if mark else ''}: {message}") from None
    except yaml.YAMLError:
        raise UserError(f"{source}: not valid YAML") from None
    except RecursionError:
        raise UserError(f"{source}:1: not valid YAML: nested too deeply") from None
    finally:
        loader.dispose()


def _hint(problem: str) -> str:
    for beginning, hint in _HINTS.items():
        if problem.startswith(beginning):
            return hint
    # The rest of what is quoted, or what follows a colon of base64's message, is from the file.
    quoted = _HARMLESS.sub(lambda found: "\0" * len(found[0]), problem)
    end = min((at for mark in ("'", '"', ": ") if (at := quoted.find(mark)) >= 0), default=len(problem))
    return problem[:end].strip().removesuffix("but found").rstrip(" ,") or "not valid YAML"


def _describe(source: str, root: yaml.Node | None, error: ValidationError, schema: object) -> str:
    """One line, `file:line: key.path: what was expected`. Never the value, which may be a secret."""
    problems = [
        (each["loc"], expectation(each))
        for each in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    problems = _without_consequences(problems, set(_names(schema)))
    lines = [
        f"{source}:{1 if root is None else _line(root, loc)}: {_key(loc, message)}: {message}"
        for loc, message in problems
    ]
    more = f"; and {len(lines) - _MAX_PROBLEMS} more" if len(lines) > _MAX_PROBLEMS else ""
    return "; also ".join(lines[:_MAX_PROBLEMS]) + more


def _names(schema: Any) -> Iterator[str]:
    """All keys that the schema of pydantic has somewhere."""
    if isinstance(schema, dict):
        if schema.get("type") == "dataclass-args":
            yield from (each["name"] for each in schema["fields"])
        elif schema.get("type") == "model-fields":
            yield from schema["fields"]
        schema = schema.values()
    elif not isinstance(schema, list | tuple):
        return
    for part in schema:
        yield from _names(part)


def _without_consequences(problems: Sequence[_Problem], known: Collection[str]) -> list[_Problem]:
    """Unknown keys first, with the key that each was meant to be; then everything else.

    A misspelt key is reported twice, as unknown and as missing under its right name; the latter is left out.
    """
    missing = {loc: loc[-1] for loc, message in problems if message == _MISSING_KEY}
    found: list[_Problem] = []
    for loc, message in problems:
        if message == _UNKNOWN_KEY and (meant := _meant(loc, missing)):
            del missing[meant]
            found.append((loc, f"{_UNKNOWN_KEY}; expected {meant[-1]}"))
        elif message == _UNKNOWN_KEY:
            # Not of what may be a secret.
            near = near_name(name, known) if _SETTING.fullmatch(name := str(loc[-1])) else ""
            found.append((loc, f"{_UNKNOWN_KEY}; {near.rstrip() or 'expected no such key here'}"))
        elif message != _MISSING_KEY:
            found.append((loc, message))
    found += [(loc, _MISSING_KEY) for loc in missing]
    return sorted(found, key=lambda problem: not problem[1].startswith(_UNKNOWN_KEY))


def _meant(loc: _Loc, missing: Mapping[_Loc, object]) -> _Loc | None:
    """The missing key beside an unknown one that is spelt alike."""
    beside = {str(other[-1]): other for other in missing if other[:-1] == loc[:-1]}
    alike = difflib.get_close_matches(str(loc[-1]), beside, 1)
    return beside[alike[0]] if alike else None


def _key(loc: _Loc, message: str) -> str:
    """The path to a key, without what may be a secret."""
    # Not a part that may be a password in the place of a key.
    shown = [str(part) if isinstance(part, int) or _KEY.fullmatch(part) else _NOT_SHOWN for part in loc]
    if message.startswith(_UNKNOWN_KEY) and not _SETTING.fullmatch(shown[-1]):
        shown[-1] = _NOT_SHOWN
    return ".".join(shown) or "(top level)"


def expectation(error: Mapping[str, Any]) -> str:
    """What was expected, of one of pydantic's errors. Never the value, which may be a secret."""
    if error["type"] in _UNKNOWN:
        return _UNKNOWN_KEY
    if known := _EXPECTED.get(error["type"]):
        return known
    text = str(error["msg"]).removeprefix("Value error, ").replace("\n", " ")
    comparison = "a number " if error["type"].startswith(("greater_than", "less_than")) else ""
    return re.sub(
        "^[A-Z][a-z]+ should have ", "expected ", text.replace(_SHOULD_BE, f"expected {comparison}")
    )


def _line(node: yaml.Node, loc: Sequence[int | str]) -> int:
    line = node.start_mark.line + 1
    for part in loc:
        if isinstance(node, yaml.MappingNode):
            for key_node, value_node in node.value:
                if key_node.value == str(part):
                    line, node = key_node.start_mark.line + 1, value_node
                    break
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            node = node.value[part]
            line = node.start_mark.line + 1
    return line
