"""What text of others becomes when it leaves: one encoder for each sink. Each makes one line of it again (see entry).

Pages are encoded by Jinja2 (views.page), metrics by metrics.exposition, answers to assistants by mcp_server.privacy,
and lines of the log by logs.
"""

import html
import re
import unicodedata
from collections.abc import Container, Sequence

from ase_exporter.untrusted.entry import one_line

# Characters that ASE's names have at most.
_MAX_NAME = 255
# What `one_line` leaves of characters that no name in SQL can hold safely.
_ESCAPED = re.compile(r"\\(?:[nrt]|x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
# Accents that stand alone or are to be combined, among them some that look like quotes.
_ACCENTS = re.compile(r"[\u02b0-\u036f]")
# An underscore within a word means nothing; `://` makes a link.
_MARKDOWN = re.compile(r"([\\`*\[\]<>|~&]|(?<![^\W_])_|_(?![^\W_])|:(?=//))")


class UnwritableNameError(ValueError):
    """A name that cannot be written in SQL safely."""


def markdown(text: str) -> str:
    """Text that Markdown shows as it is, also in a cell of a table."""
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def markdown_table(rows: Sequence[Sequence[str]], numbers: Container[int] = ()) -> str:
    """A table of which the first row is the heading, without a line end. numbers: columns that are set right."""
    rules = ["---:" if column in numbers else "---" for column in range(len(rows[0]))]
    heading, *others = ([markdown(cell) for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in (heading, rules, *others))


def grafana(text: str) -> str:
    """Text that an annotation shows as it is, without markup and links."""
    escaped = html.escape(one_line(text), quote=False)
    return escaped.replace("[", "&#91;").replace("]", "&#93;").replace("`", "&#96;")


def sql_identifier(name: str) -> str:
    """A name in T-SQL, in brackets where it needs them. Raises UnwritableNameError."""
    if is_writable(name) and name.isidentifier() and name.isascii():
        return name
    return f"[{_writable(name).replace(']', ']]')}]"


def sql_literal(text: str) -> str:
    """A string in T-SQL. Raises UnwritableNameError."""
    return "'" + _writable(text).replace("'", "''") + "'"


def is_writable(name: str) -> bool:
    """Whether a name can be written in SQL safely: `one_line` had nothing to escape in it, ASE does not cut it, and it
    stays the same name where a client with a small character set sends it.
    """
    return (
        0 < len(name) <= _MAX_NAME
        and name.isprintable()
        and not _ESCAPED.search(name)
        and not _becomes_ascii(name)
    )


def _becomes_ascii(text: str) -> bool:
    """Whether conversions by "best fit" may make ASCII of it, such as an apostrophe of U+02BC or U+FF07."""
    others = "".join(each for each in text if not each.isascii())
    signs = any(unicodedata.category(each)[0] in "PS" for each in others) or _ACCENTS.search(others)
    return bool(signs) or any(map(str.isascii, unicodedata.normalize("NFKC", others)))


def _writable(name: str) -> str:
    if not is_writable(name):
        raise UnwritableNameError(f"the name {name[:_MAX_NAME]} cannot be written in SQL safely")
    return name


def promql(text: str) -> str:
    """A string in PromQL."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
