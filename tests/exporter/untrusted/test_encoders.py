"""Every sink with names that attack it, read by what reads it in earnest: no name says more than its characters."""

import ast
import io
import json
import re
import subprocess
from html.parser import HTMLParser
from itertools import chain

import pytest
from markdown_it import MarkdownIt
from rich.table import Table
from sqlglot import Dialect, TokenType
from tests.exporter.untrusted.hostile_names import hostile_names

from ase_exporter.mcp_server.privacy import encoded
from ase_exporter.untrusted import encoders
from ase_exporter.untrusted.entry import one_line
from ase_exporter.untrusted.terminal import PlainConsole
from ase_exporter.views.view import Foreign

NAMES = hostile_names()
SQL = Dialect.get_or_raise("tsql")
NO_NAME = re.compile(rb"[!-/:->@\[-^`{-~]")


class _Texts(HTMLParser):
    """The texts and the tags of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.text, self.tags = "", list[str]()
        self.feed(page)
        self.close()

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)


def test_markdown() -> None:
    for name in NAMES:
        shown = one_line(name)
        table = encoders.markdown_table([("name", "waits"), (name, "7")], numbers={1})
        page = _Texts(MarkdownIt("commonmark", {"linkify": True}).enable(["table"]).render(table))
        assert page.tags == ["table", "thead", "tr", "th", "th", "tbody", "tr", "td", "td"]
        assert shown.strip() in page.text


def test_grafana() -> None:
    for name in NAMES:
        page = _Texts(encoders.grafana(name))
        assert (page.text, page.tags) == (one_line(name), [])


@pytest.mark.parametrize(
    ("encode", "kinds"),
    [
        (encoders.sql_identifier, {TokenType.VAR, TokenType.IDENTIFIER}),
        (encoders.sql_literal, {TokenType.STRING}),
    ],
)
def test_sql_is_one_token_or_refused(encode: object, kinds: set[TokenType]) -> None:
    for name in NAMES:
        assert callable(encode)
        try:
            text = encode(one_line(name))
        except encoders.UnwritableNameError as error:
            assert str(error).isprintable()
            assert not name.isprintable() or "\\" in name or not name.isascii() or len(name) > 255
            continue
        (token,) = SQL.tokenize(text)
        assert token.text == name
        assert token.token_type in kinds or name.isidentifier()
        with pytest.raises(encoders.UnwritableNameError):
            encode(f"{name}\ngo")


@pytest.mark.parametrize("name", ["", "a" * 256, "\u00e9" * 256])
def test_names_that_ase_cannot_have_are_refused(name: str) -> None:
    for encode in (encoders.sql_identifier, encoders.sql_literal):
        with pytest.raises(encoders.UnwritableNameError):
            encode(name)


@pytest.fixture(scope="module")
def accepted() -> list[str]:
    """The characters that a name may have."""
    plane = map(chr, chain(range(0x80, 0xD800), range(0xF900, 0xFFFE)))
    return [each for each in plane if encoders.is_writable(each)]


@pytest.mark.parametrize("charset", ["ASCII", "ISO-8859-1", "CP1252", "CP437"])
def test_no_name_becomes_another_in_a_smaller_character_set(charset: str, accepted: list[str]) -> None:
    assert {"é", "Ω", "名", "ー"} <= {*accepted}
    converted = subprocess.run(
        ["iconv", "-c", "-f", "UTF-8", "-t", f"{charset}//TRANSLIT"],
        input="\n".join(accepted).encode(),
        env={"LC_ALL": "C.UTF-8"},
        stdout=subprocess.PIPE,
    ).stdout.split(b"\n")
    assert len(converted) == len(accepted)
    signs = {each: text for each, text in zip(accepted, converted, strict=True) if NO_NAME.search(text)}
    assert signs == {}


def test_promql() -> None:
    for name in NAMES:
        shown = one_line(name)
        assert ast.literal_eval(encoders.promql(shown)) == shown


def test_terminal_and_assistant() -> None:
    for name in NAMES:
        shown = one_line(name)
        out = io.StringIO()
        table = Table(box=None)
        table.add_column("name", no_wrap=True)
        table.add_row(shown)
        console = PlainConsole(file=out, width=50_000, force_terminal=True)
        console.print(shown, soft_wrap=True)
        console.print(table)
        assert [line.strip() for line in out.getvalue().replace("\x1b[1m", "").replace("\x1b[0m", "").split("\n")] == [
            shown.strip(), "name", shown.strip(), "",
        ]  # fmt: skip
        answer = encoded({"name": Foreign(name)})
        assert answer["name"].isprintable() and answer["foreign"] == ["name"]
        assert json.loads(json.dumps(answer)) == answer
