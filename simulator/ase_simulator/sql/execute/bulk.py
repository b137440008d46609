"""INSERT BULK and WRITETEXT BULK, and the pointers by which WRITETEXT finds a text.

A pointer is the number of its row: it is valid until rows before it are deleted.
"""

from collections.abc import Iterator, Sequence

from sqlglot import exp

from ase_simulator.results import BulkTarget, Column, PointedImage, PointedText, Rows, TextTarget, Type
from ase_simulator.sql.compile.compiler import Compiled, QueryCompiler
from ase_simulator.sql.context import StatementContext
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.execute import dml
from ase_simulator.sql.execute.queries import compile_query
from ase_simulator.sql.execute.target import TargetTable
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.grammar import parse_select
from ase_simulator.sql.types.rules import LARGE
from ase_simulator.sql.types.values import from_engine, to_engine

POINTER_SIZE = 16


async def insert_bulk(session: StatementContext, statement: ast.InsertBulk) -> BulkTarget:
    """What the client must know of a table that it fills; raises SqlError."""
    database, name = dml.split_name(statement.table)
    target = TargetTable(session, database, name)
    types = dict(target.columns)
    columns = [
        Column(column, type_, column not in target.not_null and column != target.identity)
        for column, type_ in target.columns
    ]
    defaults = {}
    for column, tokens in target.defaults.items():
        source, value = await dml.evaluate(session, tokens)
        shape = from_engine(types[column])
        value = dml.fitted(source, types[column], value)
        defaults[column] = shape(value) if shape else value
    setting = session.settings.others.get("identity_insert", "").lower()
    numbered = "" if setting.endswith(" on") else target.identity
    places = [place for place, (column, _) in enumerate(target.columns) if column != numbered]

    def store(sent: Sequence[Type], rows: Sequence[Sequence[object]]) -> None:
        kept = [sent[place] for place in places]
        converters = [(place, to_engine(sent[place])) for place in places]
        values = [[convert(row[place]) for place, convert in converters] for row in rows]
        names = [target.columns[place][0] for place in places]
        session.rowcount = dml.store(session, database, name, names, kept, values)

    return BulkTarget(columns, defaults, store)


def write_text(session: StatementContext, statement: ast.WriteText) -> TextTarget:
    """Where the client's text goes; raises SqlError, from store too, 7123 if the pointer points to no row."""
    database, name = dml.split_name(statement.table)
    target = TargetTable(session, database, name)
    place = target.place(statement.column)
    type_ = target.columns[place][1]
    if type_.name not in LARGE:
        raise SqlError(7123, statement.pointer.hex(), 0, 0)
    number = int.from_bytes(statement.pointer, "big")

    def store(value: object) -> None:
        with TargetTable(session, database, name) as target:
            if not target.has(number):
                raise SqlError(7123, statement.pointer.hex(), 0, 0)
            target.update([place], [[number, to_engine(type_)(value)]])

    return TextTarget(type_, store)


def compile_pointed(session: StatementContext, tokens: ast.Tokens) -> tuple[Compiled, bool]:
    """A query, and whether a last column was added to it: the row number in a client's table that has its texts."""
    compiled = compile_query(session, tokens)
    tables = {
        column.origin[0] for column in compiled.columns if column.type.name in LARGE and column.origin[0]
    }
    if len(tables) != 1:
        return compiled, False
    tree = parse_select(tokens)
    if len(list(tree.find_all(exp.Table))) != 1 or not isinstance(tree, exp.Select):
        return compiled, False
    if compiled.into is not None or tree.args.get("distinct") or tree.args.get("group"):
        return compiled, False
    number = exp.Anonymous(this="f_row_number_of", expressions=[exp.Literal.string(*tables)])
    return QueryCompiler(session).query(tree.select(number)), True


def pointed(result: Rows) -> Rows:
    """Without the row numbers in the last column: its texts have them as pointers."""

    def rows() -> Iterator[Sequence[object]]:
        for *values, number in result.rows:
            assert isinstance(number, int)
            pointer = number.to_bytes(POINTER_SIZE, "big")
            for place in large:
                value = values[place]
                if isinstance(value, str | bytes):
                    values[place] = found = (
                        PointedText(value) if isinstance(value, str) else PointedImage(value)
                    )
                    found.pointer = pointer
            yield values

    columns = result.columns[:-1]
    large = [place for place, column in enumerate(columns) if column.type.name in LARGE]
    return Rows(columns, rows())
