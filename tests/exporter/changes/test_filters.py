"""Filters of the history: known kinds."""

import re

import pytest
from tests.paths import DOCS

from ase_exporter.changes.change import KINDS
from ase_exporter.changes.detect import SOURCES
from ase_exporter.changes.filters import parse_filter
from ase_exporter.changes.host_snapshot import HostWatcher
from ase_exporter.errors import UserError


def test_every_kind_that_is_detected_or_documented_can_be_asked_for() -> None:
    page = (DOCS / "changes.md").read_text(encoding="utf-8")
    table = page.partition("| kind |")[2].partition("\n\n")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    kinds = {kind for cell in rows for kind in re.findall(r"`(\w+)`", cell)}
    assert kinds == set(KINDS)
    assert {source.kind for source in SOURCES} | HostWatcher().parts().keys() <= kinds


def test_an_unknown_kind_is_one_line_with_the_known_ones() -> None:
    with pytest.raises(UserError) as caught:
        parse_filter({"kind": "typo"}, 100)
    assert str(caught.value) == f"kind: 'typo': expected one of {', '.join(sorted(KINDS))}"
