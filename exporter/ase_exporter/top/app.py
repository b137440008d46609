"""The screen of `ase-exporter top`: keys, and where the text goes. The only module that needs textual.

What is shown comes from `view` and `detail`, as for scripts; this module holds which server, part, order and moment
the user has chosen.
"""

import contextlib
import os
import time
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import DataTable, Input, Static

from ase_exporter.errors import UserError
from ase_exporter.top import detail, view
from ase_exporter.top.feed import Delivered, Feed
from ase_exporter.top.frames import Frame, History, Scene
from ase_exporter.top.header import baseline, header, title
from ase_exporter.top.plain import padded, table_lines
from ase_exporter.top.tables import tables
from ase_exporter.top.text import UNICODE, Glyphs, clock
from ase_exporter.top.view import PARTS, ScreenRow, ScreenTable, table

SERVERS = "servers"
# From this height on, the most important rows of the other parts are shown below the table.
TALL = 40
TALL_SHARE = 8
HELP = Path(__file__).with_name("help.txt").read_text(encoding="utf-8").rstrip()
KEYS = "q quit  space pause  / filter  s sort  enter details  1-9 parts  ? help"
# As in pg_activity: what runs, what waits, who blocks; and the order by CPU, reads and time.
FUNCTION_KEYS = {"f1": "sessions", "f2": "waits", "f3": "blocking"}
ORDER_KEYS = {"c": "CPU", "d": "Reads", "t": "Time"}
# Rows of a table on the screen: a server may have thousands of sessions, and each row takes time to draw.
MAX_ROWS = 300
# What enter shows of a row, by part.
DETAILS = {
    "spinlocks": detail.spinlock_lines,
    "caches": detail.cache_lines,
    "sessions": detail.session_lines,
    "blocking": detail.session_lines,
}
# Lines below the head that a small terminal keeps: the title, the parts, the first rows of the table, the keys.
BELOW = 5


class NewFrame(Message):
    """A frame has arrived."""

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.frame = frame


class TopApp(App[UserError]):
    """Shows the frames of a feed. Returns why no more of them came, unless the user has left.

    characters: those that the terminal can show.
    """

    CSS_PATH = "screen.css"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,ctrl+c", "quit", priority=False),
        Binding("space", "pause", priority=False),
        Binding("slash", "filter"),
        Binding("s", "sort"),
        Binding("r", "reverse"),
        Binding("escape", "leave"),
        Binding("comma", "step(-1)"),
        Binding("full_stop", "step(1)"),
        Binding("tab", "next_part", priority=True),
        Binding("question_mark", "help"),
        *(Binding(str(number), f"part({number - 1})") for number in range(1, len(PARTS) + 1)),
        *(Binding(key, f"part({PARTS.index(name)})") for key, name in FUNCTION_KEYS.items()),
        *(Binding(key, f"sort_by('{title}')") for key, title in ORDER_KEYS.items()),
    ]
    ENABLE_COMMAND_PALETTE = False
    TITLE = "ase-exporter top"

    def __init__(self, feed: Feed, characters: Glyphs = UNICODE) -> None:
        # With NO_COLOR textual shows greys, unless it is told to use the terminal's own colours.
        super().__init__(ansi_color="NO_COLOR" in os.environ)
        self._feed = feed
        self._glyphs = characters
        self._histories = {name: History(len(feed.targets)) for name in feed.targets}
        self._arrived: dict[str, float] = {}
        self._target: str | None = feed.targets[0] if len(feed.targets) == 1 else None
        self._part = PARTS[0]
        self._order: dict[str, tuple[int, bool]] = {}
        self._filter = ""
        self._paused: Frame | None = None
        self._page: tuple[str, str] | None = None
        self._titles: tuple[str, ...] = ()
        self._shows = False

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="head", markup=False)
        yield Static(id="parts", markup=False)
        shown: DataTable[Text] = DataTable(id="table", cursor_type="row", cell_padding=0)
        yield shown
        yield Static(id="more", markup=False)
        with VerticalScroll(id="page"):
            yield Static(id="page-text", markup=False)
        yield Input(id="filter", placeholder="filter: text that rows contain, then enter")
        yield Static(KEYS, id="keys", markup=False)

    def on_mount(self) -> None:
        """Start to sample, and to say every second how long an answer is overdue."""
        self.query_one(DataTable).focus()
        self._shows = True
        self._feed.start(self._deliver)
        self.set_interval(1.0, self._show_title)
        self._show()

    def on_unmount(self) -> None:
        self._feed.stop()

    def _deliver(self, new: Delivered) -> None:
        """Called on the feed's threads."""
        if isinstance(new, UserError):
            self.call_later(self.exit, new)
        else:
            self.post_message(NewFrame(new))

    def on_new_frame(self, message: NewFrame) -> None:
        """Keep a frame, and show it unless the screen is paused."""
        target = message.frame.sample.target
        self._histories[target].append(message.frame)
        self._arrived[target] = time.monotonic()
        if self._paused is None:
            self._show()

    def on_resize(self, event: events.Resize) -> None:
        # The size of the app follows this event.
        self.call_after_refresh(self._show)

    # Keys

    def action_part(self, number: int) -> None:
        if self._target is not None:
            self._part = PARTS[number]
            self._leave_page()
            self._show(to_top=True)

    def action_next_part(self) -> None:
        self.action_part((PARTS.index(self._part) + 1) % len(PARTS))

    def action_pause(self) -> None:
        """Stop the screen at the last frame, or let it go on."""
        history = self._histories.get(self._target or "")
        if self._paused is not None or not history:
            self._paused = None
        else:
            self._paused = history[-1]
        self._feed.pause(self._paused is not None)
        self._show()

    def action_step(self, by: int) -> None:
        """While paused, show an earlier or later frame."""
        history = self._histories.get(self._target or "")
        if self._paused is None or not history:
            return
        kept = list(history.until(history[-1]))
        index = kept.index(self._paused) if self._paused in kept else 0
        self._paused = kept[min(len(kept) - 1, max(0, index + by))]
        self._show()

    def action_sort(self) -> None:
        column, _ = self._order.get(self._shown_part, (-1, True))
        self._order[self._shown_part] = ((column + 1) % max(1, len(self._titles)), True)
        self._show(to_top=True)

    def action_sort_by(self, title: str) -> None:
        """Sort by the column of that title, the largest first, if the part has one."""
        titles = [each.rstrip("v^▼▲") for each in self._titles]
        if title in titles:
            self._order[self._shown_part] = (titles.index(title), True)
            self._show(to_top=True)

    def action_reverse(self) -> None:
        column, descending = self._order.get(self._shown_part, (0, True))
        self._order[self._shown_part] = (column, not descending)
        self._show(to_top=True)

    def action_filter(self) -> None:
        """Ask for a text that rows must contain."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.value = self._filter
        # At once: the next key is the first letter.
        self.set_focus(field)

    def on_input_changed(self, event: Input.Changed) -> None:
        self._filter = event.value
        self._show(to_top=True)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self._leave_filter()

    def action_leave(self) -> None:
        """Leave the filter, the page or the server, in this order."""
        if self.query_one("#filter", Input).display:
            self._filter = ""
            self._leave_filter()
        elif self._page is not None:
            self._leave_page()
        elif self._filter:
            self._filter = ""
        elif len(self._feed.targets) > 1:
            self._target = self._paused = None
            self._feed.pause(False)
        self._show()

    def action_help(self) -> None:
        self._leave_page()
        self._page = ("help", "")
        self._show()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Go into a server, a spinlock or a cache."""
        key = str(event.row_key.value)
        if not key:
            # A line that is no row: nothing is known, or so many more rows.
            return
        if self._target is None:
            self._target = key
            self._show(to_top=True)
        elif self._part in DETAILS:
            self._page = (self._part, key)
            if DETAILS[self._part] is detail.session_lines:
                self._feed.look_at(self._target, int(key))
            self._show()

    def _leave_page(self) -> None:
        self._page = None
        self._feed.look_at(self._target or "", None)

    # The screen

    @property
    def _has_widgets(self) -> bool:
        """False before they are mounted, and while they go: the timer ticks until all have gone."""
        return self._shows and self.is_running

    @property
    def _shown_part(self) -> str:
        return self._part if self._target is not None else SERVERS

    @property
    def _frame(self) -> Frame | None:
        """The frame on the screen; None before the first one, and for the list of servers."""
        history = self._histories.get(self._target or "")
        return self._paused or (history[-1] if history else None)

    def _leave_filter(self) -> None:
        self.query_one("#filter", Input).display = False
        self.set_focus(self.query_one(DataTable))

    def _show(self, *, to_top: bool = False) -> None:
        if not self._has_widgets:
            return
        self._show_title()
        scene = self._scene()
        self.query_one("#head", Static).update(self._head(scene))
        self.query_one("#parts", Static).update(self._parts())
        self._show_table(self._table(scene), to_top=to_top)
        self._show_more(scene)
        self._show_page(scene)

    def _scene(self) -> Scene | None:
        frame = self._frame
        if self._target is None or frame is None:
            return None
        return Scene(frame, self._histories[self._target], self._glyphs, self.size.width)

    def _show_title(self) -> None:
        if not self._has_widgets:
            return
        scene = self._scene()
        text = Text(title(scene) if scene else self._target or f"{len(self._feed.targets)} servers")
        if self._paused is not None:
            text.append(f"  PAUSED at {clock(self._paused.sample.at)}", style="reverse")
        elif (late := self._late()) > 0:
            text.append(f"  no answer for {late:.0f} s", style="reverse")
        if self._filter:
            text.append(f"  filter: {self._filter}", style="reverse")
        if scene:
            text.append(baseline(scene))
        self.query_one("#title", Static).update(text)

    def _late(self) -> float:
        """Seconds since the last frame of the server, if the next one is overdue; else 0."""
        if not self._feed.is_live or self._target not in self._arrived:
            return 0.0
        passed = time.monotonic() - self._arrived[self._target]
        return passed if passed > self._feed.interval + 2.0 else 0.0

    def _head(self, scene: Scene | None) -> Text:
        if scene is None:
            return Text("Waiting for the first sample" if self._target else "")
        # On a small terminal the last lines make room for the table; the verdict stays.
        return Text("\n").join(header(scene)[: max(1, self.size.height - BELOW)])

    def _parts(self) -> Text:
        if self._target is None:
            return Text()
        text = Text()
        for number, name in enumerate(PARTS, 1):
            text.append(
                f"{number} {tables()[name].label or name}", style="reverse" if name == self._part else ""
            )
            text.append(" ")
        return text

    def _table(self, scene: Scene | None) -> ScreenTable:
        if self._target is None:
            return view.server_list([history[-1] for history in self._histories.values() if history])
        return table(self._part, scene) if scene else ScreenTable("", (("", "left"),), (), "")

    def _show_table(self, table: ScreenTable, *, to_top: bool) -> None:
        shown = self.query_one(DataTable)
        titles = self._column_titles(table)
        cursor, offset = self._cursor_key(shown), shown.scroll_offset
        shown.clear(columns=True)
        # Where a single line is left, a row says more than titles.
        shown.show_header = self.size.height > BELOW
        self._titles = titles
        arranged = self._arranged(table)
        rows = arranged[:MAX_ROWS]
        heads, *lines = padded(table.titles, [titles, *(row.cells for row in rows)])
        shown.add_columns(*map(Text, heads))
        for row, cells in zip(rows, lines, strict=True):
            shown.add_row(*(Text(cell, style=row.style) for cell in cells), key=row.key)
        if not rows:
            empty = "No row contains the filter" if table.rows else table.empty
            shown.add_row(Text(empty, style="dim"), *[Text() for _ in titles[1:]], key="")
        if more := len(arranged) - len(rows):
            shown.add_row(Text(f"+{more}", style="dim"), *[Text() for _ in titles[1:]], key="")
        # The cursor follows its row, once the user has moved it from the first one.
        if not to_top and cursor:
            with contextlib.suppress(ValueError):
                shown.move_cursor(row=[row.key for row in rows].index(cursor), scroll=False)
        if not to_top:
            shown.scroll_to(x=offset.x, y=offset.y, animate=False)

    def _cursor_key(self, shown: "DataTable[Text]") -> str:
        if not 0 < shown.cursor_row < shown.row_count:
            return ""
        return str(shown.coordinate_to_cell_key(shown.cursor_coordinate).row_key.value)

    def _column_titles(self, table: ScreenTable) -> tuple[str, ...]:
        column, descending = self._order.get(self._shown_part, (-1, True))
        arrow = ("v" if descending else "^") if self._glyphs.levels[-1] == "#" else "▼" if descending else "▲"
        return tuple(
            title + (arrow if index == column else "") for index, (title, _) in enumerate(table.titles)
        )

    def _arranged(self, table: ScreenTable) -> list[ScreenRow]:
        """The rows that pass the filter, in the user's order; each key once."""
        wanted = self._filter.lower()
        rows = {
            row.key: row for row in table.rows if any(wanted in cell.lower() for cell in row.cells)
        }.values()
        if self._shown_part not in self._order:
            return list(rows)
        column, descending = self._order[self._shown_part]

        def by(row: ScreenRow) -> tuple[bool, float, str]:
            value = row.values[min(column, len(row.values) - 1)]
            return (True, 0.0, value.lower()) if isinstance(value, str) else (False, float(value), "")

        return sorted(rows, key=by, reverse=descending)

    def _show_more(self, scene: Scene | None) -> None:
        """On a tall terminal, the first rows of the other parts."""
        more = self.query_one("#more", Static)
        more.display = scene is not None and self._page is None and self.size.height >= TALL
        if scene is None or not more.display:
            return
        text = Text()
        for name in ("sessions", "waits", "blocking"):
            if name != self._part:
                for line in table_lines(table(name, scene), limit=self.size.height // TALL_SHARE):
                    line.truncate(self.size.width)
                    text.append_text(line).append("\n")
        more.update(text)

    def _show_page(self, scene: Scene | None) -> None:
        page = self.query_one("#page", VerticalScroll)
        table = self.query_one(DataTable)
        if page.display != (self._page is not None):
            page.display, table.display = self._page is not None, self._page is None
            self.set_focus(table if self._page is None else page)
        if self._page is not None:
            self.query_one("#page-text", Static).update(self._page_text(scene, *self._page))

    def _page_text(self, scene: Scene | None, kind: str, key: str) -> Text:
        if kind == "help" or scene is None:
            return Text(HELP)
        return Text("\n").join(DETAILS[kind](scene, key))
