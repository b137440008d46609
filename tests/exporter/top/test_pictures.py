"""The pictures of docs/top.md are those that the program draws now, and name what their scenario is about."""

import re

import pytest
from tests.exporter.top.pictures import FOLDER, PICTURES, draw, words
from tests.paths import DOCS

# What has to be seen without a key, by scenario: docs/scenarios.md and docs/case-studies.md.
GUILTY = {
    "top-memscale": "system tables cache 85.6% contention",
    "top-vldb": "addrlockspins 88.3% contention",
    "top-storm": "default data cache 59.6% contention",
}


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_up_to_date(name: str) -> None:
    """Else: python -m tests.exporter.top.pictures."""
    assert words((FOLDER / f"{name}.svg").read_text()) == words(draw(PICTURES[name]))


@pytest.mark.parametrize("name", GUILTY)
def test_the_first_screen_names_the_spinlock_of_the_scenario(name: str) -> None:
    assert not PICTURES[name].keys
    text = " ".join(words((FOLDER / f"{name}.svg").read_text()))
    assert f"Hottest spinlock: {GUILTY[name]}" in re.sub(" +", " ", text)


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_asks_no_server_for_anything_and_is_on_the_page(name: str) -> None:
    svg = (FOLDER / f"{name}.svg").read_text()
    assert not re.findall(r"url\([^#]", svg) and "@font-face" not in svg
    assert f"](images/{name}.svg)" in (DOCS / "top.md").read_text()
