"""OPEN, FETCH, CLOSE and DEALLOCATE of cursors that T-SQL declares."""

from collections.abc import Iterable

from ase_simulator.results import Result
from ase_simulator.sql.errors import SqlError
from ase_simulator.sql.execute.evaluation import Evaluation
from ase_simulator.sql.execute.queries import compile_query, result_set, run_query
from ase_simulator.sql.state.variables import DeclaredCursor
from ase_simulator.sql.syntax import statements as ast


async def run(evaluation: Evaluation, statement: ast.CursorAction) -> Iterable[Result]:
    """Runs one cursor statement; raises SqlError 553, 557, 558."""
    session = evaluation.session
    cursor = session.cursors.get(statement.name)
    if cursor is None:
        raise SqlError(557, statement.name)
    if statement.action == "open":
        compiled = compile_query(session, cursor.query)
        cursor.columns = compiled.columns
        cursor.rows = iter(list((await run_query(session, compiled, evaluation.marks)).rows))
    elif statement.action == "close":
        cursor.rows = None
    elif statement.action == "deallocate":
        del session.cursors[statement.name]
    else:
        return _fetch(evaluation, cursor, statement)
    return ()


def _fetch(evaluation: Evaluation, cursor: DeclaredCursor, statement: ast.CursorAction) -> Iterable[Result]:
    session = evaluation.session
    if cursor.rows is None:
        raise SqlError(558, statement.name)
    row = next(cursor.rows, None)
    session.sqlstatus = 2 if row is None else 0
    session.rowcount += row is not None
    if row is None:
        return []
    if not statement.targets:
        return [result_set(cursor.columns, [row], [])]
    if len(statement.targets) != len(row):
        raise SqlError(553)
    for name, value, column in zip(statement.targets, row, cursor.columns, strict=True):
        evaluation.set_variable(name, column.type, value)
    return []
