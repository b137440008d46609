"""Whether a text is one select and nothing else, judged by its words. T-SQL needs no separator between statements."""

import re

# Text, quoted names and comments hold no keywords.
_OPAQUE = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\[[^\]]*\]|/\*.*?\*/|--[^\n]*", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_@#$][\w@#$]*|[();]")
# Reserved words of T-SQL that begin another statement, or make a select write.
_FORBIDDEN = re.compile(
    r"alter|begin|break|bulk|checkpoint|close|commit|compute|connect|continue|create|dbcc|"
    r"deallocate|declare|delete|disk|drop|dump|exec|execute|fetch|go|goto|grant|if|"
    r"insert|into|kill|load|merge|open|prepare|print|quiesce|raiserror|readtext|"
    r"reconfigure|remove|reorg|return|revoke|rollback|save|set|setuser|shutdown|transfer|"
    r"truncate|update|use|waitfor|while|writetext"
)


def select_problem(text: str) -> str | None:
    """Return what is wrong with a text that should be one select and nothing else; None if it is one."""
    depth, previous = 0, ""
    for word in _WORD.findall(_OPAQUE.sub(" ", text)):
        lower = word.lower()
        depth += {"(": 1, ")": -1}.get(word, 0)
        # A second select belongs to a union, or is in parentheses.
        second = lower == "select" and depth == 0 and previous not in ("", "union", "all")
        if (not previous and lower != "select") or _FORBIDDEN.fullmatch(lower) or word == ";" or second:
            found = f"a second `{lower}`" if second else f"`{lower}`"
            return f"`sql`: expected one select and nothing else, found {found}"
        previous = lower
    return None if previous else "`sql`: expected one select and nothing else, found nothing"
