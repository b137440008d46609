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
    Foreign,
    Heading,
    Items,
    Line,
    Plot,
    Section,
    Table,
    Verdict,
    View,
)


def view(name: str = "one") -> View:
    """A view with every part."""
    columns = [Heading("Name"), Heading("Share", figures=True), Heading("Plot")]
    rows = [(name, "12.5%", Cell("", plot=Plot([(0.1, 0.2)], 0.2)))]
    return View(
        f"Title {name}",
        [
            Verdict("All is well.", "good"),
            Chart(time_chart([([0.0, 10.0], [1.0, 2.0])], "%", 0.0, 10.0), "A chart"),
            Section("Table", [Table(columns, rows), Table(columns, [], empty="None at all.")]),
            Section("Folded", [Items([f"item {name}"])], folded=True),
            Code([f"exec sp_configure '{name}', 1"]),
            Line(f"Said of {name}", "soft"),
        ],
    )


def text_of(html: str) -> str:
    """The text of a page, without its style and its charts."""
    body = re.sub(r"<figure.*?</figure>", "", html[html.index("<body>") :], flags=re.DOTALL)
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


def test_a_terminal_and_a_page_show_the_same_figures() -> None:
    printed, html = " ".join(terminal.text(view()).split()), page(view())
    shown = text_of(html)
    for said in ("All is well.", "12.5%", "None at all.", "Said of one"):
        assert said in printed and said in shown, said
    # A page shows on demand what a terminal leaves out, and charts.
    assert "item one" in shown and "item one" not in printed and "Folded: see --all" in printed
    assert html.count("<figure") == 1 and html.count('class="plot"') == 1


def test_fields_with_text_of_others_are_known_and_what_is_not_a_number_is_null() -> None:
    seen: dict[str, str] = {}

    def encode(key: str, text: Foreign) -> str:
        seen[key] = text
        return text.upper()

    given = {"rows": [{"name": Foreign("one"), "share": 0.125, "weight": math.nan}], "item": Items(["a"])}
    found = as_json(given, encode, lambda value: round(value, 1))
    assert seen == {"name": "one"}
    assert found["rows"] == [{"name": "ONE", "share": 0.1, "weight": None}]
    assert json.loads(json.dumps(found, allow_nan=False))["item"] == {"items": ["a"], "style": ""}


def test_what_has_no_form_in_json_is_refused() -> None:
    with pytest.raises(TypeError):
        as_json({"set": {1}})


def test_hostile_names_stay_text_in_every_sink() -> None:
    for name in map(one_line, hostile_names()):
        html = page(view(name))
        assert not re.search(r"<(script|img|iframe|object)\b", html), name
        assert f"Title {name}".split() == text_of(html).split()[: len(f"Title {name}".split())]
        assert all(map(str.isprintable, terminal.text(view(name)).splitlines())), name
