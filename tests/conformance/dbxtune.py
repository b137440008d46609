"""The SQL of DbxTune's collectors for one version, read out of a checkout's Java sources.

A collector builds its SQL in a method of assignments, conditions and concatenations, which are run here: the part of
Java that occurs there. A call of anything else is unknown, which counts as false and as an empty string.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

COLLECTORS = "src/com/dbxtune/cm/ase"
_COMMENTS = re.compile(r'("(?:\\.|[^"\\\n])*")|/\*.*?\*/|//[^\n]*', re.DOTALL)
_TOKENS = re.compile(
    r'\s*("(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|\d[\d_]*L?|[A-Za-z_$][\w$]*'
    r"|&&|\|\||[=!<>+\-*]=|\+\+|--|->|[-+*/%=<>!?:;,.(){}\[\]&|@])"
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_TYPED = re.compile(r"[A-Za-z_$][\w$.]*(<[^;=]*?>)?(\[\])*$")
_CONSTANT = r"\bstatic\s+(?:final\s+)?\w+\s+{}\s*=([^;]*);"
_PRESENT = {"isRuntimeInitialized", "isServerRoleOrPermissionActive", "canDoSelectOnTable", "hasMonRole"}


class Unknown:
    """What a call gives that has no meaning here."""

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return ""


class ReturnedError(Exception):
    """RETURN, with its value."""


def version(*parts: int) -> int:
    """Ver.ver(): major, minor, maintenance, service pack and patch level in one number."""
    number = 0
    for part, weight in zip([*parts, 0, 0, 0, 0][:5], (100, 100, 100, 10_000, 10_000), strict=True):
        number = number * weight + part
    return number


class Collector:
    """One Cm*.java file."""

    def __init__(self, path: Path) -> None:
        self.name = path.stem
        self._source = _COMMENTS.sub(lambda found: found[1] or " ", path.read_text("utf-8", "replace"))

    def needs(self) -> int:
        """The lowest version that has what it reads."""
        return int(self._constant("NEED_SRV_VERSION") or 0)

    def sql(self, release: int, *, cluster: bool) -> list[str]:
        """What it runs on that version: its preparation, if any, and its query."""
        methods = ("getSqlInitForVersion", "getSqlForVersion")
        texts = [self._run(method, release, cluster) for method in methods]
        return [batch for text in texts for batch in re.split(r"(?im)^\s*go\s*$", text) if batch.strip()]

    def _run(self, method: str, release: int, cluster: bool) -> str:
        found = re.search(rf"String {method}\([^)]*\)\s*(?:throws [\w, ]+)?\{{", self._source)
        if found is None:
            return ""
        names: dict[str, Any] = {"srvVersion": release, "isClusterEnabled": cluster}
        run = Run(self._source[found.end() - 1 :], names, self._constant)
        run.calls = {"getLongVersion": release, "isClusterEdition": cluster}
        try:
            run.statement(live=True)
        except ReturnedError as returned:
            return str(returned.args[0] or "")
        return ""

    def _constant(self, name: str) -> Any:
        found = re.search(_CONSTANT.format(re.escape(name)), self._source)
        return Unknown() if found is None else Run(found[1], {}, self._constant).expression()


class Run:
    """One method, parsed and run at once; what is not live is parsed only."""

    def __init__(self, source: str, names: dict[str, Any], constant: Callable[[str], Any]) -> None:
        self._tokens = _tokens(source)
        self._ahead: list[str] = []
        self.names = names
        self._constant = constant
        self.calls: dict[str, Any] = {}

    def _peek(self, place: int = 0) -> str:
        while len(self._ahead) <= place:
            self._ahead.append(next(self._tokens, ""))
        return self._ahead[place]

    def _next(self) -> str:
        token = self._peek()
        del self._ahead[0]
        return token

    def _take(self, *tokens: str) -> bool:
        if self._peek() in tokens:
            self._next()
            return True
        return False

    def _skip(self, opening: str, closing: str) -> None:
        depth = 0
        while token := self._next():
            depth += (token == opening) - (token == closing)
            if depth == 0:
                return

    # -- statements -----------------------------------------------------------------------------------

    def statement(self, *, live: bool) -> None:
        """One statement; raises ReturnedError."""
        if self._take("{"):
            while not self._take("}"):
                self.statement(live=live)
        elif self._take("if"):
            self._next()
            chosen = bool(self.expression())
            self._next()
            self.statement(live=live and chosen)
            if self._take("else"):
                self.statement(live=live and not chosen)
        elif self._take("return"):
            value = "" if self._peek() == ";" else self.expression()
            self._take(";")
            if live:
                raise ReturnedError(value)
        elif self._take("try"):
            self.statement(live=live)
            while self._take("catch", "finally"):
                if self._peek() == "(":
                    self._skip("(", ")")
                self._skip("{", "}")
        elif self._take("for", "while", "switch"):
            self._skip("(", ")")
            self.statement(live=False)
        else:
            self._assignments(live)

    def _assignments(self, live: bool) -> None:
        self._take("final")
        if self._declares():
            while re.match(r"[\w$]", self._peek(1)) is None:
                self._next()
            self._next()
        while not self._take(";"):
            if self._peek(1) in ("=", "+="):
                self._assignment(live)
            elif self._peek(1) in (",", ";") and self._peek() != ",":
                self._next()
            elif not self._take(",", ":"):
                self.expression()

    def _declares(self) -> bool:
        """Whether `Type name` comes; the type may have arguments or be an array."""
        place, text = 0, ""
        while self._peek(place) in ("<", ">", "[", "]", ".", "?") or re.match(r"[\w$]", self._peek(place)):
            if text and _TYPED.match(text) and re.match(r"[A-Za-z_$]", self._peek(place)) and text[-1] != ".":
                return self._peek(place + 1) in ("=", ";", ",")
            text += self._peek(place)
            place += 1
        return False

    def _assignment(self, live: bool) -> Any:
        name, operator = self._next(), self._next()
        value = self._assignment(live) if self._peek(1) in ("=", "+=") else self.expression()
        if live:
            self.names[name] = _plus(self.names.get(name, ""), value) if operator == "+=" else value
        return value

    # -- expressions ----------------------------------------------------------------------------------

    def expression(self) -> Any:
        """A value: of a condition, comparison, sum or call."""
        value = self._either()
        if self._take("?"):
            yes = self.expression()
            self._take(":")
            no = self.expression()
            return yes if value else no
        return value

    def _either(self) -> Any:
        value = self._both()
        while self._take("||"):
            other = self._both()
            value = bool(value) or bool(other)
        return value

    def _both(self) -> Any:
        value = self._comparison()
        while self._take("&&"):
            other = self._comparison()
            value = bool(value) and bool(other)
        return value

    def _comparison(self) -> Any:
        value = self._sum()
        while (operator := self._peek()) in ("==", "!=", "<", "<=", ">", ">="):
            self._next()
            value = _compared(operator, value, self._sum())
        return value

    def _sum(self) -> Any:
        value = self._unary()
        while (operator := self._peek()) in ("+", "-", "*", "/", "%"):
            self._next()
            other = self._unary()
            if operator == "+":
                value = _plus(value, other)
            elif isinstance(value, int) and isinstance(other, int) and operator == "*":
                value *= other
        return value

    def _unary(self) -> Any:
        if self._take("!"):
            return not self._unary()
        if self._take("-"):
            value = self._unary()
            return -value if isinstance(value, int) else value
        return self._followed(self._primary())

    def _primary(self) -> Any:
        token = self._next()
        if token == "(":
            if re.match(r"[A-Z]\w*$|int$|long$", self._peek()) and self._peek(1) == ")":
                self._next()
                self._next()
                return self._unary()
            value = self.expression()
            self._take(")")
            return value
        if token[:1] in "\"'":
            return re.sub(
                r"\\(.)", lambda found: _ESCAPES.get(found[1], found[1]), token[1:-1], flags=re.DOTALL
            )
        if token[:1].isdigit():
            return int(token.rstrip("L").replace("_", ""))
        if token == "new":
            self._next()
            return ""
        words = {"true": True, "false": False, "null": None}
        if token in words:
            return words[token]
        if self._peek() == "(":
            return self._called(token, Unknown())
        return self.names[token] if token in self.names else self._constant(token)

    def _followed(self, value: Any) -> Any:
        while True:
            if self._take("."):
                name = self._next()
                value = self._called(name, value) if self._peek() == "(" else self._constant(name)
            elif self._peek() == "(":
                self._arguments()
            elif self._peek() == "[":
                self._skip("[", "]")
            elif not self._take("++", "--"):
                return value

    def _arguments(self) -> list[Any]:
        self._next()
        found = []
        while not self._take(")"):
            found.append(self.expression())
            self._take(",")
        return found

    def _called(self, name: str, on: Any) -> Any:
        arguments = self._arguments()
        if name == "ver":
            return version(*arguments)
        if re.fullmatch(r"get\w*Property", name) and len(arguments) == 2:
            return arguments[1]
        if name in _PRESENT:
            return True
        if name == "getMonitorConfig":
            return 1
        if name in ("isNullOrBlank", "hasValue"):
            return (name == "hasValue") == bool(str(arguments[0]).strip())
        if name == "removeLastComma":
            return re.sub(r",\s*$", "", str(arguments[0]))
        if name == "append":
            return _plus(on, arguments[0])
        if name == "replace" and isinstance(on, str):
            return on.replace(str(arguments[0]), str(arguments[1]))
        if name == "toString":
            return on
        return self.calls.get(name, Unknown())


def _tokens(source: str) -> Iterator[str]:
    at = 0
    while found := _TOKENS.match(source, at):
        at = found.end()
        yield found[1]


def _plus(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        return left + right
    return f"{left}{right}"


def _compared(operator: str, left: Any, right: Any) -> bool:
    if operator in ("==", "!="):
        return bool(left == right) == (operator == "==")
    if not isinstance(left, int) or not isinstance(right, int):
        return False
    return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator]


def collectors(checkout: Path) -> list[Collector]:
    """All collectors of a checkout for ASE, by name."""
    return [Collector(path) for path in sorted((checkout / COLLECTORS).glob("Cm*.java"))]
