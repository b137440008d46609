"""The pictures of docs/top.md: the screen at 80 x 24 on simulated servers, at moments that are always the same.

`python -m tests.exporter.top.pictures` writes them.
"""

import asyncio
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.exporter.clocks import timezone
from tests.exporter.top.feeds import HandFed, recorded
from tests.paths import DOCS

from ase_exporter.top.app import TopApp

FOLDER = DOCS / "images"
SIZE = (80, 24)
# textual lets a browser load its font from a server; the pictures ask nobody for anything.
_FONTS = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_TEXT = re.compile(r"<text[^>]*>([^<]*)</text>")


@dataclass(frozen=True)
class Picture:
    """A screen. step: of the scenario, '' without steps. keys: pressed before it is taken."""

    scenario: str
    step: str = ""
    keys: Sequence[str] = ()


PICTURES: Mapping[str, Picture] = {
    "top-memscale": Picture("memscale", "series 2 run 05"),
    "top-vldb": Picture("vldb"),
    "top-storm": Picture("storm", "wrong remedy"),
    "top-blocking": Picture("storm", "lock storm", keys=["4"]),
}


def draw(picture: Picture) -> str:
    """The picture as SVG."""
    feed = HandFed(picture.scenario.upper())

    async def run() -> str:
        app = TopApp(feed)
        async with app.run_test(size=SIZE) as pilot:
            feed.feed(*recorded(picture.scenario, picture.step))
            await pilot.pause()
            await pilot.press(*picture.keys)
            await pilot.pause()
            return app.export_screenshot()

    # The screen shows times of the machine.
    with timezone("UTC"):
        return _FONTS.sub("", asyncio.run(run()))


def words(svg: str) -> list[str]:
    """All texts of a picture: what has to be the same, whatever textual's way to draw it."""
    found = (text.replace("&#160;", " ").strip() for text in _TEXT.findall(svg))
    return [text for text in found if text]


if __name__ == "__main__":
    for name, picture in PICTURES.items():
        path = FOLDER / f"{name}.svg"
        path.write_text(draw(picture), encoding="utf-8")
        print(f"{path}: {path.stat().st_size} bytes")
