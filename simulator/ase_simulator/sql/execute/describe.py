"""Parameter types and columns of a prepared statement, inferred without running it."""

from collections.abc import Iterator, Sequence
from typing import Any

from ase_simulator.contracts import Description
from ase_simulator.results import Column, Message, Type
from ase_simulator.sql.context import Context
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.execute import calls, dml
from ase_simulator.sql.execute.queries import compile_query
from ase_simulator.sql.execute.target import client_table, place_of
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.lexer import Kind, Token
from ase_simulator.sql.syntax.parser import parse_batch

_UNKNOWN = Type("varchar", 255)


def describe(session: Context, sql: str) -> Description | Message:
    """The types of a statement's `?` marks and the columns of its rows, or ASE's error.

    A mark has the type of the column or parameter it is compared with or assigned to, else varchar(255).
    """
    session.mark_types = ()
    try:
        statements = parse_batch(sql, quoted_identifier=session.settings.quoted_identifier)
        count = sum(token.kind is Kind.MARK for token in _tokens_of(statements))
        marks: dict[int, Type] = {}
        columns: Sequence[Column] | None = None
        for statement in statements:
            try:
                found = _columns(session, statement, marks)
            except SqlError:
                # A statement may need what an earlier one creates; its error, if any, is reported when it runs.
                if len(statements) == 1:
                    raise
                found = None
            columns = columns or found
    except SqlError as error:
        return error.message
    return Description([marks.get(number, _UNKNOWN) for number in range(count)], columns)


def _columns(session: Context, statement: ast.Statement, marks: dict[int, Type]) -> Sequence[Column] | None:
    """Adds the types of a statement's marks; returns its columns if they are known."""
    match statement:
        case ast.Query():
            compiled = compile_query(session, statement.tokens)
            marks |= compiled.marks
            return None if compiled.into is not None or compiled.assigns else compiled.columns
        case ast.Insert():
            _inserted(session, statement, marks)
        case ast.Update():
            table = client_table(session, *dml.split_name(statement.table))
            for column, tokens in statement.assignments:
                _alone(tokens, table.columns[place_of(table, column)][1], marks)
            marks |= _tail_marks(session, statement.table, statement.tail)
        case ast.Delete():
            marks |= _tail_marks(session, statement.table, statement.tail)
        case ast.Execute() if statement.text is None:
            _passed(session, statement, marks)
    return None


def _inserted(session: Context, statement: ast.Insert, marks: dict[int, Type]) -> None:
    table = client_table(session, *dml.split_name(statement.table))
    columns = statement.columns or [name for name, _ in table.columns if name != table.identity]
    types = [table.columns[place_of(table, column)][1] for column in columns]
    values = (item for item in _items(statement.values or ()))
    for type_, tokens in zip(types, values, strict=False):
        _alone(tokens, type_, marks)
    if statement.query is not None:
        marks |= compile_query(session, statement.query).marks


def _passed(session: Context, statement: ast.Execute, marks: dict[int, Type]) -> None:
    found = calls.find(session, "".join(token.text for token in statement.name))
    by_name = {spec.name: spec.type for spec in found.parameters}
    for place, argument in enumerate(statement.arguments):
        type_ = by_name.get(argument.name)
        if type_ is None and place < len(found.parameters):
            type_ = found.parameters[place].type
        if type_ is not None:
            _alone(argument.value, type_, marks)


def _tail_marks(session: Context, table: ast.Tokens, tail: ast.Tokens) -> dict[int, Type]:
    line = table[0].line
    start = [] if tail and tail[0].is_word("from") else [dml.word_token("from", line), *table]
    one = Token(Kind.NUMBER, "1", line, 0, 0)
    return dict(compile_query(session, [dml.word_token("select", line), one, *start, *tail]).marks)


def _alone(tokens: ast.Tokens, type_: Type, marks: dict[int, Type]) -> None:
    """A mark that is a whole value has the type of its target."""
    if len(tokens) == 1 and tokens[0].kind is Kind.MARK:
        marks[int(tokens[0].text)] = type_


def _items(tokens: ast.Tokens) -> Iterator[list[Token]]:
    """The tokens of each value of a VALUES list."""
    item: list[Token] = []
    depth = 0
    for token in tokens:
        depth += token.is_operator("(") - token.is_operator(")")
        if token.is_operator(",") and depth == 0:
            yield item
            item = []
        else:
            item.append(token)
    yield item


def _tokens_of(value: Any) -> list[Token]:
    if isinstance(value, Token):
        return [value]
    if isinstance(value, list | tuple):
        return [token for item in value for token in _tokens_of(item)]
    if isinstance(value, ast.Statement | ast.Argument):
        return [token for name in value.__dataclass_fields__ for token in _tokens_of(getattr(value, name))]
    return []
