"""Parses SELECT with sqlglot, after rewriting what sqlglot would not parse as ASE does.

Every name is bracketed, every function gets the prefix `f_` (so that sqlglot normalises none of them),
variables, typed literals and types become function calls, `at isolation` is dropped.
"""

from collections.abc import Callable, Sequence

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from ase_simulator.sql.errors import NotSimulatedError, SqlError
from ase_simulator.sql.syntax import statements as ast
from ase_simulator.sql.syntax.keywords import QUERY_WORDS, RESERVED
from ase_simulator.sql.syntax.lexer import Kind, Token

PREFIX = "f_"
_HINTS = frozenset({"index", "prefetch", "parallel", "lru", "mru", "force"})
_DATE_PARTS = frozenset({"datediff", "dateadd", "datepart", "datename"})
_OPERATORS = {"!<": " >= ", "!>": " <= ", "!=": " <> "}


def check_syntax(statements: Sequence[ast.Statement]) -> None:
    """Parses every query of a batch before its first statement runs; raises SqlError 102 or 156."""
    for statement in statements:
        match statement:
            case ast.Query():
                statement.tree = parse_select(statement.tokens)
            case ast.Block():
                check_syntax(statement.body)
            case ast.If():
                check_syntax([statement.then, *([statement.otherwise] if statement.otherwise else [])])
            case ast.While():
                check_syntax([statement.body])


def parse_select(tokens: Sequence[Token]) -> exp.Expr:
    """A query's syntax tree; raises SqlError 102 or 156 at the unexpected token."""
    text, places = Respelling(tokens).run()
    try:
        tree = sqlglot.parse_one(text, read="tsql")
    except SqlglotError as problem:
        raise _where(problem, tokens, places) from None
    except RecursionError:
        raise SqlError(102, tokens[0].text, line=tokens[0].line) from None
    if not isinstance(tree, exp.Query):
        raise SqlError(102, tokens[-1].text, line=tokens[-1].line)
    return tree


def _where(problem: SqlglotError, tokens: Sequence[Token], places: Sequence[tuple[int, Token]]) -> SqlError:
    details = getattr(problem, "errors", None) or [{}]
    column = details[0].get("col")
    guilty = tokens[-1]
    if isinstance(column, int):
        for start, token in places:
            if start < column:
                guilty = token
    is_keyword = guilty.kind is Kind.WORD and guilty.text.lower() in RESERVED
    return SqlError(156 if is_keyword else 102, guilty.text, line=guilty.line)


class Respelling:
    """One pass over a query's tokens."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._out: list[str] = []
        self._length = 0
        self._places: list[tuple[int, Token]] = []

    def run(self) -> tuple[str, Sequence[tuple[int, Token]]]:
        """The text for sqlglot, and where each token went in it."""
        while self._at < len(self._tokens):
            self._token()
        return "".join(self._out), self._places

    def _token(self) -> None:
        token = self._tokens[self._at]
        if token.is_identifier and self._column_of_database():
            return
        if token.kind is Kind.WORD and self._dropped(token):
            return
        self._at += 1
        if token.kind is Kind.WORD:
            self._word(token)
        elif token.kind is Kind.NAME:
            self._emit(token, f"[{token.text}]")
        elif token.kind is Kind.STRING:
            self._string(token)
        elif token.kind is Kind.NUMBER:
            self._number(token)
        elif token.kind is Kind.BINARY:
            self._emit(token, f"{PREFIX}binary_literal('{token.text}')")
        elif token.kind is Kind.VARIABLE:
            self._emit(token, f"{PREFIX}variable('{token.text}')")
        elif token.text in ("*=", "=*"):
            raise NotSimulatedError(f"joins by {token.text}")
        else:
            self._emit(token, _OPERATORS.get(token.text, token.text))

    def _column_of_database(self) -> bool:
        """Skips the database and owner of `db.owner.table.column`, which sqlglot does not parse with `..`."""
        tokens, at = self._tokens, self._at
        if at and tokens[at - 1].is_operator("."):
            return False
        dots: list[int] = []
        while at < len(tokens):
            if tokens[at].is_operator("."):
                dots.append(at)
            elif not self._continues_name(at, dots):
                break
            at += 1
        if len(dots) < 3:
            return False
        self._at = dots[1] + 1
        return True

    def _continues_name(self, at: int, dots: Sequence[int]) -> bool:
        token = self._tokens[at]
        named = token.is_identifier or token.is_operator("*")
        return named and (at == self._at or dots[-1:] == [at - 1])

    def _emit(self, token: Token, text: str) -> None:
        self._places.append((self._length, token))
        self._out.append(text + " ")
        self._length += len(text) + 1

    def _string(self, token: Token) -> None:
        escaped = token.text.replace("'", "''")
        after_alias = bool(self._tokens[self._at - 2 : self._at - 1]) and self._tokens[self._at - 2].is_word(
            "as"
        )
        if (self._follows("=") and self._starts_item()) or after_alias or self._ends_item():
            self._emit(token, f"[{token.text}]")
        else:
            self._emit(token, f"'{escaped}'")

    def _starts_item(self) -> bool:
        """Whether the token just consumed begins an item of a select list."""
        before = self._tokens[self._at - 2] if self._at >= 2 else None
        return before is not None and (before.is_operator(",") or before.is_word("select", "distinct"))

    def _ends_item(self) -> bool:
        """Whether a string here is an alias without AS: it follows a value and ends its item."""
        before = self._tokens[self._at - 2] if self._at >= 2 else None
        if before is None or (before.kind is Kind.OPERATOR and before.text != ")"):
            return False
        if before.kind is Kind.WORD and before.text.lower() in QUERY_WORDS - {"end", "null"}:
            return False
        after = self._tokens[self._at] if self._at < len(self._tokens) else None
        return after is None or after.is_operator(",") or after.is_word("from", "into", "where", "union")

    def _number(self, token: Token) -> None:
        text = token.text
        if text.startswith("$"):
            self._emit(token, f"{PREFIX}money_literal('{text[1:]}')")
        elif text.isdigit() and len(text) < 10:
            self._emit(token, text)
        else:
            self._emit(token, f"{PREFIX}number_literal('{text}')")

    def _word(self, token: Token) -> None:
        word = token.text.lower()
        if word in ("convert", "cast") and self._follows("("):
            self._conversion(token, word)
        elif word in _DATE_PARTS and self._follows("("):
            self._date_part(token, word)
        elif word in ("left", "right") and self._follows("("):
            self._emit(token, PREFIX + word)
        elif word in QUERY_WORDS and not self._names_something():
            self._emit(token, word.upper())
        elif self._follows("(") and not self._after_bracket():
            if self._tokens[self._at + 1].is_word(*_HINTS):
                raise NotSimulatedError("hints of queries")
            self._emit(token, PREFIX + word)
        elif word == "user" and not self._follows("."):
            self._emit(token, f"{PREFIX}user_name()")
        else:
            self._emit(token, f"[{token.text}]")

    def _names_something(self) -> bool:
        """A keyword next to a dot is a name, as in `t.end`."""
        before = self._tokens[self._at - 2] if self._at >= 2 else None
        return before is not None and before.is_operator(".")

    def _after_bracket(self) -> bool:
        """`(select …) a(name)`: brackets after an alias hold names of columns."""
        before = [
            token for token in self._tokens[max(self._at - 3, 0) : self._at - 1] if not token.is_word("as")
        ]
        return bool(before) and before[-1].is_operator(")")

    def _follows(self, text: str) -> bool:
        return self._at < len(self._tokens) and self._tokens[self._at].is_operator(text)

    def _dropped(self, token: Token) -> bool:
        """Drops clauses without effect on the result: lock hints, isolation levels, plans, `for read only`."""
        word = token.text.lower()
        following = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else None
        before = self._tokens[self._at - 1] if self._at else None
        if before is not None and before.is_operator("."):
            return False
        if word in ("holdlock", "readpast"):
            raise NotSimulatedError(word.upper())
        if word in ("noholdlock", "shared"):
            self._at += 1
            return True
        if word == "at" and following and following.is_word("isolation"):
            self._at += 3
            if self._at < len(self._tokens) and self._tokens[self._at - 1].is_word("read"):
                self._at += 1
            return True
        if word == "plan" and following and following.kind is Kind.STRING:
            self._at += 2
            return True
        if word == "for" and following and following.is_word("read", "browse", "update"):
            self._at = len(self._tokens)
            return True
        if word == "compute" or (word == "for" and following and following.is_word("xml")):
            raise NotSimulatedError("COMPUTE" if word == "compute" else "FOR XML")
        return False

    def _conversion(self, token: Token, word: str) -> None:
        """`convert(type, x[, style])` and `cast(x as type)` -> f_convert('type', x[, style])."""
        end = self._closing(self._at)
        if word == "convert":
            comma = self._top_level(self._at + 1, end, lambda t: t.is_operator(","))
            type_tokens, rest = self._tokens[self._at + 1 : comma], (comma, end)
        else:
            split = self._top_level(self._at + 1, end, lambda t: t.is_word("as"))
            type_tokens, rest = self._tokens[split + 1 : end], (self._at + 1, split)
        text = _type_text(type_tokens)
        self._emit(token, f"{PREFIX}{word}('{text}'")
        if word == "cast":
            self._emit(token, ",")
        self._at = rest[0]
        while self._at < rest[1]:
            self._token()
        self._at = end + 1
        self._emit(token, ")")

    def _date_part(self, token: Token, word: str) -> None:
        part = self._tokens[self._at + 1] if self._at + 1 < len(self._tokens) else token
        if not part.is_identifier:
            raise SqlError(102, part.text)
        self._emit(token, f"{PREFIX}{word}('{part.text.lower()}'")
        self._at += 2

    def _closing(self, opening: int) -> int:
        depth = 0
        for index in range(opening, len(self._tokens)):
            depth += self._tokens[index].is_operator("(") - self._tokens[index].is_operator(")")
            if depth == 0:
                return index
        raise SqlError(102, self._tokens[-1].text)

    def _top_level(self, start: int, end: int, wanted: Callable[[Token], bool]) -> int:
        depth = 0
        for index in range(start, end):
            token = self._tokens[index]
            if depth == 0 and wanted(token):
                return index
            depth += token.is_operator("(") - token.is_operator(")")
        raise SqlError(102, self._tokens[end].text)


def _type_text(tokens: Sequence[Token]) -> str:
    words = [token.text for token in tokens if not token.is_word("null", "not")]
    return " ".join(words).replace("'", "''")
