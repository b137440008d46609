"""The screen, driven by keys through textual's pilot."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from rich.cells import cell_len
from tests.exporter.top.feeds import HandFed, changed, failed, recorded
from tests.exporter.top.pictures import FOLDER, PICTURES, draw, words
from tests.exporter.web.test_session_routes import WAITS
from tests.paths import DOCS
from textual.binding import Binding
from textual.pilot import Pilot
from textual.widgets import DataTable, Input, Static

from ase_exporter.ase.text import decoder
from ase_exporter.diagnosis.catalogue import catalogue
from ase_exporter.errors import UserError
from ase_exporter.sessions.blocking import blocking_trees
from ase_exporter.sessions.session import Session, Snapshot
from ase_exporter.top.app import TopApp
from ase_exporter.top.frames import Frame, frame
from ase_exporter.top.rows import NOTES
from ase_exporter.top.text import ASCII, UNICODE, Glyphs, clock
from ase_exporter.top.view import PARTS, table

pytestmark = pytest.mark.anyio
SIZE = (80, 24)
SERVER = "ONE"


class Screen:
    """What is on the terminal."""

    def __init__(self, app: TopApp, pilot: Pilot[UserError], feed: HandFed) -> None:
        self.app, self.feed = app, feed
        self._pilot = pilot

    async def press(self, *keys: str) -> None:
        await self._pilot.press(*keys)
        await self._pilot.pause()

    async def click(self, text: str) -> None:
        """Click on the first text like that."""
        row = next(at for at, line in enumerate(self.lines) if text in line)
        await self._pilot.click(offset=(self.lines[row].index(text), row))
        await self._pilot.pause()
        await self._pilot.pause()

    async def show(self, *frames: Frame) -> None:
        """Hand frames over, and wait until they are shown."""
        self.feed.feed(*frames)
        await self._pilot.pause()

    async def resize(self, width: int, height: int) -> None:
        await self._pilot.resize_terminal(width, height)
        await self._pilot.pause()
        await self._pilot.pause()

    @property
    def lines(self) -> list[str]:
        """The lines as the terminal shows them."""
        strips = self.app.screen._compositor.render_strips()
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def below(self, title: str) -> list[str]:
        """The heading of a table, which begins like that, and its rows."""
        found = self.lines
        return found[next(index for index, line in enumerate(found) if line.startswith(title)) :]

    def styles(self) -> set[str]:
        """The colours of all characters, after textual's filters."""
        filters = [each for each in self.app._filters if each.enabled]
        found = set()
        for strip in self.app.screen._compositor.render_strips():
            for each in filters:
                strip = strip.apply_filter(each, self.app.screen.background_colors[1])
            styles = [segment.style for segment in strip if segment.style]
            found |= {colour.name for style in styles for colour in (style.color, style.bgcolor) if colour}
        return found


@asynccontextmanager
async def started(size: tuple[int, int] = SIZE, characters: Glyphs = UNICODE) -> AsyncIterator[Screen]:
    """The screen of a server."""
    feed = HandFed(SERVER)
    app = TopApp(feed, characters)
    async with app.run_test(size=size) as pilot:
        running = Screen(app, pilot, feed)
        # The last line comes after the first drawing.
        while not running.lines[-1]:
            await pilot.pause()
        yield running


@pytest.fixture
async def screen() -> AsyncIterator[Screen]:
    """The screen of one server."""
    async with started() as running:
        yield running


class SlowToLeave(Static):
    """A widget that takes longer to go than the title takes to tick."""

    async def on_unmount(self) -> None:
        await asyncio.sleep(1.2)


@pytest.mark.slow
async def test_a_tick_while_the_screen_is_taken_down_draws_nothing(screen: Screen) -> None:
    await screen.show(recorded("memscale", "series 2 run 05")[-1])
    await screen.app.mount(SlowToLeave())


@pytest.mark.slow
async def test_each_part_has_a_key_and_fits_the_smallest_terminal_and_tab_goes_through_all(
    screen: Screen,
) -> None:
    await screen.show(recorded("storm", "lock storm")[-1])
    for number, name in enumerate(PARTS, 1):
        assert screen.app._part == name
        await screen.press(str(number))
        scene = screen.app._scene()
        assert scene
        shown = table(name, scene)
        _, head, first, *_ = screen.below("1 spinlocks")
        for title, _ in shown.titles:
            assert title in head
        assert first.split()[0] == (shown.rows[0].cells[0] if shown.rows else shown.empty).split()[0]
        await screen.press("tab")
    assert screen.app._part == PARTS[0]


async def test_enter_on_a_line_that_is_no_row_does_nothing(screen: Screen) -> None:
    """Nobody is blocked, and no session is at work."""
    last = recorded("memscale", "series 2 run 05")[-1]
    await screen.show(replace(last, sample=replace(last.sample, sessions=Snapshot(0.0))))
    for part in ("4", "5"):
        await screen.press(part)
        before = screen.lines
        await screen.press("enter")
        assert screen.lines == before and screen.feed.looked_at is None


async def test_an_error_in_place_of_a_frame_ends_the_screen(screen: Screen) -> None:
    error = UserError("target ONE: unexpected KeyError, see the log")
    screen.feed.feed(error)
    await screen.press("space")
    assert screen.app.return_value is error


async def test_keys_and_clicks_choose_a_table_and_sort_it(screen: Screen) -> None:
    shown = recorded("memscale", "series 2 run 05")[-1]
    by_grabs = sorted(shown.figures.spinlocks, key=lambda each: each.grabs)
    by_searches = sorted(shown.figures.caches, key=lambda each: -each.searches)
    await screen.show(shown)
    await screen.press("s", "s", "s", "s")
    assert "Grabs/s▼" in screen.text and screen.below("Spinlock")[1].startswith(by_grabs[-1].name)
    await screen.press("r")
    assert "Grabs/s▲" in screen.text and screen.below("Spinlock")[1].startswith(by_grabs[0].name)
    await screen.click("2 caches")
    assert screen.app._part == "caches"
    await screen.click("Searches/s")
    assert "Searches/s▼" in screen.text and screen.below("Cache")[1].startswith(by_searches[0].name)


async def test_a_filter_is_typed_kept_and_removed(screen: Screen) -> None:
    frames = recorded("memscale", "series 2 run 05")
    await screen.show(frames[-1])
    # Digits go into the filter and not to the parts.
    await screen.press("slash", "4")
    assert screen.app._part == "spinlocks" and "filter: 4" in screen.lines[0]
    await screen.press("backspace", *"log ")
    assert screen.app.query_one("#filter", Input).display
    await screen.press("enter")
    assert "filter: log" in screen.lines[0]
    assert "log cache" in screen.text and "orders cache" not in screen.text
    await screen.show(frames[-1])
    assert "orders cache" not in screen.text
    await screen.press("escape")
    assert "orders cache" in screen.text and "filter" not in screen.lines[0]
    await screen.press("slash", *"nothing at all", "enter")
    assert "No row contains the filter" in screen.text


async def test_pause_stops_the_screen_until_it_goes_on(screen: Screen) -> None:
    frames = recorded("memscale", "series 2 run 05")
    times = [clock(each.sample.at) for each in frames]
    await screen.show(*frames[:4])
    await screen.press("space")
    await screen.show(*frames[4:])
    assert f"PAUSED at {times[3]}" in screen.lines[0]
    await screen.press("space")
    assert "PAUSED" not in screen.text and times[-1] in screen.lines[0]


async def test_help_lists_the_keys_and_what_is_assumed_and_fits_the_smallest_terminal(screen: Screen) -> None:
    await screen.press("1")
    before = screen.lines
    await screen.press("question_mark")
    words = " ".join(screen.text.split())
    assert " ".join(NOTES.split()) in words and "a spin takes 10 ns" in words
    listed = [each for each in TopApp.BINDINGS if isinstance(each, Binding) and not each.system]
    assert len(listed) > 10
    for each in listed:
        assert f"{each.key_display} {each.description}" in words
    await screen.press("escape")
    assert screen.lines == before
    await screen.press("question_mark", "question_mark")
    assert screen.lines == before


async def test_a_server_that_fails_says_so_in_one_line_and_recovers(screen: Screen) -> None:
    frames = recorded("memscale", "series 2 run 05")
    await screen.show(frames[-1])
    await screen.show(failed("MEMSCALE", "the connection was lost", "lost"))
    assert screen.lines[1] == "DOWN: the connection was lost"
    assert f"Last answer at {clock(frames[-1].sample.at)}" in screen.lines[2]
    # No old number looks like a new one.
    assert "%" not in screen.text
    await screen.show(frames[-1])
    assert screen.lines[1].startswith(frames[-1].diagnosis.word)


async def test_a_change_is_a_line_and_a_row(screen: Screen) -> None:
    frames = recorded("memscale", "series 2 run 05")
    await screen.show(*frames[-3:-1])
    assert "Changed" not in screen.text
    await screen.show(changed(frames[-1], "lock address spinlock ratio"))
    assert "option lock address spinlock ratio: 100 → 5" in screen.text
    await screen.press("8")
    assert screen.text.count("option lock address spinlock ratio: 100 → 5") == 2


@pytest.mark.slow
async def test_the_terminal_may_have_any_size(screen: Screen) -> None:
    await screen.show(recorded("memscale", "series 2 run 05")[-1])
    for width, height in [(80, 24), (40, 10), (132, 50), (200, 60), (20, 5)]:
        await screen.resize(width, height)
        lines = screen.lines
        assert len(lines) == height and max(map(len, lines)) <= width
        assert lines[1].startswith("CONTENDED: spinlock system tables cache"[: width - 1])
        # No line takes two, and the table has room as soon as there is any.
        assert lines[2].startswith(("  also PERHAPS LOG: "[: width - 1], "1 spinlocks"[: width - 1]))
        assert height < 10 or lines[3].startswith("Time goes to: ")
        assert height < 10 or screen.below("Spinlock ")
        assert any(line.startswith("system tables cache"[: width - 1]) for line in lines[2:])
    await screen.resize(*SIZE)
    assert screen.lines[-1].startswith("enter Details 1-9 Tables") and "? Help q Quit" in screen.lines[-1]


@pytest.mark.parametrize("colours", [True, False])
async def test_colours_only_repeat_what_words_say(monkeypatch: pytest.MonkeyPatch, colours: bool) -> None:
    if not colours:
        monkeypatch.setenv("NO_COLOR", "1")
    async with started() as screen:
        await screen.show(recorded("memscale", "series 2 run 05")[-1])
        shown = screen.styles() - {"default"}
        assert len(shown) > 2 if colours else not shown
        assert "CONTENDED: " in screen.text and "Contention" in screen.text


@pytest.mark.slow
async def test_a_terminal_without_unicode_gets_ascii() -> None:
    async with started(characters=ASCII) as screen:
        await screen.show(*recorded("storm", "lock storm")[-3:])
        for key in "12345678":
            await screen.press(key)
            inside = [line for line in screen.lines if not line.endswith(("▁", "▂", "▃", "▄", "▅", "▆", "▇"))]
            assert "".join(inside).isascii()


async def test_an_answer_that_is_late_is_said_while_it_is_waited_for(screen: Screen) -> None:
    last = recorded("memscale", "series 2 run 05")[-1]
    await screen.show(last)
    assert "no answer" not in screen.text
    screen.app._arrived -= HandFed.interval + 9.0
    screen.app._show_title()
    await screen.press("1")
    # Or later, on a busy machine.
    assert re.search(r"no answer for 36\d\d s", screen.lines[0])
    await screen.show(last)
    assert "no answer" not in screen.text


async def test_names_cannot_control_the_terminal_nor_break_the_columns() -> None:
    evil = decoder("utf-8")("\x1b[31mred\x07 [bold]x[/] 表空間".encode())
    frames = recorded("memscale", "series 2 run 05")
    waiting = Session(8, 1, evil, evil, database=evil, doing="lock", seconds=5.0, blocked_by=7)
    shown = frame(replace(frames[-1].sample, sessions=Snapshot(0.0, (waiting,))))

    async with started(size=(160, 24)) as screen:
        await screen.show(shown)
        await screen.press("4")
        assert "\x1b" not in screen.text and "\x07" not in screen.text
        assert r"\x1b[31mred\x07 [bold]x[/] 表空間" in screen.text
        head, _, row, *_ = screen.below("Spid")
        assert cell_len(row.partition(" lock ")[0]) + 1 == head.index("Doing")


async def test_enter_opens_a_blocker_and_keys_of_pg_activity_choose_and_sort() -> None:
    frames = recorded("storm", "lock storm")
    snapshot = frames[-1].sample.sessions
    assert snapshot
    head = blocking_trees(snapshot.sessions)[0].session.spid
    async with started(size=(200, 60)) as screen:
        await screen.show(frames[-1])
        await screen.press("f3")
        assert screen.app._part == "blocking"
        await screen.press("enter")
        assert f"Session {head}" in screen.text and f"kill {head}" in screen.text
        assert screen.feed.looked_at == head and "none, or not read yet" in screen.text
        waited = replace(snapshot, waits=(replace(WAITS, spid=head),))
        await screen.show(replace(frames[-1], sample=replace(frames[-1].sample, sessions=waited)))
        assert "waiting for a lock" in screen.text and "in 5 s" in screen.text and "90 s" in screen.text
        await screen.press("escape", "f1", "t")
        assert screen.feed.looked_at is None
        assert screen.app._part == "sessions" and "Time▼" in screen.text
        for title in ("Login", "Host", "CPU", "Reads", "Wait event", "Text"):
            assert title in screen.text


@pytest.mark.slow
async def test_thousands_of_sessions_are_cut_to_what_can_be_drawn(screen: Screen) -> None:
    many = tuple(Session(spid, 1, "sa", doing="cpu", seconds=float(spid)) for spid in range(1, 2001))
    last = recorded("storm", "lock storm")[-1]
    await screen.show(replace(last, sample=replace(last.sample, sessions=Snapshot(0.0, many))))
    await screen.press("5")
    table = screen.app.query_one(DataTable)
    assert table.row_count == 301 and str(table.get_row_at(300)[0]) == "+1700"
    await screen.press("slash", *"1999", "enter")
    assert table.row_count == 1 and "1999" in screen.text


async def test_quitting_stops_the_feed() -> None:
    async with started() as screen:
        await screen.press("q")
    assert screen.feed.stopped


# The pictures of docs/top.md


# In every build one that keys have been pressed for; each takes seconds.
@pytest.mark.parametrize(
    "name",
    [pytest.param(each, marks=() if each == "top-blocking" else pytest.mark.slow) for each in PICTURES],
)
def test_a_picture_is_up_to_date_and_asks_no_server_for_anything(name: str) -> None:
    """Else: python -m tests.exporter.top.pictures."""
    svg = (FOLDER / f"{name}.svg").read_text()
    assert words(svg) == words(draw(PICTURES[name]))
    assert not re.findall(r"url\([^#]", svg) and "@font-face" not in svg
    assert f"](images/{name}.svg)" in (DOCS / "top.md").read_text()


def test_the_page_explains_the_word_of_every_finding() -> None:
    page = (DOCS / "top.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"`([A-Z ]+)`", page))
    assert {finding.word for finding in catalogue().findings.values()} - explained == set()
