"""Checks the queries of a batch before it runs."""

from collections.abc import Sequence

from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.grammar import parse_select


def check_syntax(statements: Sequence[ast.Statement]) -> None:
    """Parses every query of a batch before its first statement runs; raises SqlError 102 or 156."""
    for statement in statements:
        match statement:
            case ast.Query():
                parse_select(statement.tokens)
            case ast.Block() | ast.CreateProcedure():
                check_syntax(statement.body)
            case ast.If():
                check_syntax([statement.then, *([statement.otherwise] if statement.otherwise else [])])
            case ast.While():
                check_syntax([statement.body])
