"""SQL text and names of sessions without the values in them: what identifies a statement, program or login stays."""

import re

from ase_exporter.untrusted.entry import one_line

# Characters of a statement that are shown; what is behind them is not even looked at.
MAX_STATEMENT = 2000
MAX_PROGRAM = 30
PLACEHOLDER = "?"
HIDDEN = "..."

# A string, also one that is cut off; comments, which may hold anything; numbers; and what follows the word password.
_COMMENT = re.compile(r"/\*.*?(?:\*/|\Z)|--[^\n]*", re.DOTALL)
_STRING = r"'(?:[^']|'')*(?:'|\Z)|\"(?:[^\"]|\"\")*(?:\"|\Z)"
_LITERAL = re.compile(
    rf"(?P<string>{_STRING})|(?P<comment>{_COMMENT.pattern})|(?P<name>[^\W\d]\w*|[@#$]\w+)"
    r"|(?P<number>0x[0-9a-f]*|\$?\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)",
    re.IGNORECASE | re.DOTALL,
)
_PASSWORD = re.compile(
    r"(?i)(\b(?:password|passwd|passphrase|sp_password|sp_addlogin|sp_addexternlogin|identified\s+by)\b\s*)(?![\s=]*\?)\S.*\Z",
    re.DOTALL,
)
# With what a statement begins. None can be an argument without quotes.
_VERBS = (
    "select|insert|update|delete|merge|exec|execute|if|else|while|begin|end|return|declare|set|print|raiserror|waitfor|go"
    "|commit|rollback|save|truncate|create|alter|drop|grant|revoke|use|dump|load|open|fetch|close|deallocate|checkpoint"
    "|kill|shutdown|dbcc|readtext|writetext|lock|reorg|online|mount|unmount|quiesce|disk|with"
)
# The call of a procedure, which needs no EXEC at the begin of a batch, and its arguments, which end where the next
# statement begins: words without quotes are strings, too.
_CALL = re.compile(
    rf"(?:\bexec(?:ute)?\s+(?:@\w+\s*=\s*)?|\A\s*(?!(?:{_VERBS})\b)(?=[^\W\d]))[^\s,;()=]+"
    rf"(?P<given>.*?)(?=\b(?:{_VERBS})\b|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_GIVEN = re.compile(r"(?<![\w@#$])(?!(?:output|out|with|recompile|null|default)\b)[^\W\d]\w*", re.IGNORECASE)
# A value behind a sign, an option of a command line that gives a password, and what looks like a key.
_ASSIGNED = re.compile(r"[=:@].*|(?:^|\s)[-/]{1,2}p\S*.*", re.IGNORECASE | re.DOTALL)
_KEY = re.compile(r"\b(?=\w*\d)(?=\w*[^\W\d])\w{16,}\b")
_SECRET = re.compile(r"(?i)(?<!\S)\S*(?:password|passwd|pwd|secret|token|credential).*", re.DOTALL)
# Of a login or host that holds one: what gives it, and what follows. A Kerberos principal has an `@`.
_OF_NAME = re.compile(r"(?i)(password|passwd|pwd|secret|token|credential|[=:]).+", re.DOTALL)


def without_literals(sql: str) -> str:
    """A statement as one line, without strings, numbers and comments, cut to MAX_STATEMENT characters.

    A string that is cut off, or whose quotes do not match, costs the rest of the statement.
    """
    cut = len(sql) > MAX_STATEMENT
    text = _LITERAL.sub(_placeholder, sql[:MAX_STATEMENT])
    text = _CALL.sub(
        lambda call: call[0].removesuffix(call["given"]) + _GIVEN.sub(PLACEHOLDER, call["given"]), text
    )
    text = _PASSWORD.sub(rf"\1{HIDDEN}", text)
    return one_line(" ".join(text.split())) + (f" {HIDDEN}" if cut else "")


def _placeholder(match: re.Match[str]) -> str:
    if match["name"]:
        return match["name"]
    return " " if match["comment"] else PLACEHOLDER


def program_name(text: str) -> str:
    """The name of a program as one line, without arguments that may hold a password, at most MAX_PROGRAM characters.

    Remembered passwords are not taken out of names: who chooses a name would learn whether it is one.
    """
    name = _SECRET.sub(HIDDEN, _KEY.sub(HIDDEN, _ASSIGNED.sub(HIDDEN, text.strip())))
    return one_line(name)[:MAX_PROGRAM]


def login_name(text: str) -> str:
    """The name of a login or a client's host as one line, without what may be a password that was typed into it."""
    return one_line(_OF_NAME.sub(rf"\1{HIDDEN}", text.strip()))
