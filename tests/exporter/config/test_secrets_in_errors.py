"""An error in a file that may hold secrets never shows a value of it, and is one line with its place."""

import pytest
from tests.planted import MISPLACED

from ase_exporter.config import Config, yaml_files
from ase_exporter.config.web import WebSettings
from ase_exporter.errors import UserError

TARGETS = "targets:\n  - {name: T, host: 127.0.0.1}\n"
# Text after `auth:` -> line of the error, and part of its message.
AUTH = {
    # YAML's own characters at the beginning of a password.
    "\n  default:\n    user: a\n    password: *PW\n": (6, "a value that begins with * must be quoted"),
    "\n  default:\n    user: a\n    password: &PW x\n    user: *PWx\n": (7, "begins with * must be quoted"),
    "\n  default:\n    user: a\n    password: !PW\n": (6, "a value that begins with ! must be quoted"),
    "\n  default:\n    user: a\n    password: !PW! x\n": (6, ""),
    "\n  default:\n    user: a\n    password: @PW\n": (
        6,
        "a value that begins with this character must be quoted",
    ),
    "\n  default:\n    user: a\n    password: %PW\n": (
        6,
        "a value that begins with this character must be quoted",
    ),
    "\n  default:\n    user: a\n    password: {PW\n": (7, "expected ',' or '}'"),
    "\n  default:\n    user: a\n    password: 'PW'x\n": (6, "expected <block end>"),
    '\n  default:\n    user: a\n    password: "PW\\q"\n': (6, "found unknown escape character"),
    '\n  default:\n    user: a\n    password: "PW\x01"\n': (6, "not valid YAML"),
    # Values that YAML makes something of.
    "\n  default:\n    user: a\n    password: !!int PW\n": (6, "a value that cannot be read must be quoted"),
    "\n  default:\n    user: a\n    password: !!float PW\n": (6, "a value that cannot be read"),
    "\n  default:\n    user: a\n    password: !!bool PW\n": (6, "a value that cannot be read"),
    "\n  default:\n    user: a\n    password: !!timestamp PW\n": (6, "a value that cannot be read"),
    "\n  default:\n    user: a\n    password: !!binary PW\n": (6, ""),
    "\n  default:\n    user: a\n    password: 2024-13-45\n": (6, "a value that cannot be read"),
    # A missing space, a comma, a colon.
    "\n  default:\n    user: a\n    password:PW\n": (7, "could not find expected ':'"),
    "\n  default:\n    user: a\n    password: x: PW\n": (6, "KEY: VALUE is not possible here"),
    " {default: {user: a, password:PW}}\n": (3, "expected KEY: VALUE, with a space after the colon"),
    " {default: {user: a, password: x,PW}}\n": (3, "a value with a comma in it must be quoted"),
    " {default: {user: a, 'password: PW'}}\n": (3, "expected KEY: VALUE"),
    " {default: {user: a, PW, PW}}\n": (3, "expected KEY: VALUE"),
    " {default: {user: a, PW: 1, PW: 2}}\n": (3, "this key is defined twice"),
    " {default: {user: a, password_PW: x}}\n": (3, "auth.default.(not shown): unknown key"),
    " {PW}\n": (3, "expected KEY: VALUE"),
    " {default: {user: a, [PW]: 1}}\n": (3, "expected a simple key"),
    " {default: {user: a, {PW: 1}: 1}}\n": (3, "expected a simple key"),
    # In the wrong place, or of the wrong type.
    " {user: a, password: PW}\n": (3, "auth.user: expected KEY: VALUE"),
    " {default: {user: a, password: [PW]}}\n": (3, "auth.default.password: Input should be a valid string"),
    " {default: {user: a, password: {PW: 1}}}\n": (3, "auth.default.password"),
    " PW\n": (3, "auth: expected KEY: VALUE"),
}
OTHERS = {
    "targets: [{name: T, host: h, port: PW}]\n": (1, "targets.0.port: Input should be a valid integer"),
    "targets: [{name: T, host: 'sa:PW@h'}]\n": (1, "targets.0.host: expected a host name or an address"),
    "targets: [{name: T, host: h, auth: PW}]\n": (1, "target T: its auth is not defined under auth"),
    "targets: [{name: T, host: h, module: PW}]\nauth: {default: {user: a, password: b}}\n": (
        1,
        "target T: its module is not defined under modules",
    ),
    "probe_allowlist: {addresses: [{address: 'sa:PW@h:5000'}]}\n": (
        1,
        "addresses.0.address: expected HOST:PORT",
    ),
    "changes: {grafana: {url: 'https://u:PW@g', token_file: x}}\n": (1, "changes.grafana.url: expected"),
    "PW\n": (1, "(top level)"),
    "- PW\n": (1, "(top level)"),
    "[" * 3000 + "PW": (1, "nested too deeply"),
}
WEB = {
    "basic_auth_users: {a:PW}\n": (1, "expected KEY: VALUE"),
    "basic_auth_users: {a: PW}\n": (1, "basic_auth_users.a: expected a bcrypt hash"),
    "basic_auth_users: PW\n": (1, "basic_auth_users: expected KEY: VALUE"),
    "basic_auth_users:\n  a:$2y$PW: 1\n": (2, "basic_auth_users.(not shown): Input should be"),
}
CASES = [
    *((Config, f"{TARGETS}auth:{text}", *expected) for text, expected in AUTH.items()),
    *((Config, text, *expected) for text, expected in OTHERS.items()),
    *((WebSettings, text, *expected) for text, expected in WEB.items()),
]


@pytest.mark.parametrize(
    ("form", "text", "line", "expected"), CASES, ids=[text[-40:] for _, text, _, _ in CASES]
)
def test_an_error_shows_its_place_and_what_was_expected_but_no_value(
    form: type[object], text: str, line: int, expected: str
) -> None:
    with pytest.raises(UserError) as caught:
        yaml_files.parse(text.replace("PW", MISPLACED), form, "file.yml")
    message = str(caught.value)
    assert message.startswith(f"file.yml:{line}: ")
    assert expected in message
    assert "\n" not in message
    assert MISPLACED.lower() not in message.lower()
    # Nor in a traceback, if somebody logs one.
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


@pytest.mark.parametrize("key", ["password_env", "password_file"])
def test_a_password_in_the_place_of_its_variable_or_file_is_not_shown(key: str) -> None:
    settings = yaml_files.parse(
        TARGETS + f"auth: {{default: {{user: a, {key}: {MISPLACED}}}}}\n", Config, "x.yml"
    )
    with pytest.raises(UserError) as caught:
        settings.auth["default"].read_password()
    assert MISPLACED not in str(caught.value)
    assert key in str(caught.value)
