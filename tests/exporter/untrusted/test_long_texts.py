"""Texts of a server as long as it likes: a search holds the lock that all targets need, so none may take the square."""

from collections.abc import Callable

import pytest

from ase_exporter.catalogue.labels import log_problem
from ase_exporter.catalogue.versions import parse_version
from ase_exporter.mcp_server.privacy import public_text
from ase_exporter.sysmon.report import parse
from ase_exporter.untrusted.statements import login_name, program_name, without_literals

# Of this many characters, the square would take the better part of an hour.
LENGTH = 200_000
READERS: dict[str, Callable[[str], object]] = {
    "version": lambda text: parse_version(f"{text}-16.0"),
    "program": program_name,
    "login": login_name,
    "statement": without_literals,
    "message": lambda text: log_problem(0, text),
    "answer": public_text,
    "report": lambda text: parse(f"Kernel Utilization\n{text}.\n  Engine 0  {text}.\n"),
}


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "word", ["1", " ", "a", "x-", "=", "'", "exec a ", "select ", "timeslice ", "1 min "]
)
@pytest.mark.parametrize("reader", READERS)
def test_no_text_takes_more_time_than_in_proportion_to_its_length(reader: str, word: str) -> None:
    READERS[reader]((word * LENGTH)[:LENGTH])
