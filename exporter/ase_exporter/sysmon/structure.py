"""The parsed report: header, sections, rows, cells, server errors, and what is missing or unread."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta

PER_SEC = "per_sec"
PER_XACT = "per_xact"
COUNT = "count"
PERCENT_OF_TOTAL = "percent_of_total"
PERCENT = "percent"


@dataclass(frozen=True, slots=True)
class ReportCell:
    """One number of the report.

    measure: per_sec, per_xact, count, percent_of_total, or the column's own title in snake case.
    value: as printed, percents in 0-100; a negative one means that a counter wrapped.
    text: as printed.
    """

    measure: str
    value: float
    text: str

    @property
    def wrapped(self) -> bool:
        """Whether a 32-bit counter passed 2,147,483,647 during the sample, which makes the figure useless."""
        return self.value < 0


@dataclass(slots=True)
class ReportRow:
    """One line of figures: sub-heading path, label, cells. `n/a` and overflow leave no cell.

    overflow: the measures that were printed as asterisks. line: from 1.
    """

    path: tuple[str, ...]
    label: str
    line: int
    cells: tuple[ReportCell, ...] = ()
    overflow: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Sub-headings and label."""
        return " / ".join((*self.path, self.label))

    def get(self, measure: str) -> float | None:
        """The value of one measure, None where the report has none."""
        return next((cell.value for cell in self.cells if cell.measure == measure), None)


@dataclass(frozen=True, slots=True)
class Remark:
    """Text of the report that is not a figure, or a warning about one. line: from 1."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ServerMessage:
    """An error that the server printed in the middle of its report; level: its severity."""

    line: int
    number: int
    level: int
    text: str
    procedure: str = ""


@dataclass(slots=True)
class ReportSection:
    """One section ('Kernel Utilization'); instance: of a cluster, '' elsewhere. advice: lines of recommendations."""

    name: str
    line: int
    instance: str = ""
    rows: list[ReportRow] = field(default_factory=list)
    advice: list[Remark] = field(default_factory=list)
    remarks: list[Remark] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The name, with the instance of a cluster before it."""
        return f"{self.instance}: {self.name}" if self.instance else self.name

    def row(self, label: str, *path: str) -> ReportRow | None:
        """The first row of that label whose path ends in `path`."""
        rows = (row for row in self.rows if row.label == label)
        return next((row for row in rows if row.path[len(row.path) - len(path) :] == path), None)


@dataclass(slots=True)
class Header:
    """The block above the sections. Times are the wall clock of the server, without a zone.

    mode: 'No Clear' or 'Reset Counters' as printed, '' where the version prints none.
    """

    server: str = ""
    version: str = ""
    started: datetime | None = None
    ended: datetime | None = None
    interval: timedelta | None = None
    mode: str = ""
    cleared: datetime | None = None
    other: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Report:
    """One run of sp_sysmon.

    ended: the end line was reached. return_status: None where none was printed. missing: sections and rows that its
    release prints and that are not there. unread: lines that are no figure, and no known line. contradictions: figures
    that are not of the sample that the others are of.
    """

    header: Header = field(default_factory=Header)
    sections: list[ReportSection] = field(default_factory=list)
    messages: list[ServerMessage] = field(default_factory=list)
    warnings: list[Remark] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    unread: list[Remark] = field(default_factory=list)
    contradictions: list[Remark] = field(default_factory=list)
    ended: bool = False
    return_status: int | None = None

    @property
    def complete(self) -> bool:
        """Whether the end line was reached, nothing is missing or unread, and no figure is contradicted."""
        return self.ended and not self.missing and not self.unread and not self.contradictions

    def section(self, name: str) -> ReportSection | None:
        """The first section of that name."""
        return next((section for section in self.sections if section.name == name), None)

    def find(self, section: str, label: str, *path: str) -> ReportRow | None:
        """The first row by section, label and end of its sub-heading path."""
        found = self.section(section)
        return found.row(label, *path) if found else None

    def cells(self) -> Iterator[tuple[ReportSection, ReportRow, ReportCell]]:
        """Every number of the report, in its order."""
        for section in self.sections:
            for row in section.rows:
                for cell in row.cells:
                    yield section, row, cell
