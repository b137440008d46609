"""Capture files: everything that was recorded comes back, and other files give one clear line."""

import gzip
import json
import random
import resource
from collections.abc import Callable
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.exporter.simulated import CATALOGUE

from ase_exporter.capture.file import (
    Capture,
    CaptureHeader,
    ColumnType,
    Execution,
    Failure,
    Result,
    Value,
    header_line,
    lines,
    load,
    parse,
)
from ase_exporter.catalogue.facts import SERVER
from ase_exporter.errors import UserError
from ase_exporter.top.feed import ReplayFeed
from ase_exporter.untrusted.entry import one_line
from ase_simulator.replay.file import recorded

MUTATIONS = 150
HEADER = CaptureHeader("0.1.0", "2026-01-01T00:00:00+00:00", 3, 15.0, driver={"FreeTDS": "1.3.17"})

VALUES: dict[str, st.SearchStrategy[Value]] = {
    "bool": st.booleans(),
    "int": st.integers(-(1 << 31), (1 << 31) - 1),
    "float": st.floats(allow_nan=False),
    "str": st.text(max_size=20).map(one_line),
    "bytearray": st.binary(max_size=20),
    "Decimal": st.decimals(-(10**6), 10**6, places=2),
    "datetime": st.datetimes(datetime(1753, 1, 1)),
    "date": st.dates(date(1753, 1, 1)),
    "time": st.times(),
}
SIZES = {"int": (10, 0), "float": (53, 0), "str": (255, 0), "bytearray": (255, 0), "Decimal": (18, 2)}


@st.composite
def results(draw: st.DrawFn) -> Result:
    kinds = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    columns = [ColumnType(draw(st.text(max_size=9)), kind, *SIZES.get(kind, (23, 3)), True) for kind in kinds]
    row = st.tuples(*[st.none() | VALUES[kind] for kind in kinds]).map(list)
    return Result(draw(st.lists(st.text(), max_size=2)), columns, draw(st.lists(row, max_size=4)))


STATEMENTS = st.builds(
    Execution,
    scrape=st.integers(1, 3),
    sql=st.text(min_size=1),
    seconds=st.floats(0, 100).map(lambda seconds: round(seconds, 6)),
    results=st.lists(results(), max_size=2),
    error=st.none()
    | st.builds(
        Failure, kind=st.just("query_failed"), number=st.integers(1, 30000), text=st.text().map(one_line)
    ),
    at=st.none() | st.floats(0, 1e6).map(lambda seconds: round(seconds, 6)),
)


@given(statements=st.lists(STATEMENTS, max_size=4))
@settings(max_examples=40)
def test_what_was_recorded_comes_back(statements: list[Execution]) -> None:
    taken = Capture(HEADER, statements)
    assert parse(list(lines(taken)), "x") == taken
    # The simulator can replay all of it.
    assert [recorded(each).sql for each in statements] == [each.sql for each in statements]


SERVER_COLUMNS = [ColumnType("", kind, *SIZES[kind], True) for kind in ("str", "str", "int")]
OTHER_COLUMNS = [
    ColumnType(kind[0].lower(), kind, *SIZES.get(kind, (23, 3)), True)
    for kind in ("Decimal", "datetime", "time", "bytearray")
]
SERVER_ROW: list[Value] = ["Adaptive Server Enterprise/16.0", "X", 2048]
OTHER_ROW: list[Value] = [Decimal("1.50"), datetime(2026, 1, 2, 3, 4, 5), time(3, 4), b"ab"]
EXAMPLE = [
    Execution(1, SERVER, 0.1, [Result(["hello"], SERVER_COLUMNS, [SERVER_ROW])]),
    Execution(2, "select d, d, t, b from x", 0.1, [Result((), OTHER_COLUMNS, [OTHER_ROW, [None] * 4])]),
    Execution(3, "select 1 from y", 0.1, [], Failure("query_failed", 208, "y not found")),
]
GOOD = [json.loads(line) for line in lines(Capture(HEADER, EXAMPLE))]
JUNK: list[object] = [None, True, -1, 0, 1 << 70, 1e300, "", "x", "9" * 400, "2026-99-99"]
JUNK += [[], {}, [[]], {"a": 1}]


def mutated(random_: random.Random) -> bytes:
    """A file that was damaged: a value replaced, a key or line gone or twice, text or bytes changed."""
    copy = json.loads(json.dumps(GOOD))
    kind = random_.randrange(6)
    if kind == 0:
        copy.insert(random_.randrange(len(copy)), random_.choice([*JUNK, copy[-1], copy[0]]))
    elif kind == 1:
        del copy[random_.randrange(len(copy))]
    elif kind in (2, 3):
        node = random_.choice(copy)
        while True:
            keys = list(node) if isinstance(node, dict) else range(len(node))
            if not keys:
                break
            key = random_.choice(list(keys))
            if isinstance(node[key], dict | list) and node[key] and random_.random() < 0.7:
                node = node[key]
                continue
            if kind == 2 and random_.random() < 0.3:
                del node[key]
            else:
                node[key] = random_.choice(JUNK)
            break
    text = "\n".join(map(json.dumps, copy)).encode() + b"\n"
    if kind == 4:
        at = random_.randrange(len(text))
        text = text[:at] + random_.randbytes(random_.randrange(4)) + text[at + random_.randrange(3) :]
    data = gzip.compress(text, mtime=0)
    if kind == 5:
        at = random_.randrange(len(data))
        data = random_.choice(
            [data[:at], data[:at] + random_.randbytes(2) + data[at + 2 :], random_.randbytes(at)]
        )
    return data


def show(path: Path) -> object:
    """Show it as `top --replay` does."""
    return list(ReplayFeed(path, CATALOGUE).frames())


def complaint(read: Callable[[Path], object], path: Path) -> str:
    """The message of the reader; '' if it accepts the file. Other exceptions fail the test."""
    try:
        read(path)
    except UserError as raised:
        return str(raised)
    return ""


def test_a_damaged_file_gives_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "damaged.capture.gz"
    for seed in range(MUTATIONS):
        path.write_bytes(mutated(random.Random(seed)))
        said = [complaint(load, path), complaint(show, path)]
        for message in filter(None, said):
            assert message.removeprefix("--replay ").startswith(f"{path}: "), seed
            assert "\n" not in message, seed
            assert "expected" in message or "No such file" in message, seed
        assert said[1] or not said[0], seed


def test_a_file_that_grows_when_it_is_decompressed_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(b" " * 10_000))
    monkeypatch.setattr("ase_exporter.capture.file.MAX_SIZE", 1000)
    with pytest.raises(UserError, match="expected at most"):
        load(path)


@pytest.mark.parametrize("part", ["{},", "[],"])
def test_a_line_that_takes_many_times_its_bytes_is_refused(tmp_path: Path, part: str) -> None:
    path = tmp_path / "bomb.gz"
    key = "results" if part == "{}," else "rows"
    with gzip.open(path, "wt", 1) as file:
        file.write(header_line(HEADER) + "\n")
        file.write(f'{{"scrape":1,"sql":"x","seconds":0,"{key}":[')
        for _ in range(30):
            file.write(part * 300_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match=r"expected at most [\d,]+ times"):
        load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 << 10
