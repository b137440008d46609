"""Tables and lines of a terminal: where they are broken, and what is kept together."""

from rich.console import RenderableType
from rich.text import Text

from ase_exporter.untrusted.terminal import PlainConsole, TextLine, WordTable
from ase_exporter.views.figures import short

TITLES = ("Server", "Headline", "mean", "greatest")


def printed(width: int, shown: RenderableType) -> list[str]:
    console = PlainConsole(width=width)
    with console.capture() as capture:
        console.print(shown)
    return capture.get().splitlines()


def test_columns_that_do_not_fit_are_lines_below_their_row() -> None:
    rows = [("PROD_1", "CPU io", "23.2 %", "23.2 %"), ("PROD_1", "CPU idle", "35.2 %", "99 %")]
    assert printed(26, WordTable(TITLES, rows, (2, 3))) == [
        "Server  Headline    mean",
        "PROD_1  CPU io    23.2 %",
        "  greatest 23.2 %",
        "PROD_1  CPU idle  35.2 %",
        "  greatest 99 %",
    ]


def test_a_figure_that_is_too_long_for_a_line_is_broken_between_words_and_a_name_is_shown_once() -> None:
    rows = [("1", "waiting for a lock that another holds", "1", ""), ("1", "nothing", "", "2")]
    assert printed(20, WordTable(TITLES, rows, (2, 3))) == [
        "Server",
        "1",
        "  Headline waiting",
        "  for a lock that",
        "  another holds,",
        "  mean 1",
        "  Headline nothing,",
        "  greatest 2",
    ]


def test_a_row_whose_name_would_take_many_lines_is_not_put_into_a_table() -> None:
    name = "Engine Utilization (Tick %) / ThreadPool : syb_default_pool / Engine 0"
    titles, row = ("", "user_busy", "idle"), (name, "25.1", "74.9")
    assert printed(32, WordTable(titles, [row], (1, 2)))[-1] == "  user_busy 25.1, idle 74.9"
    assert printed(60, WordTable(titles, [row], (1, 2)))[1].endswith("       25.1  74.9")


def test_a_number_stays_with_its_unit() -> None:
    assert printed(15, TextLine("- a sample of 60 s, and 23.2 % of 12 MiB/s")) == [
        "- a sample of",
        "  60 s, and",
        "  23.2 % of",
        "  12 MiB/s",
    ]
    styled = Text("0 % ", "bold")
    styled.append("of it", "red")
    (line,) = printed(40, TextLine(styled))
    assert line == "0 % of it"


def test_a_count_of_things_has_no_decimals() -> None:
    assert [short(number) for number in (0.0, 6.0, 99.0, 6.2, 6000.0)] == ["0", "6", "99", "6.20", "6.0k"]
