"""YAML into plain values. Errors give a line and what was expected, never a value, which may be a secret."""

import re
from collections.abc import Hashable

import yaml
from yaml.constructor import ConstructorError

# Beginning of PyYAML's message -> what to tell instead.
_HINTS = {
    "found undefined alias": "a value that begins with * must be quoted",
    "could not determine a constructor for the tag '!": "a value that begins with ! must be quoted",
    "mapping values are not allowed": "KEY: VALUE is not possible here: is the indentation right, and every value"
    " quoted that has a colon and a blank in it?",
    "found character '\\t'": "a tab where YAML expects blanks",
    "found character": "a value that begins with this character must be quoted",
}
_BARE_WORD = "expected KEY: VALUE, with a space after the colon; a value with a comma in it must be quoted"
# Parts of a message that cannot come from the file: YAML's own punctuation and the names of its tokens.
_HARMLESS = re.compile(r"'(?:[,:\]}]|<[a-z ]+>)'")


class YamlError(Exception):
    """Text that is not valid YAML. line: counted from 1, None if unknown."""

    def __init__(self, message: str, line: int | None) -> None:
        super().__init__(message)
        self.line = line


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


def read(text: str) -> tuple[object, yaml.Node | None]:
    """The value of a text, and its root node, which knows the lines; None for an empty text. Raises YamlError."""
    try:
        loader = _Loader(text)
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise YamlError("not valid YAML: a control character", line) from None
    try:
        root = loader.get_single_node()
        return (None if root is None else loader.construct_document(root)), root
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = error.problem or ""
        message = problem if isinstance(error, _RejectedError) else _message(problem)
        raise YamlError(message, mark.line + 1 if mark else None) from None
    except yaml.YAMLError:
        raise YamlError("not valid YAML", None) from None
    except RecursionError:
        raise YamlError("not valid YAML: nested too deeply", 1) from None
    finally:
        loader.dispose()


def _message(problem: str) -> str:
    for beginning, hint in _HINTS.items():
        if problem.startswith(beginning):
            return hint
    # The rest of what is quoted, or what follows a colon of base64's message, is from the file.
    quoted = _HARMLESS.sub(lambda found: "\0" * len(found[0]), problem)
    end = min((at for mark in ("'", '"', ": ") if (at := quoted.find(mark)) >= 0), default=len(problem))
    return problem[:end].strip().removesuffix("but found").rstrip(" ,") or "not valid YAML"
