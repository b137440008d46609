"""docs/internals/incidents.md lists the incidents, and its sum is right. Whether it is up to date is a slow test."""

import re

from tests.incidents.running import incidents
from tests.incidents.scoring import KINDS, POINTS, REACHED, by_number
from tests.incidents.table import PAGE, SITES

ROW = re.compile(r"^\| (\d*) \| (.+?) \| (\d?) \| ", re.MULTILINE)
# Points on a server of any size.
REACHED_ELSEWHERE = 80
SITE = re.compile(r"^\| ([\w ]+) \| (\d+) of (\d+) \| (\d+) of (\d+) \| (\d+) \|$", re.MULTILINE)


def test_the_page_lists_all_incidents_and_sums_their_points() -> None:
    text = PAGE.read_text(encoding="utf-8")
    rows = ROW.findall(text)
    listed = [(str(each.number or ""), each.title) for each in incidents().values()]
    assert [(number, title) for number, title, _ in rows] == listed
    points = by_number({name: int(row[2] or 0) for name, row in zip(incidents(), rows, strict=True)})
    sites = SITE.findall(text)
    assert [title for title, *_ in sites] == list(SITES)
    summed, whole, _, number, _ = map(int, sites[0][1:])
    assert (summed, whole, number) == (sum(points.values()), POINTS * KINDS, len(rows))
    assert len(points) == KINDS and summed >= REACHED
    assert all(int(reached) >= REACHED_ELSEWHERE and wrong == "0" for _, reached, *_, wrong in sites)
