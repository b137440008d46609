"""A mistake in settings is one line with its place and what was expected, and shows no value, which may be a secret."""

import copy
import datetime
import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError
from tests.exporter.config.test_configuration_page import TEXT
from tests.planted import MISPLACED

from ase_exporter.assets import load_yaml
from ase_exporter.config import Config, yaml_files
from ase_exporter.config.web import WebSettings
from ase_exporter.errors import UserError

MISTAKES = load_yaml(Path(__file__).with_name("wrong_settings.yaml").read_text(encoding="utf-8"))
TARGETS = "targets:\n  - {name: T, host: 127.0.0.1}\nauth:"
GOOD: str = MISTAKES["good"]
CASES = [
    *(
        (Config, f"{TARGETS}\n  default:\n    user: a\n    password:{text}\n", said)
        for text, *said in MISTAKES["password"]
    ),
    *((Config, f"{TARGETS} {text}", said) for text, *said in MISTAKES["auth"]),
    *((Config, GOOD.replace(old, new), said) for old, new, *said in MISTAKES["change"]),
    *((Config, text, said) for text, *said in MISTAKES["exporter"]),
    *((WebSettings, text, said) for text, *said in MISTAKES["web"]),
]
NESTED = (Config, "[" * 1500 + "PW", ["file.yml:1: ", "nested too deeply"])
PATTERNS = [
    (
        Config,
        f"host: {{processes: [{{database: a, name: '{text}'}}]}}",
        ["name: expected a regular expression"],
    )
    for text in ("(" * 5000 + "PW" + ")" * 5000, "PW{99999999999999999999}", "PW(")
]


@pytest.mark.parametrize(("form", "text", "expected"), [*CASES, NESTED, *PATTERNS])
def test_an_error_shows_its_place_and_what_was_expected_but_no_value(
    form: type[object], text: str, expected: list[str]
) -> None:
    with pytest.raises(UserError) as caught:
        yaml_files.parse(text.replace("PW", MISPLACED), form, "file.yml")
    message = str(caught.value)
    assert all(part in message for part in expected), message
    assert "\n" not in message
    assert MISPLACED.lower() not in message.lower()
    # Nor in a traceback, if somebody logs one.
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Each value of a document, as what holds it and its key there."""
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield value, key
        yield from places(inner)


def test_no_text_of_the_validator_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each value of the configuration that shows every key is replaced by one of each kind that is wrong."""
    # It takes a tenth of a second each time.
    monkeypatch.setattr("ase_exporter.config.changes.trusting", lambda _: None)
    whole, adapter = load_yaml(TEXT), TypeAdapter(Config)
    refused = []
    for holder, key in [*places(whole)]:
        kept = copy.copy(holder[key])
        for wrong in ([1], {1: 2}, {"x y": 1}, None, True, -1.5, math.nan, "x y", datetime.date(2024, 1, 1)):
            holder[key] = wrong
            try:
                adapter.validate_python(whole)
            except ValidationError as error:
                refused += [yaml_files.expectation(each) for each in error.errors()]
        holder[key] = kept
    assert len(refused) > 400
    assert {
        text for text in refused if re.search(r"Input|should|valid |<class|Keys|\[.*-.*\]", text)
    } == set()


@pytest.mark.parametrize("key", ["password_env", "password_file"])
def test_a_password_in_the_place_of_its_variable_or_file_is_not_shown(key: str) -> None:
    text = f"auth: {{default: {{user: a, {key}: {MISPLACED}}}}}\n"
    with pytest.raises(UserError) as caught:
        yaml_files.parse(text, Config, "x.yml").auth["default"].read_password()
    assert MISPLACED not in str(caught.value)
    assert key in str(caught.value)


def test_a_file_that_is_no_certificate_is_named(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").write_text("no certificate")
    grafana = f"{{url: https://host, token_file: /etc/token, ca_file: {tmp_path}/ca.pem}}"
    with pytest.raises(UserError, match="expected a PEM file of certificates"):
        yaml_files.parse(f"changes: {{grafana: {grafana}}}", Config, "config.yaml")
