"""No SQL text of users, no control characters and no endless text leaves the server."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ase_exporter.assets import load_yaml
from ase_exporter.mcp_server.privacy import LEFT_OUT, MAX_TEXT, public_text

TEXTS: dict[str, list[str]] = load_yaml(Path(__file__).with_name("texts.yaml").read_text())


@pytest.mark.parametrize("text", TEXTS["statements"])
def test_statements_are_left_out(text: str) -> None:
    assert public_text(text) == LEFT_OUT


@pytest.mark.parametrize("text", TEXTS["names"])
def test_names_and_settings_stay(text: str) -> None:
    assert public_text(text) == text


@given(st.text())
def test_any_text_becomes_one_short_printable_line(text: str) -> None:
    found = public_text(text)
    assert len(found) <= max(MAX_TEXT, len(LEFT_OUT))
    assert found.isprintable()
    found.encode()
