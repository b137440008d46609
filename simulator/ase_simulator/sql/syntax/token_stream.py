"""A cursor over a batch's tokens that finds the ends of statements and expressions."""

from collections.abc import Sequence

from ase_simulator.results import Type
from ase_simulator.schema.types import parse_type
from ase_simulator.sql.errors import NotSimulatedError, SqlError
from ase_simulator.sql.syntax.keywords import RESERVED, STARTERS
from ase_simulator.sql.syntax.lexer import Kind, Token

Tokens = Sequence[Token]

_SECOND_WORDS = {
    "unsigned": ("tinyint", "smallint", "int", "integer", "bigint"),
    "double": ("precision",),
    "national": ("char", "character", "varchar"),
    **dict.fromkeys(("char", "character"), ("varying",)),
}


class TokenStream:
    """Base of the parser: peeks, consumes, reports syntax errors."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self._tokens = tokens
        self._at = 0

    @property
    def _done(self) -> bool:
        return self._at >= len(self._tokens)

    @property
    def _peek(self) -> Token:
        return self._tokens[self._at]

    def _peek_or_error(self) -> Token:
        if self._done:
            raise self._cut_short()
        return self._peek

    def _cut_short(self) -> SqlError:
        """The syntax error of a batch that ends too early."""
        last = self._tokens[-1] if self._tokens else None
        return SqlError(102, last.text, line=last.line) if last else SqlError(102, "")

    def _error(self, token: Token) -> SqlError:
        number = 156 if token.kind is Kind.WORD and token.text.lower() in RESERVED else 102
        return SqlError(number, token.text, line=token.line)

    def _take(self, *words: str) -> bool:
        if not self._done and self._peek.is_word(*words):
            self._at += 1
            return True
        return False

    def _take_operator(self, text: str) -> bool:
        if not self._done and self._peek.is_operator(text):
            self._at += 1
            return True
        return False

    def _expect(self, word: str) -> None:
        if not self._take(word):
            raise self._error(self._peek_or_error())

    def _refuse(self, what: str, *words: str) -> None:
        """Raises NotSimulatedError where one of these words is next."""
        if not self._done and self._peek.is_word(*words):
            raise NotSimulatedError(what)

    def _identifier(self) -> str:
        token = self._peek_or_error()
        if not token.is_identifier and token.kind is not Kind.STRING:
            raise self._error(token)
        self._at += 1
        return token.text

    def _variable(self) -> str:
        token = self._peek_or_error()
        if token.kind is not Kind.VARIABLE:
            raise self._error(token)
        self._at += 1
        return token.text

    def _optional_name(self) -> str:
        """A name, or '' where the next token is none."""
        if self._done or not self._peek.is_identifier or self._peek.is_word(*RESERVED):
            return ""
        self._at += 1
        return self._tokens[self._at - 1].text

    def _qualified_name(self) -> list[str]:
        parts = [self._identifier()]
        while self._take_operator("."):
            if self._take_operator("."):
                parts.append("")
            parts.append(self._identifier())
        return parts

    def _table_name(self) -> Tokens:
        start = self._at
        self._qualified_name()
        return self._tokens[start : self._at]

    def _name_list(self) -> list[str]:
        names = [self._identifier()]
        while self._take_operator(","):
            names.append(self._identifier())
        if not self._take_operator(")"):
            raise self._error(self._peek_or_error())
        return names

    def _type(self) -> Type:
        words = [self._identifier()]
        after = _SECOND_WORDS.get(words[0].lower(), ())
        if not self._done and self._peek.text.lower() in after:
            words.append(self._identifier())
        text = " ".join(words)
        if self._take_operator("("):
            text += "(" + "".join(token.text for token in self._inside_brackets()) + ")"
        type_ = parse_type(text)
        if type_ is None:
            raise SqlError(2715, " ".join(words))
        return type_

    def _inside_brackets(self) -> Tokens:
        """The tokens up to the bracket that closes the one just consumed."""
        start, depth = self._at, 1
        while not self._done:
            token = self._peek
            self._at += 1
            depth += token.is_operator("(") - token.is_operator(")")
            if depth == 0:
                return self._tokens[start : self._at - 1]
        raise self._cut_short()

    def _follows_select(self) -> bool:
        return self._at + 1 < len(self._tokens) and self._tokens[self._at + 1].is_word("select")

    def _operator_follows(self, text: str) -> bool:
        return self._at + 1 < len(self._tokens) and self._tokens[self._at + 1].is_operator(text)

    def _batch_separator(self) -> bool:
        """`go` alone on its line, perhaps with a count."""
        if not self._peek.is_word("go"):
            return False
        line = self._peek.line
        if self._at and self._tokens[self._at - 1].line == line:
            return False
        self._at += 1
        if not self._done and self._peek.line == line and self._peek.kind is Kind.NUMBER:
            self._at += 1
        return True

    def _expressions(self) -> list[Tokens]:
        found = [self._expression()]
        while self._take_operator(","):
            found.append(self._expression())
        return found

    def _expression(self, *stops: str) -> Tokens:
        return self._until_statement(stops=STARTERS.union(stops, ("with",)), comma=True)

    def _at_statement_end(self) -> bool:
        token = self._peek
        return (
            token.is_operator(";")
            or (token.kind is Kind.WORD and token.text.lower() in STARTERS)
            or token.is_word("with")
            or (token.is_word("go") and self._go_ahead())
        )

    def _go_ahead(self) -> bool:
        at = self._at
        found = self._batch_separator()
        self._at = at
        return found

    def _until_statement(
        self,
        *,
        allow_empty: bool = False,
        stops: frozenset[str] = STARTERS,
        comma: bool = False,
        query: bool = False,
    ) -> Tokens:
        """Tokens up to the next statement at bracket depth 0: knows CASE … END and UNION SELECT."""
        start, depth, cases = self._at, 0, 0
        while not self._done:
            token = self._peek
            word = token.text.lower() if token.kind is Kind.WORD else ""
            if depth == 0:
                if (
                    token.is_operator(";")
                    or token.is_operator(")")
                    or (comma and not cases and token.is_operator(","))
                ):
                    break
                if word == "go" and self._go_ahead():
                    break
                if token.is_identifier and self._operator_follows(":") and self._at > start and not cases:
                    break
                if word in stops and not (cases and word in ("end", "else")):
                    continues = word == "select" and (query if self._at == start else self._after_union())
                    if not continues and not (word == "update" and self._tokens[self._at - 1].is_word("for")):
                        break
            if word == "case":
                cases += 1
            elif word == "end" and cases:
                cases -= 1
            depth += token.is_operator("(") - token.is_operator(")")
            self._at += 1
        if self._at == start and not allow_empty:
            raise self._error(self._peek_or_error())
        return self._tokens[start : self._at]

    def _after_union(self) -> bool:
        return self._tokens[self._at - 1].is_word("union", "all", "except", "intersect")
