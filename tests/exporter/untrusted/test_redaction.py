"""Secrets are taken out of texts in every common form."""

import base64
import html
import json
import logging
import time
from collections.abc import Callable
from itertools import product
from urllib.parse import quote, quote_plus

import pytest

from ase_exporter import logs
from ase_exporter.errors import UserError
from ase_exporter.untrusted import redaction
from ase_exporter.untrusted.entry import one_line
from ase_exporter.untrusted.redaction import REDACTED, redact, remember

SECRETS = [
    "pl4nted-Secret", "it's \"pl4\\dted\" x", "pa(ss wörd/+?", "aaaaaa!%41", "x" * 30, "\u65e5\u672c\u8a9e-planted",
]  # fmt: skip
FORMS: dict[str, Callable[[str], str]] = {
    "plain": str,
    "reversed": lambda text: text[::-1],
    "other case": str.swapcase,
    "hex": lambda text: text.encode().hex(),
    "HEX with colons": lambda text: text.encode().hex(":").upper(),
    "URL": lambda text: quote(text, safe=""),
    "form": quote_plus,
    "every character for a URL": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "JSON": lambda text: json.dumps(text)[1:-1],
    "HTML": html.escape,
    "entities": lambda text: "".join(f"&#{ord(each)};" for each in text),
    "SQL": lambda text: text.replace("'", "''"),
    "Python": ascii,
    "bytes of Python": lambda text: repr(text.encode()),
    "Latin-1 in Python": lambda text: repr(text.encode("latin-1", "xmlcharrefreplace")),
    "long escapes": lambda text: "".join(f"\\U{ord(each):08x}" for each in text),
    "UTF-16 in hex": lambda text: text.encode("utf-16-le").hex(),
    "UTF-16 in base64": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
    "nulls between": lambda text: one_line("\0".join(text)),
    "characters without a shape between": lambda text: one_line("\u200b".join(text)),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for URLs": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "base64 with a user": lambda text: base64.b64encode(f"monitor:{text}".encode()).decode(),
    "base64 within more": lambda text: base64.b64encode(f"ab{text}cd".encode()).decode(),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_a_secret_is_taken_out_in_every_form(
    form: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for secret, split in product(SECRETS, ["", " ", "\n"]):
        monkeypatch.setattr(redaction, "_secrets", {})
        shown = form(secret)
        if split:
            middle = len(shown) // 2
            shown = shown[:middle] + split + shown[middle:]
        remember(secret)
        found = redact(f"Msg 4002: login failed: {shown}.")
        assert REDACTED in found
        assert shown not in found
        if form is str:
            assert found == f"Msg 4002: login failed: {REDACTED}."


@pytest.mark.parametrize("piece", ["+", "k+", "a", " ", "%20", "\\n", "&lt;", "%", "0x"])
def test_time_is_in_proportion_to_the_text(piece: str) -> None:
    for secret in ("k++++Word1", "Secret+Word1", "aaaaaaaaab", "\\n%20+&lt;x"):
        remember(secret)
    began = time.process_time()
    redact("k" + piece * (30_000 // len(piece)))
    assert time.process_time() - began < 2


def test_letters_that_become_two_in_lower_case_hide_nothing() -> None:
    remember(SECRETS[0])
    hidden = SECRETS[0].encode().hex()
    assert redact(f"\u0130\u0130\u0130 {hidden} x") == f"\u0130\u0130\u0130 {REDACTED} x"


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
            logging.getLogger("x").exception("it said %s", SECRETS[0][::-1])
    shown = capsys.readouterr().err
    assert shown.count(REDACTED) == 4
    assert SECRETS[0] not in shown
