"""Charts over time: what is drawn, and what is said of it."""

import math

from ase_exporter.views.chart import HEIGHT, WIDTH, time_chart

NAN = math.nan


def test_what_is_not_known_interrupts_a_line_and_a_point_alone_is_a_dot() -> None:
    chart = time_chart([([0, 100, 200, 300], [1.0, NAN, 4.0, 2.0])], "MB", 0, 400)
    dot, line = (points for points, _ in chart.lines)
    assert dot.split() == [f"0.0,{HEIGHT * 0.75:.1f}"] * 2
    assert line.split() == [f"{WIDTH / 2:.1f},0.0", f"{WIDTH * 0.75:.1f},{HEIGHT / 2:.1f}"]
    assert [text for _, _, text in chart.bands] == [
        "1970-01-01 00:00:00: 1 MB",
        "1970-01-01 00:03:20: 4 MB",
        "1970-01-01 00:05:00: 2 MB",
    ]
    assert time_chart([([0], [NAN])], "", 0, 400).lines == []


def test_lines_with_names_have_colours_and_share_what_is_said_of_a_time() -> None:
    times = [0.0, 100.0]
    chart = time_chart([(times, [50.0, 80.0]), (times, [NAN, 20.0])], "%", 0, 200, names=["busy", "spinning"])
    assert [colour for _, colour in chart.lines] == [1, 2]
    assert [text.partition(": ")[2] for _, _, text in chart.bands] == ["busy 50 %", "busy 80, spinning 20 %"]


def test_many_points_are_drawn_as_the_mean_of_those_of_a_band() -> None:
    chart = time_chart([([0, 1, 1000], [1.0, 3.0, 4.0])], "", 0, 1000)
    assert chart.lines[0][0].split()[0].endswith(f",{HEIGHT / 2:.1f}")
    assert chart.bands[0][2] == "1970-01-01 00:00:00 to 00:00:01: 1 to 3"


def test_gaps_and_marks_are_where_they_were() -> None:
    chart = time_chart([], "", 1000, 2000, gaps=[(1500, 2000, "no data")], marks=[(1250, "restart")])
    assert chart.gaps == [(WIDTH / 2, WIDTH / 2, "no data")] and chart.marks == [(WIDTH / 4, "restart")]
