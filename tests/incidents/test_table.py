"""docs/internals/incidents.md lists the incidents, and its sum is right. Whether it is up to date is a slow test."""

import re

from tests.incidents.running import incidents
from tests.incidents.scoring import KINDS, POINTS, REACHED, by_number
from tests.incidents.table import PAGE

ROW = re.compile(r"^\| (\d*) \| (.+?) \| (\d?) \| ", re.MULTILINE)
SUM = re.compile(r"^Sum: (\d+) of (\d+)\. Wrong all-clears: (\d+) of (\d+)\.$", re.MULTILINE)


def test_the_page_lists_all_incidents_and_sums_their_points() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = ROW.findall(text)
    listed = [("" if each.number is None else str(each.number), each.title) for each in incidents().values()]
    assert [(number, title) for number, title, _ in rows] == listed
    points = by_number(
        {name: int(row[2] or 0) for name, row in zip(incidents(), rows, strict=True)},
    )
    stated = SUM.search(text)
    assert stated and len(points) == KINDS
    assert [int(each) for each in stated.groups()] == [sum(points.values()), POINTS * KINDS, 0, len(rows)]
    assert sum(points.values()) >= REACHED
