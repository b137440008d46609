"""Parses tokens into statements; the inside of queries is left to grammar.py.

sqlglot cannot split a batch whose statements are not separated by `;`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache

from ase_simulator.sql.errors import NotSimulatedError
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.grammar import check_syntax
from ase_simulator.sql.syntax.keywords import COMMANDS, STARTERS
from ase_simulator.sql.syntax.lexer import Kind, Token, tokenize
from ase_simulator.sql.syntax.token_stream import TokenStream

_RIGHTS = frozenset(["select", "insert", "update", "delete", "exec", "execute", "create", "set", "truncate"])
# Words in statements that begin a statement elsewhere.
_OWN_WORDS = {"grant": _RIGHTS, "revoke": _RIGHTS, "alter": frozenset(["drop"])}
# Objects whose definition is the rest of the batch.
_BODIED = ("view", "trigger", "proc", "procedure", "func", "function")
_TRANSACTION = ("tran", "transaction", "work")


@lru_cache(maxsize=512)
def parse_batch(text: str, *, quoted_identifier: bool = False) -> Sequence[ast.Statement]:
    """The statements of a batch, which nobody changes; raises SqlError 102, 105 or 156."""
    statements = Parser(tokenize(text, quoted_identifier=quoted_identifier)).batch()
    check_syntax(statements)
    return statements


def parse_procedure(text: str) -> ast.Procedure:
    """One `create procedure` of the server's own."""
    return Parser(tokenize(text)).procedure()


class Parser(TokenStream):
    """Recursive descent over one batch's tokens."""

    def batch(self) -> list[ast.Statement]:
        """All statements; the first one may be a procedure call without EXEC."""
        found: list[ast.Statement] = []
        fresh = True
        while not self._done:
            if self._take_operator(";"):
                continue
            if self._batch_separator():
                fresh = True
                continue
            if (
                fresh
                and self._peek.is_identifier
                and self._peek.text.lower() not in _STATEMENTS
                and not self._peek.is_word(*STARTERS)
                and not self._operator_follows(":")
            ):
                found.append(self._execute(self._peek.line))
            else:
                found.append(self.statement())
            fresh = False
        return found

    def statement(self) -> ast.Statement:
        while self._take_operator(";"):
            pass
        if self._done:
            raise self._cut_short()
        token = self._peek
        if token.is_identifier and self._operator_follows(":"):
            self._at += 2
            return ast.NotSimulated(token.line, "GOTO")
        parse = _STATEMENTS.get(token.text.lower()) if token.kind is Kind.WORD else None
        if parse is None:
            raise self._error(token)
        self._at += 1
        start = self._at
        try:
            return parse(self, token.line)
        except NotSimulatedError as refused:
            self._at = start
            self._until_statement(allow_empty=True)
            return ast.NotSimulated(token.line, refused.what)

    def parameters(self) -> list[ast.VariableSpec]:
        return self._variables()

    def procedure(self) -> ast.Procedure:
        self._expect("create")
        self._expect("procedure")
        name = self._identifier()
        parameters = [] if self._peek.is_word("as") else self._variables()
        self._expect("as")
        body = []
        while not self._done:
            body.append(self.statement())
        return ast.Procedure(name, parameters, body)

    # -- control flow ---------------------------------------------------------------------------------

    def _if(self, line: int) -> ast.Statement:
        condition = self._condition()
        then = self.statement()
        while self._take_operator(";"):
            pass
        otherwise = self.statement() if self._take("else") else None
        return ast.If(line, condition, then, otherwise)

    def _while(self, line: int) -> ast.Statement:
        return ast.While(line, self._condition(), self.statement())

    def _condition(self) -> ast.Query:
        tokens = self._until_statement()
        line = tokens[0].line
        return ast.Query(
            line, [*spelled("select case when", line), *tokens, *spelled("then 1 else 0 end", line)]
        )

    def _begin(self, line: int) -> ast.Statement:
        if self._take(*_TRANSACTION):
            return self._named(line, 2)
        body: list[ast.Statement] = []
        while True:
            while self._take_operator(";"):
                pass
            if self._done:
                raise self._cut_short()
            if self._take("end"):
                return ast.Block(line, body)
            body.append(self.statement())

    def _return(self, line: int) -> ast.Statement:
        return ast.Return(line, self._until_statement(allow_empty=True))

    # -- variables and messages -------------------------------------------------------------------------

    def _declare(self, line: int) -> ast.Statement:
        if self._peek_or_error().is_identifier:
            while not self._done and not self._take("for"):
                self._at += 1
            self._until_statement(query=True)
            return ast.NotSimulated(line, "cursors")
        return ast.Declare(line, self._variables())

    def _variables(self) -> list[ast.VariableSpec]:
        found: list[ast.VariableSpec] = []
        while True:
            name = self._variable()
            self._take("as")
            type_ = self._type()
            default = self._default_value() if self._take_operator("=") else None
            found.append(ast.VariableSpec(name, type_, default))
            if not self._take_operator(","):
                return found

    def _default_value(self) -> ast.Tokens:
        start = self._at
        if self._peek_or_error().text in ("-", "+"):
            self._at += 1
        self._peek_or_error()
        self._at += 1
        return self._tokens[start : self._at]

    def _set(self, line: int) -> ast.Statement:
        if self._peek_or_error().kind is Kind.VARIABLE:
            return ast.SetVariables(line, self._assignments(self._variable))
        start = self._at - 1
        self._until_statement()
        return ast.Command(line, self._tokens[start : self._at])

    def _assignments(self, name: Callable[[], str], *stops: str) -> list[tuple[str, ast.Tokens]]:
        found = []
        while True:
            target = name()
            if not self._take_operator("="):
                raise self._error(self._peek_or_error())
            found.append((target, self._expression(*stops)))
            if not self._take_operator(","):
                return found

    def _print(self, line: int) -> ast.Statement:
        return ast.Print(line, self._expressions())

    def _raiserror(self, line: int) -> ast.Statement:
        number = self._peek_or_error()
        self._at += 1
        arguments: list[ast.Tokens] = []
        listed = self._take_operator(",")
        if not self._done and (listed or self._peek.kind in (Kind.STRING, Kind.VARIABLE)):
            arguments = self._expressions()
        if self._take("with"):
            self._until_statement()
        return ast.Raiserror(line, [number], arguments, listed)

    def _waitfor(self, line: int) -> ast.Statement:
        self._refuse("WAITFOR TIME", "time")
        self._expect("delay")
        value = self._peek_or_error()
        self._at += 1
        return ast.WaitFor(line, [value])

    # -- procedures -------------------------------------------------------------------------------------

    def _execute(self, line: int) -> ast.Statement:
        if not self._done and self._peek.is_operator("("):
            raise NotSimulatedError("EXECUTE of a text")
        status = ""
        if self._peek_or_error().kind is Kind.VARIABLE and self._operator_follows("="):
            status = self._variable()
            self._at += 1
        start = self._at
        if self._peek_or_error().kind is Kind.VARIABLE:
            self._at += 1
        else:
            self._qualified_name()
        name = self._tokens[start : self._at]
        arguments: list[ast.Argument] = []
        while not self._done and not self._at_statement_end():
            arguments.append(self._argument())
            if not self._take_operator(","):
                break
        if self._take("with"):
            self._expect("recompile")
        return ast.Execute(line, name, arguments, status)

    def _argument(self) -> ast.Argument:
        name = ""
        if self._peek_or_error().kind is Kind.VARIABLE and self._operator_follows("="):
            name = self._variable()
            self._at += 1
        start = self._at
        if self._take_operator("-") or self._take_operator("+"):
            pass
        token = self._peek_or_error()
        if token.kind is Kind.OPERATOR:
            raise self._error(token)
        self._at += 1
        value = self._tokens[start : self._at]
        self._refuse("OUTPUT arguments", "output", "out")
        return ast.Argument(name, value)

    # -- data -------------------------------------------------------------------------------------------

    def _select(self, line: int) -> ast.Statement:
        self._at -= 1
        return ast.Query(line, self._until_statement(query=True))

    def _insert(self, line: int) -> ast.Statement:
        self._refuse("INSERT BULK", "bulk")
        self._take("into")
        table = self._table_name()
        columns = None
        if not self._done and self._peek.is_operator("(") and not self._follows_select():
            self._at += 1
            columns = self._name_list()
        if self._take("values"):
            if not self._take_operator("("):
                raise self._error(self._peek_or_error())
            return ast.Insert(line, table, columns, [word_token("select", line), *self._inside_brackets()])
        if self._take("exec", "execute"):
            self._execute(line)
            return ast.NotSimulated(line, "INSERT … EXECUTE")
        if not self._done and (self._peek.is_word("select") or self._peek.is_operator("(")):
            return ast.Insert(line, table, columns, self._until_statement(query=True))
        raise self._error(self._peek_or_error())

    def _update(self, line: int) -> ast.Statement:
        start = self._at - 1
        self._refuse("UPDATE TOP", "top")
        if self._take("statistics", "index", "all", "partition"):
            self._until_statement(allow_empty=True)
            return ast.Command(line, self._tokens[start : self._at])
        table = self._table_name()
        self._expect("set")
        assignments = self._assignments(self._update_target, "from", "where", "plan")
        return ast.Update(line, table, assignments, self._until_statement(allow_empty=True))

    def _update_target(self) -> str:
        return self._qualified_name()[-1]

    def _delete(self, line: int) -> ast.Statement:
        self._refuse("DELETE TOP", "top")
        self._refuse("DELETE STATISTICS", "statistics")
        self._take("from")
        return ast.Delete(line, self._table_name(), self._until_statement(allow_empty=True))

    def _merge(self, line: int) -> ast.Statement:
        self._until_statement(stops=STARTERS - {"insert", "update", "delete", "set"})
        return ast.NotSimulated(line, "MERGE")

    def _truncate(self, line: int) -> ast.Statement:
        self._expect("table")
        table = self._table_name()
        self._refuse("TRUNCATE TABLE … PARTITION", "partition")
        return ast.Truncate(line, table)

    def _create(self, line: int) -> ast.Statement:
        start = self._at - 1
        if self._take("table"):
            return self._create_table(line)
        before = self._at
        if self._take("or"):
            self._take("replace")
        if self._take(*_BODIED):
            what = f"CREATE {self._tokens[self._at - 1].text.upper()}"
            while not self._done and not self._batch_separator():
                self._at += 1
            return ast.NotSimulated(line, what)
        self._at = before
        self._until_statement()
        return ast.Command(line, self._tokens[start : self._at])

    def _create_table(self, line: int) -> ast.Statement:
        table = self._table_name()
        if not self._take_operator("("):
            raise self._error(self._peek_or_error())
        columns = [self._column()]
        while self._take_operator(","):
            columns.append(self._column())
        if not self._take_operator(")"):
            raise self._error(self._peek_or_error())
        while not self._done and self._peek.is_word("lock", "on", "with"):
            self._at += 1
            while not self._done and not self._at_statement_end():
                self._at += 1
        return ast.CreateTable(line, table, columns)

    def _column(self) -> ast.ColumnSpec:
        """A column; its type, and whether it allows NULL, is all that is simulated."""
        self._refuse("constraints of tables", "constraint", "primary", "unique", "foreign", "check")
        name = self._identifier()
        self._refuse("computed columns", "as", "compute")
        type_ = self._type()
        nullable = False
        if self._take("not"):
            self._expect("null")
        else:
            nullable = self._take("null")
        if not self._done and self._peek.kind is Kind.WORD:
            raise NotSimulatedError(f"columns with {self._peek.text.upper()}")
        return ast.ColumnSpec(name, type_, nullable)

    def _drop(self, line: int) -> ast.Statement:
        kind = self._identifier()
        if kind.lower() != "table":
            raise NotSimulatedError(f"DROP {kind.upper()}")
        tables = [self._table_name()]
        while self._take_operator(","):
            tables.append(self._table_name())
        return ast.DropTable(line, tables)

    def _transaction(self, line: int) -> ast.Statement:
        return self._named(line, 1 + self._take(*_TRANSACTION))

    def _named(self, line: int, words: int) -> ast.Command:
        """That many words before this place, and the name that may follow them."""
        start = self._at - words
        self._optional_name()
        return ast.Command(line, self._tokens[start : self._at])

    def _command(self, line: int) -> ast.Statement:
        start = self._at - 1
        own = _OWN_WORDS.get(self._tokens[start].text.lower(), frozenset())
        self._until_statement(allow_empty=True, stops=STARTERS - own)
        return ast.Command(line, self._tokens[start : self._at])


def word_token(text: str, line: int) -> Token:
    return Token(Kind.WORD, text, line, 0, 0)


def spelled(text: str, line: int) -> list[Token]:
    """Generated tokens."""
    return [replace(token, line=line) for token in tokenize(text)]


def _refused(what: str) -> Callable[[Parser, int], ast.Statement]:
    def refuse(_parser: Parser, _line: int) -> ast.Statement:
        raise NotSimulatedError(what)

    return refuse


_STATEMENTS: dict[str, Callable[[Parser, int], ast.Statement]] = {
    "select": Parser._select,
    "insert": Parser._insert,
    "update": Parser._update,
    "delete": Parser._delete,
    "truncate": Parser._truncate,
    "create": Parser._create,
    "drop": Parser._drop,
    "declare": Parser._declare,
    "set": Parser._set,
    "if": Parser._if,
    "while": Parser._while,
    "begin": Parser._begin,
    "break": lambda _, line: ast.Leave(line, again=False),
    "continue": lambda _, line: ast.Leave(line, again=True),
    "return": Parser._return,
    "print": Parser._print,
    "raiserror": Parser._raiserror,
    "waitfor": Parser._waitfor,
    **dict.fromkeys(("exec", "execute"), Parser._execute),
    **dict.fromkeys(("commit", "rollback"), Parser._transaction),
    **dict.fromkeys(("alter", "dbcc", "use", *COMMANDS), Parser._command),
    **dict.fromkeys(("open", "fetch", "close", "deallocate"), _refused("cursors")),
    "goto": _refused("GOTO"),
    "lock": _refused("LOCK TABLE"),
    "merge": Parser._merge,
    "save": _refused("SAVE TRANSACTION"),
}
