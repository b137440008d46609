"""Evaluates the expressions of statements: values, conditions, texts, variables."""

import re
from collections.abc import Sequence

from ase_simulator.results import Type
from ase_simulator.sql.compile.compiler import Compiled
from ase_simulator.sql.context import Context
from ase_simulator.sql.execute import dml
from ase_simulator.sql.execute.queries import QueryResult, compile_query, run_query
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.lexer import Kind
from ase_simulator.sql.types.convert import convert, text_of
from ase_simulator.sql.types.values import EngineValue


class Evaluation:
    """Evaluates expressions of one batch or procedure in its session."""

    def __init__(self, session: Context) -> None:
        self.session = session

    def assign(self, compiled: Compiled, answer: QueryResult) -> None:
        """`select @v = …`: assigns the values of the last row."""
        session, count = self.session, 0
        for row in answer.rows:
            count += 1
            for name, value, column in zip(compiled.assigns, row, compiled.columns, strict=True):
                self.set_variable(name, column.type, value)
        session.rowcount, session.error = count, 0

    def set_variable(self, name: str, source: Type, value: EngineValue) -> None:
        """Sets a variable, converting the value to its type."""
        target = self.session.variable_type(name)
        if value is not None and source != target:
            value = convert(source, target, value, how="implicit")
        self.session.frame.values[name] = value

    async def value(self, tokens: ast.Tokens) -> tuple[Type, EngineValue]:
        """The type and value of one expression."""
        return await dml.evaluate(self.session, tokens)

    async def condition(self, query: ast.Query) -> bool:
        """Whether a condition holds (NULL is no)."""
        answer = await run_query(self.session, compile_query(self.session, query))
        return bool(next(answer.rows)[0])

    async def filled(self, tokens: ast.Tokens) -> list[str]:
        """Words with variables replaced by their values."""
        found = []
        for token in tokens:
            known = token.kind is Kind.VARIABLE and (
                token.text[1] == "@" or token.text in self.session.frame.values
            )
            found.append(str(self.session.variable_value(token.text)) if known else token.text)
        return found

    async def formatted(self, arguments: Sequence[ast.Tokens]) -> str:
        """A text whose %1! … %20! are the arguments that follow it."""
        texts = []
        for tokens in arguments:
            type_, value = await self.value(tokens)
            texts.append("" if value is None else text_of(type_, value))
        return re.sub(r"%(\d+)!", lambda m: texts[int(m[1])] if int(m[1]) < len(texts) else m[0], texts[0])
