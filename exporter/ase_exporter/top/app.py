"""The screen of `ase-exporter top`: keys, and where the text goes. With `rows` the only one that needs textual.

What is shown comes from `header`, `view` and `detail`, as for scripts; this module holds which part, order and moment
the user has chosen.
"""

import os
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.widgets import ContentSwitcher, DataTable, Footer, HelpPanel, Input, Static, Tab, Tabs

from ase_exporter.errors import UserError
from ase_exporter.top import view
from ase_exporter.top.detail import session_lines
from ase_exporter.top.feed import Delivered, Feed
from ase_exporter.top.frames import Frame, Scene
from ase_exporter.top.header import baseline, header, title
from ase_exporter.top.rows import Rows
from ase_exporter.top.tables import tables
from ase_exporter.top.text import UNICODE, Glyphs, clock
from ase_exporter.top.view import PARTS, ScreenTable

# Rows of a table on the screen: a server may have thousands of sessions, and each row takes time to draw.
MAX_ROWS = 300
# Lines below the head that a small terminal keeps: the title, the parts, the first rows of the table, the keys.
BELOW = 5


class NewFrame(Message):
    """A frame has arrived."""

    def __init__(self, frame: Frame) -> None:
        super().__init__()
        self.frame = frame


def _keys(shown: str, description: str, actions: Mapping[str, str], **options: Any) -> list[BindingType]:
    """Keys that are one line of the help. actions: by key; show: in the last line, too."""
    first, *others = (Binding(key, action, description, key_display=shown) for key, action in actions.items())
    return [
        replace(first, **({"show": False} | options)),
        *(replace(each, system=True, show=False) for each in others),
    ]


class TopApp(App[UserError], inherit_bindings=False):
    """Shows the frames of a feed. Returns why no more of them came, unless the user has left.

    characters: those that the terminal can show.
    """

    CSS_PATH = "screen.css"
    BINDINGS: ClassVar[list[BindingType]] = [
        *_keys("1-9", "Tables", {str(at): f"part('{name}')" for at, name in enumerate(PARTS, 1)}, show=True),
        *_keys("tab", "Next table", {"tab": "next_part(1)"}, priority=True),
        *_keys("shift+tab", "Table before", {"shift+tab": "next_part(-1)"}, priority=True),
        # As in pg_activity: what runs, what waits, who blocks; and the order by CPU, reads and time.
        *_keys(
            "F1 F2 F3",
            "Sessions, waits, blocking",
            {"f1": "part('sessions')", "f2": "part('waits')", "f3": "part('blocking')"},
        ),
        *_keys("/", "Filter", {"slash": "filter"}, show=True),
        *_keys("s", "Sort", {"s": "sort"}, tooltip="by the next column", show=True),
        *_keys("r", "Reverse the order", {"r": "reverse"}),
        *_keys(
            "c d t",
            "Sort by CPU, reads, time",
            {"c": "sort_by('CPU')", "d": "sort_by('Reads')", "t": "sort_by('Time')"},
        ),
        *_keys("space", "Pause", {"space": "pause"}, tooltip="and go on; sampling does", show=True),
        *_keys("escape", "Back", {"escape": "leave"}),
        *_keys("?", "Help", {"question_mark": "help"}, show=True),
        *_keys("q", "Quit", {"q": "quit", "ctrl+c": "quit"}, show=True),
    ]
    ENABLE_COMMAND_PALETTE = False
    TITLE = "ase-exporter top"

    def __init__(self, feed: Feed, characters: Glyphs = UNICODE) -> None:
        # With NO_COLOR textual shows greys, unless it is told to use the terminal's own colours.
        super().__init__(ansi_color="NO_COLOR" in os.environ)
        self._feed = feed
        self._glyphs = characters
        self._last: Frame | None = None
        # When it arrived, and when the server answered last.
        self._arrived = 0.0
        self._answered: float | None = None
        self._part = PARTS[0]
        # By part: the title of the column, and whether the largest come first.
        self._order: dict[str, tuple[str, bool]] = {}
        self._filter = ""
        self._paused: Frame | None = None
        # The session whose details are shown.
        self._page: str | None = None
        self._shows = False

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        yield Static(id="head", markup=False)
        labels = {name: tables()[name].label or name for name in PARTS}
        yield Tabs(*(Tab(f"{at} {label}", id=name) for at, (name, label) in enumerate(labels.items(), 1)))
        with ContentSwitcher(initial="table"):
            yield Rows()
            with VerticalScroll(id="page"):
                yield Static(markup=False)
        yield Input(id="filter", placeholder="filter: text that rows contain, then enter")
        yield Footer(compact=True)

    def on_mount(self) -> None:
        """Start to sample, and to say every second how long an answer is overdue."""
        self.query_one(Tabs).can_focus = False
        self._table.focus()
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
        self._last = message.frame
        self._arrived = time.monotonic()
        if not message.frame.sample.error:
            self._answered = message.frame.sample.at
        if self._paused is None:
            self._show()

    def on_resize(self, event: events.Resize) -> None:
        # The size of the app follows this event.
        self.call_after_refresh(self._show)

    # Keys

    def action_part(self, name: str) -> None:
        self.query_one(Tabs).active = self._part = name
        self._leave_page()
        self._show(to_top=True)

    def on_tabs_tab_activated(self, event: Tabs.TabActivated) -> None:
        """Show the part of a tab that was clicked on."""
        if event.tab.id and event.tab.id != self._part:
            self.action_part(event.tab.id)

    def action_next_part(self, by: int) -> None:
        self.action_part(PARTS[(PARTS.index(self._part) + by) % len(PARTS)])

    def action_pause(self) -> None:
        """Stop the screen at the last frame, or let it go on."""
        self._paused = self._last if self._paused is None else None
        self._feed.pause(self._paused is not None)
        self._show()

    def action_sort(self) -> None:
        titles = [name for name, _ in self._content().titles]
        before, _ = self._order.get(self._part, ("", True))
        at = titles.index(before) + 1 if before in titles else 0
        self._sort(titles[at % len(titles)])

    def action_sort_by(self, name: str) -> None:
        """Sort by the column of that title, the largest first, if the part has one."""
        if name in (title for title, _ in self._content().titles):
            self._sort(name)

    def action_reverse(self) -> None:
        first = self._content().titles[0][0]
        name, descending = self._order.get(self._part, (first, True))
        self._sort(name, descending=not descending)

    def on_data_table_header_selected(self, event: DataTable.HeaderSelected) -> None:
        """Sort by a column whose title was clicked on."""
        self._sort(self._content().titles[event.column_index][0])

    def _sort(self, name: str, *, descending: bool = True) -> None:
        self._order[self._part] = (name, descending)
        self._show(to_top=True)

    def action_filter(self) -> None:
        """Ask for a text that rows must contain."""
        field = self.query_one(Input)
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
        """Leave the help, the filter or the page, in this order."""
        if self.query(HelpPanel):
            self.action_hide_help_panel()
        elif self.query_one(Input).display:
            self._filter = ""
            self._leave_filter()
        elif self._page is not None:
            self._leave_page()
        else:
            self._filter = ""
        self._show()

    def action_help(self) -> None:
        """Show or hide the keys."""
        (self.action_hide_help_panel if self.query(HelpPanel) else self.action_show_help_panel)()

    def on_data_table_row_selected(self, event: DataTable.RowSelected) -> None:
        """Show what is known of a session."""
        key = str(event.row_key.value)
        # A line that is no row has no key: nothing is known, or so many more rows.
        if key and self._part in ("sessions", "blocking"):
            self._page = key
            self._feed.look_at(int(key))
            self._show()

    def _leave_page(self) -> None:
        self._page = None
        self._feed.look_at(None)

    def _leave_filter(self) -> None:
        self.query_one(Input).display = False
        self.set_focus(self._table)

    # The screen

    @property
    def _table(self) -> Rows:
        return self.query_one("#table", Rows)

    def _scene(self) -> Scene | None:
        """What is on the screen; None before the first frame."""
        shown = self._paused or self._last
        return Scene(shown, self._glyphs, self.size.width, self._answered) if shown else None

    def _show(self, *, to_top: bool = False) -> None:
        # Not before widgets are mounted, nor while they go: the timer ticks until all have gone.
        if not (self._shows and self.is_running):
            return
        scene = self._scene()
        self._show_title()
        self.query_one("#head", Static).update(self._head(scene))
        self._show_table(to_top=to_top)
        self._show_page(scene)

    def _show_title(self) -> None:
        if not (self._shows and self.is_running):
            return
        scene = self._scene()
        text = Text(title(scene) if scene else self._feed.target)
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
        """Seconds since the last frame, if the next one is overdue; else 0."""
        if not self._feed.is_live or not self._last:
            return 0.0
        passed = time.monotonic() - self._arrived
        return passed if passed > self._feed.interval + 2.0 else 0.0

    def _head(self, scene: Scene | None) -> Text:
        if scene is None:
            return Text("Waiting for the first sample")
        # On a small terminal the last lines make room for the table; the verdict stays.
        return Text("\n").join(header(scene)[: max(1, self.size.height - BELOW)])

    def _content(self) -> ScreenTable:
        """The table, without order and filter."""
        scene = self._scene()
        return view.table(self._part, scene) if scene else ScreenTable("", (("", "left"),), (), "")

    def _show_table(self, *, to_top: bool) -> None:
        table = self._content()
        # Where a single line is left, a row says more than titles.
        self._table.show_header = self.size.height > BELOW
        name, descending = self._order.get(self._part, ("", True))
        arranged = view.ordered(view.filtered(table, self._filter), name, descending, self._glyphs)
        empty = "No row contains the filter" if table.rows else table.empty
        self._table.fill(replace(arranged, empty=empty), MAX_ROWS, to_top=to_top)

    def _show_page(self, scene: Scene | None) -> None:
        switcher, shown = self.query_one(ContentSwitcher), "table" if self._page is None else "page"
        if switcher.current != shown:
            switcher.current = shown
            self.set_focus(self.query_one(f"#{shown}"))
        if self._page is not None and scene:
            lines = session_lines(scene, self._page)
            self.query_one("#page Static", Static).update(Text("\n").join(lines))
