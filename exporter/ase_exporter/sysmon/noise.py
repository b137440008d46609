"""Lines that are no part of the report: return status, row counts, server errors, client chatter."""

import re
from collections.abc import Sequence

from ase_exporter.sysmon.lines import Line
from ase_exporter.sysmon.structure import ServerMessage

_RETURN_STATUS = re.compile(r"\(return status = (-?\d{1,10})\)")
_CHATTER = re.compile(
    r"\(\d+ rows? affected\)"
    r"|DBCC execution completed\..*"
    r"|\d{1,4}>.*"
    r"|go(?: \d+)?"
    r"|(?:exec(?:ute)?\s+)?(?:sybsystemprocs\.\.)?sp_sysmon\b.*"
)
# isql and tsql; tsql ends the same line with the origin.
_MESSAGE = re.compile(
    r"Msg (?P<number>\d{1,9})(?: \(severity (?P<severity>\d{1,3}), state \d{1,9}\)"
    r"|,? Level (?P<level>\d{1,3}),? State \d{1,9}):?(?P<rest>.*)"
)
# The forms of CT-Library's and Open Client's default callbacks.
_CT_LIBRARY = re.compile(
    r"(?:Server message|CT-LIBRARY error|Open Client Message|CT-Library error):?.*", re.IGNORECASE
)
_CT_NUMBER = re.compile(
    r"(?:message )?number[ :=(]+(?P<number>\d{1,9})\)?,? *severity[ :=(]+(?P<level>\d{1,3})\)?.*",
    re.IGNORECASE,
)
_ORIGIN = re.compile(r"(?:from )?(?:Server|Procedure|Line)\b.*", re.IGNORECASE)
_SAME_LINE_ORIGIN = re.compile(r"(?:from\b|Server\b|Procedure\b|Line\b)", re.IGNORECASE)
_PROCEDURE = re.compile(r"procedure:? '?(?P<name>\w{1,60})'?", re.IGNORECASE)
_MAX_MESSAGE_LINES = 3


def return_status(line: Line) -> int | None:
    """The procedure's return status, where this line gives it."""
    match = _RETURN_STATUS.fullmatch(line.text.strip())
    return int(match[1]) if match else None


def is_chatter(line: Line) -> bool:
    """A line of the client or of dbcc, not of the report."""
    return bool(_CHATTER.fullmatch(line.text.strip()))


def server_message(lines: Sequence[Line], at: int) -> tuple[ServerMessage, int] | None:
    """The error that starts at this line and the position after it; None where there is none."""
    position = at
    text = lines[at].text.strip()
    if _CT_LIBRARY.fullmatch(text) and at + 1 < len(lines):
        position, text = at + 1, lines[at + 1].text.strip()
    match = _MESSAGE.fullmatch(text) or (_CT_NUMBER.fullmatch(text) if text else None)
    if match is None:
        return None
    found = match.groupdict()
    rest = (found.get("rest") or "").strip(" ,")
    origins = [rest] if _SAME_LINE_ORIGIN.match(rest) else []
    texts = [] if origins or not rest else [rest]
    position += 1
    while position < len(lines) and len(texts) < _MAX_MESSAGE_LINES:
        line = lines[position]
        text = line.text.strip()
        if line.blank or text.startswith(("===", "---", "Msg ")):
            break
        if return_status(line) is not None or is_chatter(line) or (texts and line.text[:1] == " "):
            break
        if not texts and _ORIGIN.fullmatch(text):
            origins.append(text)
        else:
            texts.append(text.strip('"') if origins else text)
        position += 1
    procedure = next((name["name"] for origin in origins if (name := _PROCEDURE.search(origin))), "")
    level = int(found.get("level") or found.get("severity") or 0)
    return (
        ServerMessage(lines[at].number, int(found["number"]), level, " ".join(texts), procedure),
        position,
    )
