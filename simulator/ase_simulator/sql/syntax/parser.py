"""Parses tokens into statements; the inside of queries is left to grammar.py.

sqlglot cannot split a batch whose statements are not separated by `;`.
"""

from collections.abc import Callable

from ase_simulator.results import Type
from ase_simulator.sql.errors import NotSimulatedError, SqlError
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.keywords import COMMANDS, STARTERS
from ase_simulator.sql.syntax.lexer import Kind, tokenize
from ase_simulator.sql.syntax.token_stream import TokenStream

_RIGHTS = frozenset(["select", "insert", "update", "delete", "exec", "execute", "create", "set", "truncate"])
# Words in statements that begin a statement elsewhere.
_OWN_WORDS = {"grant": _RIGHTS, "revoke": _RIGHTS, "alter": frozenset(["drop"])}
# objects whose definition is the rest of the batch
_BODIED = ("view", "trigger")
_TRANSACTION = ("tran", "transaction", "work")


def parse_batch(text: str, *, quoted_identifier: bool = False) -> list[ast.Statement]:
    """The statements of a batch; raises SqlError 102, 105 or 156."""
    return Parser(tokenize(text, quoted_identifier=quoted_identifier), text).batch()


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
                and not self._is_label()
            ):
                found.append(self._execute(self._peek.line))
            else:
                found.append(self.statement())
            fresh = False
        return found

    def statement(self) -> ast.Statement:
        """One statement."""
        while self._take_operator(";"):
            pass
        if self._done:
            raise self._cut_short()
        token = self._peek
        if self._is_label():
            self._at += 2
            return ast.Label(token.line, token.text)
        parse = _STATEMENTS.get(token.text.lower()) if token.kind is Kind.WORD else None
        if parse is None:
            raise self._error(token)
        self._at += 1
        return parse(self, token.line)

    def parameters(self) -> list[ast.VariableSpec]:
        """The parameters of a procedure, as its CREATE statement lists them."""
        return self._variables()

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

    def _begin(self, line: int) -> ast.Statement:
        if self._take(*_TRANSACTION):
            return ast.Transaction(line, "begin", self._optional_name())
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

    def _goto(self, line: int) -> ast.Statement:
        return ast.Goto(line, self._identifier())

    # -- variables and messages -------------------------------------------------------------------------

    def _declare(self, line: int) -> ast.Statement:
        if self._peek_or_error().is_identifier:
            name = self._identifier()
            for word in ("insensitive", "semi_sensitive", "scroll"):
                self._take(word)
            self._expect("cursor")
            self._expect("for")
            return ast.DeclareCursor(line, name, self._until_statement(query=True))
        return ast.Declare(line, self._variables())

    def _variables(self) -> list[ast.VariableSpec]:
        found: list[ast.VariableSpec] = []
        while True:
            name = self._variable()
            self._take("as")
            type_ = self._type()
            default = self._default_value() if self._take_operator("=") else None
            output = self._take("output", "out")
            found.append(ast.VariableSpec(name, type_, default, output))
            if not self._take_operator(","):
                return found

    def _default_value(self) -> ast.Tokens:
        start = self._at
        if self._peek_or_error().text in ("-", "+"):
            self._at += 1
        if not self._peek_or_error().is_operator("("):
            self._at += 1
        if self._tokens[self._at - 1].is_word("n") and not self._done and self._peek.kind is Kind.STRING:
            start, self._at = self._at, self._at + 1
        if self._take_operator("("):
            self._inside_brackets()
        return self._tokens[start : self._at]

    def _set(self, line: int) -> ast.Statement:
        if self._peek_or_error().kind is Kind.VARIABLE:
            return ast.SetVariables(line, self._assignments(self._variable))
        return ast.SetOption(line, self._until_statement())

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
        kind = self._identifier().lower()
        if kind not in ("delay", "time"):
            raise SqlError(102, kind)
        value = self._peek_or_error()
        self._at += 1
        return ast.WaitFor(line, kind, [value])

    def _cursor(self, line: int) -> ast.Statement:
        action = self._tokens[self._at - 1].text.lower()
        if action == "deallocate":
            self._take("cursor")
        if action == "fetch" and self._take("next", "prior", "first", "last"):
            self._take("from")
        name = self._identifier()
        targets = []
        if self._take("into"):
            targets.append(self._variable())
            while self._take_operator(","):
                targets.append(self._variable())
        return ast.CursorAction(line, action, name, targets)

    # -- procedures -------------------------------------------------------------------------------------

    def _execute(self, line: int) -> ast.Statement:
        if self._take_operator("("):
            return ast.Execute(line, [], text=self._inside_brackets())
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
        if self._done:
            raise self._cut_short()
        token = self._peek
        if token.kind is Kind.OPERATOR:
            raise self._error(token)
        self._at += 1
        value = self._tokens[start : self._at]
        return ast.Argument(name, value, self._take("output", "out"))

    # -- data -------------------------------------------------------------------------------------------

    def _select(self, line: int) -> ast.Statement:
        self._at -= 1
        return ast.Query(line, self._until_statement(query=True))

    def _insert(self, line: int) -> ast.Statement:
        if self._take("bulk"):
            self._until_statement()
            return ast.Command(line, self._tokens[self._at - 2 : self._at])
        self._take("into")
        table = self._table_name()
        columns = None
        if not self._done and self._peek.is_operator("(") and not self._follows_select():
            self._at += 1
            columns = self._name_list()
        if self._take("values"):
            if not self._take_operator("("):
                raise self._error(self._peek_or_error())
            return ast.Insert(line, table, columns, values=self._inside_brackets())
        if self._take("exec", "execute"):
            call = self._execute(line)
            assert isinstance(call, ast.Execute)
            return ast.Insert(line, table, columns, execute=call)
        if not self._done and (self._peek.is_word("select") or self._peek.is_operator("(")):
            return ast.Insert(line, table, columns, query=self._until_statement(query=True))
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
        if self._peek_or_error().kind is Kind.VARIABLE:
            return self._variable()
        return self._qualified_name()[-1]

    def _delete(self, line: int) -> ast.Statement:
        self._refuse("DELETE TOP", "top")
        self._refuse("DELETE STATISTICS", "statistics")
        self._take("from")
        return ast.Delete(line, self._table_name(), self._until_statement(allow_empty=True))

    def _merge(self, line: int) -> ast.Statement:
        raise NotSimulatedError("MERGE")

    def _truncate(self, line: int) -> ast.Statement:
        self._expect("table")
        table = self._table_name()
        self._refuse("TRUNCATE TABLE … PARTITION", "partition")
        return ast.Truncate(line, table)

    def _lock(self, line: int) -> ast.Statement:
        self._expect("table")
        table = self._table_name()
        self._expect("in")
        share = self._take("share")
        if not share:
            self._expect("exclusive")
        self._expect("mode")
        self._refuse("LOCK TABLE … WAIT", "wait", "nowait")
        return ast.LockTable(line, table, share)

    def _create(self, line: int) -> ast.Statement:
        start = self._at - 1
        if self._take("table"):
            return self._create_table(line)
        replace = self._take("or")
        if replace:
            self._expect("replace")
        if self._take("proc", "procedure", "func", "function"):
            return self._create_procedure(line, self._tokens[start].start, replace=bool(replace))
        if self._take(*_BODIED):
            words = self._tokens[start : self._at]
            while not self._done and not self._batch_separator():
                self._at += 1
            return ast.Command(line, words)
        before = self._at
        unique = self._take("unique")
        clustered = self._take("clustered")
        self._take("nonclustered")
        if self._take("index"):
            name = self._identifier()
            self._expect("on")
            table = self._table_name()
            columns = self._key()
            for token in self._until_statement(allow_empty=True):
                if token.is_word("ignore_dup_key", "ignore_dup_row"):
                    raise NotSimulatedError(token.text.lower())
            return ast.CreateIndex(
                line, table, ast.Constraint(name, columns, unique=unique, clustered=clustered)
            )
        self._at = before
        self._until_statement()
        return ast.Command(line, self._tokens[start : self._at])

    def _create_table(self, line: int) -> ast.Statement:
        table = self._table_name()
        if not self._take_operator("("):
            raise self._error(self._peek_or_error())
        columns, constraints = self._definitions(table[-1].text)
        if not self._take_operator(")"):
            raise self._error(self._peek_or_error())
        while not self._done and self._peek.is_word("lock", "on", "with", "partition"):
            self._at += 1
            self._skip_clause()
        return ast.CreateTable(line, table, columns, constraints)

    def _column(self, table: str, constraints: list[ast.Constraint]) -> ast.ColumnSpec:
        name = self._identifier()
        self._refuse("computed columns", "as", "compute")
        spec = ast.ColumnSpec(name, self._type(), False)
        while not self._done and self._peek.text not in (",", ")") and not self._at_statement_end():
            if self._take("not"):
                if not self._take("compressed"):
                    self._expect("null")
            elif self._take("null"):
                spec.nullable = True
            elif self._take("identity"):
                spec.identity = True
            elif self._take("default"):
                spec.default = self._default_value()
            elif self._peek.is_word("constraint", "primary", "unique", "check", "references"):
                constraints += self._constraint(table, spec.name)
            elif self._take("off", "in", "compressed", "compress"):
                self._take("row")
                if self._take_operator("("):
                    self._inside_brackets()
            else:
                self._refuse("encrypted columns", "encrypt")
                raise self._error(self._peek)
        return spec

    def _constraint(self, table: str, column: str = "") -> list[ast.Constraint]:
        """One constraint of a table or of a column."""
        name = self._identifier() if self._take("constraint") else f"{table}_{column or 'key'}_1"
        if self._take("check"):
            self._take_operator("(")
            return [ast.Constraint(name, check=self._inside_brackets())]
        if self._peek_or_error().is_word("primary", "unique"):
            primary = self._take("primary")
            clustered = primary
            while not self._done and self._peek.is_word("key", "clustered", "nonclustered", "unique"):
                clustered = self._peek.is_word("clustered") or (clustered and self._peek.is_word("key"))
                self._at += 1
            columns = [column] if column else self._key()
            if self._take("with"):
                self._space_options()
            return [ast.Constraint(name, columns, primary=primary, clustered=clustered)]
        columns = [column]
        if self._take("foreign"):
            self._expect("key")
            columns = self._key()
        self._expect("references")
        parent = self._qualified_name()[-1]
        referenced = self._key() if not self._done and self._peek.is_operator("(") else []
        while self._take("match", "full"):
            pass
        return [ast.Constraint(name, columns, unique=False, references=parent, referenced=referenced)]

    def _alter(self, line: int) -> ast.Statement:
        start = self._at - 1
        if not self._take("table"):
            self._at = start + 1
            return self._command(line)
        made = ast.AlterTable(line, self._table_name())
        name = made.table[-1].text
        if self._take("add"):
            made.added, made.constraints = self._definitions(name)
        elif self._take("modify"):
            made.modified = self._modified()
        elif self._take("replace"):
            column = self._identifier()
            self._expect("default")
            value = [] if self._take("null") else self._default_value()
            made.defaults = [(column, value)]
        elif self._take("drop"):
            constraint = self._take("constraint")
            names = [self._identifier()]
            while self._take_operator(","):
                names.append(self._identifier())
            made.dropped, made.dropped_constraints = ((), names) if constraint else (names, ())
        else:
            self._at = start + 1
            return self._command(line)
        return made

    def _modified(self) -> list[tuple[str, Type | None, bool | None]]:
        found = []
        while True:
            name = self._identifier()
            type_ = None if self._peek_or_error().is_word("null", "not") else self._type()
            nullable = None
            if self._take("not"):
                self._expect("null")
                nullable = False
            elif self._take("null"):
                nullable = True
            found.append((name, type_, nullable))
            if not self._take_operator(","):
                return found

    def _definitions(self, table: str) -> tuple[list[ast.ColumnSpec], list[ast.Constraint]]:
        """Columns and constraints with commas between them."""
        columns: list[ast.ColumnSpec] = []
        constraints: list[ast.Constraint] = []
        while True:
            if self._peek_or_error().is_word("constraint", "primary", "unique", "foreign", "check"):
                constraints += self._constraint(table)
            else:
                columns.append(self._column(table, constraints))
            if not self._take_operator(","):
                return columns, constraints
            if not self._done and self._peek.is_operator(")"):
                return columns, constraints

    def _space_options(self) -> None:
        """`name = number, …` after WITH."""
        self._at += 3
        while self._at + 2 < len(self._tokens) and self._tokens[self._at + 2].is_operator("="):
            self._at += 4

    def _key(self) -> list[str]:
        """The columns of a key in brackets, with or without their order."""
        if not self._take_operator("("):
            raise self._error(self._peek_or_error())
        tokens = self._inside_brackets()
        if any(token.is_operator("(") for token in tokens):
            raise NotSimulatedError("indexes on functions")
        return [
            token.text for token in tokens if not token.is_operator(",") and not token.is_word("asc", "desc")
        ]

    def _skip_clause(self) -> None:
        while not self._done and not self._at_statement_end():
            self._at += 1

    def _create_procedure(self, line: int, start: int, *, replace: bool) -> ast.Statement:
        is_function = self._tokens[self._at - 1].is_word("func", "function")
        name = self._qualified_name()[-1]
        bracket = self._take_operator("(")
        parameters = []
        if not self._done and self._peek.kind is Kind.VARIABLE:
            parameters = self._variables()
        if bracket and not self._take_operator(")"):
            raise self._error(self._peek_or_error())
        returns = None
        if is_function:
            self._expect("returns")
            returns = self._type()
        if self._take("with") and not self._take("recompile"):
            self._execution_owner()
        self._expect("as")
        body: list[ast.Statement] = []
        while not self._done and not self._batch_separator():
            if not self._take_operator(";"):
                body.append(self.statement())
        end = self._tokens[self._at - 1].end
        return ast.CreateProcedure(line, name, parameters, body, self._text[start:end], replace, returns)

    def _execution_owner(self) -> None:
        """`with execute as owner` or `caller`."""
        if not self._take("exec", "execute"):
            raise self._error(self._peek_or_error())
        self._expect("as")
        self._identifier()

    def _drop(self, line: int) -> ast.Statement:
        kind = self._identifier().lower()
        names = [self._table_name()]
        while self._take_operator(","):
            names.append(self._table_name())
        return ast.Drop(line, {"proc": "procedure", "func": "function"}.get(kind, kind), names)

    def _use(self, line: int) -> ast.Statement:
        return ast.Use(line, self._identifier())

    def _transaction(self, line: int) -> ast.Statement:
        action = self._tokens[self._at - 1].text.lower()
        name = self._optional_name() if self._take(*_TRANSACTION) or action == "save" else ""
        return ast.Transaction(line, action, name)

    def _dbcc(self, line: int) -> ast.Statement:
        command = self._identifier().lower()
        arguments: list[str] = []
        if self._take_operator("("):
            arguments = [token.text for token in self._inside_brackets() if not token.is_operator(",")]
        return ast.Dbcc(line, command, arguments)

    def _command(self, line: int) -> ast.Statement:
        start = self._at - 1
        own = _OWN_WORDS.get(self._tokens[start].text.lower(), frozenset())
        self._until_statement(allow_empty=True, stops=STARTERS - own)
        return ast.Command(line, self._tokens[start : self._at])


_STATEMENTS: dict[str, Callable[[Parser, int], ast.Statement]] = {
    "select": Parser._select,
    "insert": Parser._insert,
    "update": Parser._update,
    "delete": Parser._delete,
    "merge": Parser._merge,
    "truncate": Parser._truncate,
    "lock": Parser._lock,
    "create": Parser._create,
    "alter": Parser._alter,
    "drop": Parser._drop,
    "declare": Parser._declare,
    "set": Parser._set,
    "if": Parser._if,
    "while": Parser._while,
    "begin": Parser._begin,
    "break": lambda _, line: ast.Leave(line, again=False),
    "continue": lambda _, line: ast.Leave(line, again=True),
    "return": Parser._return,
    "goto": Parser._goto,
    "print": Parser._print,
    "raiserror": Parser._raiserror,
    "waitfor": Parser._waitfor,
    "use": Parser._use,
    "dbcc": Parser._dbcc,
    **dict.fromkeys(("exec", "execute"), Parser._execute),
    **dict.fromkeys(("commit", "rollback", "save"), Parser._transaction),
    **dict.fromkeys(("open", "fetch", "close", "deallocate"), Parser._cursor),
    **dict.fromkeys(COMMANDS, Parser._command),
}
