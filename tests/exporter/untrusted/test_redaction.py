"""Secrets are taken out of texts, as they are and as URLs quote them."""

import logging
from collections.abc import Callable
from urllib.parse import quote, quote_plus

import pytest

from ase_exporter import logs
from ase_exporter.errors import UserError
from ase_exporter.untrusted import redaction
from ase_exporter.untrusted.redaction import REDACTED, redact, remember

SECRETS = [
    "pl4nted-Secret", "it's \"pl4\\dted\" x", "pa(ss wörd/+?", "aaaaaa!%41", "x" * 30, "\u65e5\u672c\u8a9e-planted",
]  # fmt: skip
FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "other case": str.swapcase,
    "URL": lambda text: quote(text, safe=""),
    "path of a URL": quote,
    "form": quote_plus,
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_secret_is_taken_out_as_it_is_and_as_urls_quote_it(
    form: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for secret in SECRETS:
        monkeypatch.setattr(redaction, "_secrets", {})
        remember(secret)
        assert redact(f"Msg 4002: login failed: {form(secret)}.") == f"Msg 4002: login failed: {REDACTED}."


def test_a_secret_within_another_leaves_nothing_of_it() -> None:
    for secret in ("planted", "planted-password", "password"):
        remember(secret)
    assert redact("planted-password, password") == f"{REDACTED}, {REDACTED}"


def test_our_own_name_is_no_place_to_read_a_secret_from(monkeypatch: pytest.MonkeyPatch) -> None:
    for secret in ("exporter", "ase", "export", "exporter-77", "ase_exporter"):
        monkeypatch.setattr(redaction, "_secrets", {})
        remember(secret)
        for own in ("run ase-exporter check", "DIR: exporter.yaml: Not a directory"):
            assert redact(own) == own
        assert redact(f"login {secret}") == f"login {REDACTED}"
    assert redact("ase_exporter") == REDACTED


def test_short_secrets_are_words() -> None:
    remember("sa1")
    assert redact("sa1 or visa1: 'sa1'") == f"{REDACTED} or visa1: '{REDACTED}'"
    remember("")
    remember("  ")
    assert redact("a  b") == "a  b"


def test_errors_and_the_log_show_no_secret(capsys: pytest.CaptureFixture[str]) -> None:
    remember(SECRETS[0])
    error = UserError(f"server said {SECRETS[0]}")
    assert (str(error), *error.lines) == (f"server said {REDACTED}",) * 2
    for log_format in ("text", "json"):
        logs.configure(log_format, "info")
        try:
            raise ValueError(SECRETS[0])
        except ValueError:
            logging.getLogger("x").exception("it said %s", SECRETS[0])
    shown = capsys.readouterr().err
    assert shown.count(REDACTED) == 4
    assert SECRETS[0] not in shown
