"""Reports written by hand, in the layouts of several versions."""

from pathlib import Path

from ase_exporter.sysmon.report import read_reports
from ase_exporter.sysmon.structure import Report

RULE = "=" * 79 + " "
UNDERLINE = "  -------------------------  ------------  ------------  ----------  ---------- "
END = "=============================== End of Report ================================= "
TITLES = "per sec      per xact       count  % of total"


def parse_all(text: str, name: str = "text") -> list[Report]:
    """Every report of a text, in its order (a file may hold several runs); raises NotAReportError."""
    return list(read_reports(text.split("\n"), name))


def report(*sections: str, header: str | None = None, end: str = END) -> str:
    """A whole report of these sections."""
    return "\n".join([HEADER if header is None else header, *sections, end, ""])


def section(name: str, *lines: str) -> str:
    """One section; its body as given."""
    return "\n".join([name, "-" * len(name), " ", *lines, " ", RULE, " "])


def table(name: str, *lines: str) -> str:
    """A table with the usual four columns."""
    return "\n".join([f"  {name:<32}{TITLES}", UNDERLINE, *lines, " "])


def row(label: str, per_sec: object, per_xact: object, count: object, percent: object = "n/a") -> str:
    """One row of the usual four columns; label with its indentation."""
    share = f"{percent:>5} %" if percent != "n/a" else "  n/a"
    return f"{label:<29}{per_sec:>12}  {per_xact:>12}  {count:>10}  {share:>10}"


HEADER = Path(__file__).with_name("header.txt").read_text().removesuffix("\n")
ENGINES = Path(__file__).with_name("engines.txt").read_text().removesuffix("\n")
TRANSACTIONS = section(
    "Transaction Profile", table("Transaction Summary", row("    Committed Xacts", "1200.0", "n/a", 72000))
)


def cache(name: str, *lines: str, contention: str = "1.5 %") -> str:
    """One cache of the data cache section."""
    titles = f"{'':<34}{TITLES}"
    head = f"    {'Spinlock Contention':<25}{'n/a':>12}  {'n/a':>12}  {'n/a':>10}  {contention:>10}"
    return "\n".join(["-" * 79, f"  Cache: {name}", titles, UNDERLINE, head, " ", *lines])
