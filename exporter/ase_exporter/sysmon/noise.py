"""What stands between the figures and is none: return status, counts of rows, errors of the server."""

import re
from collections.abc import Sequence

from ase_exporter.sysmon.lines import Line
from ase_exporter.sysmon.structure import ServerMessage

END_OF_REPORT = "End of Report"
_RETURN_STATUS = re.compile(r"\(return status = (-?\d{1,10})\)")
_CHATTER = re.compile(
    r"\(\d+ rows? affected\)"
    r"|DBCC execution completed\..*"
    r"|\d{1,4}>.*"
    r"|go(?: \d+)?"
    r"|(?:exec(?:ute)?\s+)?(?:sybsystemprocs\.\.)?sp_sysmon\b.*"
)
_MESSAGE = re.compile(r"Msg (\d{1,9}), Level (\d{1,3}), State \d{1,9}:?")
_ORIGIN = re.compile(r"(?:Server|Procedure|Line)\b.*")
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
    match = _MESSAGE.fullmatch(lines[at].text.strip())
    if match is None:
        return None
    texts: list[str] = []
    position = at + 1
    while position < len(lines) and len(texts) < _MAX_MESSAGE_LINES:
        line = lines[position]
        if line.blank or line.text.startswith(("===", "---", "Msg ")):
            break
        if return_status(line) is not None or is_chatter(line) or (texts and line.indent):
            break
        if texts or not _ORIGIN.fullmatch(line.text.strip()):
            texts.append(line.text.strip())
        position += 1
    return ServerMessage(lines[at].number, int(match[1]), int(match[2]), " ".join(texts)), position
