"""One view in each sink: the same figures, and text of others that stays text."""

import json
import math
import re
from html import unescape

import pytest
from tests.exporter.untrusted.hostile_names import hostile_names

from ase_exporter.untrusted.entry import one_line
from ase_exporter.views import terminal
from ase_exporter.views.chart import time_chart
from ase_exporter.views.page import page
from ase_exporter.views.plain import as_json
from ase_exporter.views.view import (
    Cell,
    Chart,
    Code,
    Data,
    Foreign,
    Heading,
    Items,
    Line,
    Plot,
    Quoting,
    Section,
    Table,
    Tiles,
    Verdict,
    View,
    figure,
)


def view(name: str = "one") -> View:
    """A view with every part."""
    columns = [
        Heading("Name", "name"),
        Heading("Share", "share", figures=True),
        Heading(None, "weight"),
        Heading("Plot"),
    ]
    rows = [
        (
            Foreign(name),
            figure(0.125, "ratio"),
            Cell("", math.nan),
            Cell("", plot=Plot([(0.1, 0.2)], 0.2)),
        )
    ]
    return View(
        f"Title {name}",
        [
            Verdict("All is well.", "good", key="headline"),
            Tiles([("CPU busy", "12.5%", "20.0% in the worst hour")]),
            Chart(time_chart([([0.0, 10.0], [1.0, 2.0])], "%", 0.0, 10.0), "A chart"),
            Section("Table", [Table(columns, rows, key="rows"), Table(columns, [], empty="None at all.")]),
            Section("Folded", [Items([f"item {name}"], key="items")], folded=True),
            Code([f"exec sp_configure '{name}', 1"]),
            Line(f"Said of {name}", "soft"),
            Data({"quoted": Quoting(f"of {name}"), "none": None}),
        ],
    )


def text_of(html: str) -> str:
    body = re.sub(r"<svg.*?</svg>", "", html[html.index("<body>") :], flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def test_people_and_programs_get_the_same_figures() -> None:
    printed, html = " ".join(terminal.text(view()).split()), page(view())
    shown = text_of(html)
    for said in ("All is well.", "12.5%", "20.0% in the worst hour", "None at all.", "Said of one"):
        assert said in printed and said in shown, said
    # A page shows on demand what a terminal leaves out, and charts; nobody sees what only programs need.
    assert "item one" in shown and "item one" not in printed and "Folded: see --all" in printed
    assert html.count("<figure") == 1 and html.count('class="plot"') == 1
    assert "weight" not in printed + shown
    assert json.loads(json.dumps(as_json(view()), allow_nan=False)) == {
        "headline": "All is well.",
        "rows": [{"name": "one", "share": 0.125, "weight": None}],
        "items": ["item one"],
        "quoted": "of one",
        "none": None,
    }


def test_fields_with_text_of_others_are_known() -> None:
    seen: dict[str, str] = {}

    def encode(key: str, text: Foreign) -> str:
        seen[key] = text
        return text.upper()

    found = as_json(view(), encode, lambda value: round(value, 1))
    assert seen == {"name": "one", "quoted": "of one"}
    assert found["rows"] == [{"name": "ONE", "share": 0.1, "weight": None}]


def test_what_has_no_form_in_json_is_refused() -> None:
    with pytest.raises(TypeError):
        as_json({"set": {1}})


def test_hostile_names_stay_text_in_every_sink() -> None:
    for name in map(one_line, hostile_names()):
        html = page(view(name))
        assert not re.search(r"<(script|img|iframe|object)\b", html), name
        assert f"Title {name}".split() == text_of(html).split()[: len(f"Title {name}".split())]
        assert all(map(str.isprintable, terminal.text(view(name)).splitlines())), name
