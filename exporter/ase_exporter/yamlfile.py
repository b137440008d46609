"""YAML files whose errors name file, line and key."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import TypeVar

import yaml
from pydantic import TypeAdapter, ValidationError

from ase_exporter.errors import UserError

T = TypeVar("T")

# Of models and of dataclasses.
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")


class _Loader(yaml.SafeLoader):
    """SafeLoader that refuses a key given twice: YAML would silently keep the last."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, object]:
        seen: set[object] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key!r} stands twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep)


def load(path: Path, form: type[T] | TypeAdapter[T]) -> T:
    """What the file holds, in that form; UserError with file, line and key for whatever is wrong with it."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise UserError(f"{path}: cannot be read: {reason}") from error
    return parse(text, form, str(path))


def parse(text: str, form: type[T] | TypeAdapter[T], source: str) -> T:
    """Like `load`, from text; `source` names it in errors."""
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        data = {} if root is None else loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{source}:{mark.line + 1}" if mark else source
        raise UserError(f"{where}: {error.problem or 'not valid YAML'}") from error
    except yaml.YAMLError as error:
        raise UserError(f"{source}: not valid YAML: {' '.join(str(error).split())}") from error
    finally:
        loader.dispose()
    try:
        return (form if isinstance(form, TypeAdapter) else TypeAdapter(form)).validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        message = "unknown key" if first["type"] in _UNKNOWN else first["msg"]
        raise UserError(_describe(source, root, first["loc"], message, error.error_count())) from error


def _describe(source: str, root: yaml.Node | None, loc: Sequence[int | str], message: str, count: int) -> str:
    """One line: file:line: key.path: what was expected, never the value, which may be a secret."""
    line = 1 if root is None else _line(root, loc)
    key = ".".join(str(part) for part in loc) or "(top level)"
    more = f" (and {count - 1} more)" if count > 1 else ""
    message = message.removeprefix("Value error, ").replace("\n", " ")
    return f"{source}:{line}: {key}: {message}{more}"


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
