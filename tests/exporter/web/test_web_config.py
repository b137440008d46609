"""The web configuration file: TLS, client certificates, basic auth, headers, and reload on change."""

import asyncio
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from shutil import which

import bcrypt
import httpx2
import pytest
from tests.exporter.running_exporter import RunningExporter, exporter
from tests.exporter.web.authority import Authority
from tests.paths import DOCS
from tests.planted import WEB_FILE
from tests.ports import free_block

from ase_exporter.compare.prometheus import Prometheus, PrometheusError
from ase_exporter.config import yaml_files
from ase_exporter.config.web import WebSettings
from ase_exporter.errors import UserError
from ase_exporter.web.auth import Passwords
from ase_exporter.web.web_config import WebConfig

PASSWORD = WEB_FILE
HASH = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(4)).decode()
USERS = f"basic_auth_users: {{scraper: '{HASH}'}}\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("web")


@pytest.fixture(scope="module")
def authority(folder: Path) -> Authority:
    return Authority(folder)


def good(client_auth_type: str = "RequireAndVerifyClientCert", **more: str) -> str:
    """A file that requires a client certificate and a password; paths are relative to it."""
    keys = {
        "cert_file": "server.pem",
        "key_file": "server.key",
        "client_ca_file": "authority.pem",
        "client_auth_type": client_auth_type,
    } | more
    lines = "".join(f"  {key}: {value}\n" for key, value in keys.items())
    headers = "http_server_config: {headers: {X-Frame-Options: deny}}\n"
    return f"tls_server_config:\n{lines}{USERS}{headers}"


@pytest.fixture(scope="module")
def running(folder: Path, authority: Authority) -> Iterator[RunningExporter]:
    authority.sign("server")
    file = folder / "web.yml"
    file.write_text(good(), encoding="utf-8")
    with exporter(folder, "{}", [f"--web.config.file={file}"]) as process:
        yield process


@pytest.fixture
def file(folder: Path, running: RunningExporter, authority: Authority) -> Iterator[Path]:
    """The file that the exporter watches; restored after the test."""
    path = folder / "web.yml"
    yield path
    write(path, good())
    assert get(running, authority).status_code == 200


def write(path: Path, text: str) -> None:
    """Replace a file as editors and configuration managers do."""
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.rename(path)


def get(
    running: RunningExporter,
    authority: Authority,
    *,
    client: str | None = "client",
    expired: bool = False,
    auth: tuple[str, str] | None = ("scraper", PASSWORD),
    max_version: ssl.TLSVersion = ssl.TLSVersion.MAXIMUM_SUPPORTED,
) -> httpx2.Response:
    context = ssl.create_default_context(cafile=str(authority.file))
    context.maximum_version = max_version
    if client:
        context.load_cert_chain(*authority.sign(client, expired=expired))
    return httpx2.get(f"{running.url}/metrics", auth=auth, verify=context, trust_env=False, timeout=60)


def test_the_right_certificate_and_password_get_an_answer(
    running: RunningExporter, authority: Authority
) -> None:
    answer = get(running, authority)
    assert answer.status_code == 200
    assert "ase_exporter_web_config_last_reload_successful 1.0" in answer.text
    assert answer.headers["X-Frame-Options"] == "deny"


@pytest.mark.parametrize(
    "auth", [None, ("scraper", "wrong"), ("stranger", PASSWORD), ("", ""), ("scraper", "x" * 5000)]
)
def test_no_or_wrong_credentials_are_401(
    running: RunningExporter, authority: Authority, auth: tuple[str, str] | None
) -> None:
    answer = get(running, authority, auth=auth)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    assert answer.headers["X-Frame-Options"] == "deny"


def test_missing_expired_and_foreign_certificates_and_plain_http_are_rejected(
    running: RunningExporter, authority: Authority, tmp_path: Path
) -> None:
    with pytest.raises(httpx2.TransportError):
        get(running, authority, client=None)
    with pytest.raises(httpx2.TransportError):
        get(running, authority, client="late", expired=True)
    context = ssl.create_default_context(cafile=str(authority.file))
    context.load_cert_chain(*Authority(tmp_path, "stranger").sign("client"))
    # Nor plain HTTP.
    for url in (running.url, running.url.replace("https", "http")):
        with pytest.raises(httpx2.TransportError):
            httpx2.get(url, auth=("scraper", PASSWORD), verify=context, trust_env=False, timeout=60)


def test_min_version_is_enforced(running: RunningExporter, authority: Authority, file: Path) -> None:
    assert get(running, authority, max_version=ssl.TLSVersion.TLSv1_2).status_code == 200
    write(file, good(min_version="TLS13"))
    with pytest.raises(httpx2.TransportError):
        get(running, authority, max_version=ssl.TLSVersion.TLSv1_2)


def test_a_new_password_and_a_new_certificate_need_no_restart(
    running: RunningExporter, authority: Authority, file: Path
) -> None:
    other = bcrypt.hashpw(b"other", bcrypt.gensalt(4)).decode()
    write(file, good("VerifyClientCertIfGiven").replace(HASH, other))
    assert get(running, authority).status_code == 401
    assert get(running, authority, client=None, auth=("scraper", "other")).status_code == 200
    before = ssl.get_server_certificate(("127.0.0.1", int(running.url.rpartition(":")[2])))
    authority.sign("server")
    after = ssl.get_server_certificate(("127.0.0.1", int(running.url.rpartition(":")[2])))
    assert before != after


def test_a_bad_file_keeps_the_old_one_and_a_metric_says_so(
    running: RunningExporter, authority: Authority, file: Path
) -> None:
    for bad in (
        "nonsense: true\n",
        good(cert_file="none.pem"),
        USERS,
        "basic_auth_users: {scraper: plain}\n",
    ):
        write(file, bad)
        answer = get(running, authority)
        assert answer.status_code == 200
        assert "ase_exporter_web_config_last_reload_successful 0.0" in answer.text
        assert get(running, authority, auth=None).status_code == 401
    assert "web.yml:1: nonsense: unknown key" in running.log
    write(file, good())
    assert "ase_exporter_web_config_last_reload_successful 1.0" in get(running, authority).text


def test_neither_password_nor_hash_is_shown(running: RunningExporter, authority: Authority) -> None:
    shown = get(running, authority).text + running.log
    assert PASSWORD not in shown
    assert HASH not in shown


@pytest.mark.e2e
def test_prometheus_scrapes_with_certificate_and_password(
    running: RunningExporter, authority: Authority, tmp_path: Path
) -> None:
    program = which("prometheus")
    assert program
    certificate, key = authority.sign("prometheus")
    (tmp_path / "password").write_text(PASSWORD, encoding="utf-8")
    job = f"""\
    scrape_interval: 5s
    scheme: https
    static_configs: [{{targets: ['{running.url.removeprefix("https://")}']}}]
    tls_config: {{ca_file: {authority.file}, cert_file: {certificate}, key_file: {key}}}
"""
    credentials = f"    basic_auth: {{username: scraper, password_file: {tmp_path / 'password'}}}\n"
    (tmp_path / "prometheus.yml").write_text(
        f"scrape_configs:\n  - job_name: known\n{job}{credentials}  - job_name: unknown\n{job}",
        encoding="utf-8",
    )
    address = f"127.0.0.1:{free_block(1)}"
    command = [program, f"--config.file={tmp_path / 'prometheus.yml'}", f"--web.listen-address={address}"]
    process = subprocess.Popen(
        [*command, f"--storage.tsdb.path={tmp_path / 'data'}"], stderr=subprocess.DEVNULL
    )
    prometheus = Prometheus(f"http://{address}")
    try:
        end = time.monotonic() + 90
        seen: dict[str, float] = {}
        while len(seen) < 2 and time.monotonic() < end:
            time.sleep(0.25)
            try:
                seen = {series.labels["job"]: series.value for series in prometheus.query("up")}
            except PrometheusError:
                continue
        assert seen == {"known": 1.0, "unknown": 0.0}
    finally:
        prometheus.close()
        process.terminate()
        process.wait(60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("basic_auth_users: {a: secret}\n", "web.yml:1: basic_auth_users.a: expected a bcrypt hash"),
        ("tls_server_config: {cert_file: x}\n", "tls_server_config.key_file: Field required"),
        (good(cert_file="gone.pem"), "tls_server_config.cert_file: .*gone.pem: No such file"),
        (good(cert_file="web.yml"), "tls_server_config.cert_file: cannot be used"),
        (good(key_file="other.key"), "tls_server_config.cert_file: cannot be used: key values mismatch"),
        (good("NoClientCert"), "client_ca_file and a client_auth_type that verifies"),
        (good("RequireAnyClientCert"), "client_auth_type: Input should be"),
        (good(min_version="TLS10"), "min_version: Input should be 'TLS12' or 'TLS13'"),
        (good(min_version="TLS13", max_version="TLS12"), "min_version that is not above max_version"),
        (good(cipher_suites="[RC4]"), "cipher_suites.0: expected one of TLS_ECDHE_RSA_WITH_AES_128"),
        ("http_server_config: {headers: {Set-Cookie: x}}\n", "headers.Set-Cookie"),
        ('http_server_config: {headers: {X-Frame-Options: "a\\nb"}}\n', "headers.X-Frame-Options"),
    ],
)
def test_a_bad_file_is_one_line(
    folder: Path, authority: Authority, tmp_path: Path, text: str, expected: str
) -> None:
    authority.sign("server")
    authority.sign("other")
    for path in folder.glob("*.*"):
        if path.suffix in (".pem", ".key"):
            (tmp_path / path.name).write_bytes(path.read_bytes())
    file = tmp_path / "web.yml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=expected) as caught:
        WebConfig(file)
    assert "\n" not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_an_encrypted_key_is_an_error_and_not_a_prompt(tmp_path: Path) -> None:
    certificate, key = Authority(tmp_path).sign("server")
    command = ["openssl", "ec", "-in", key, "-aes256", "-passout", "pass:passphrase", "-out", key + ".locked"]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    file = tmp_path / "web.yml"
    file.write_text(
        f"tls_server_config: {{cert_file: {certificate}, key_file: {key}.locked}}\n", encoding="utf-8"
    )
    with pytest.raises(UserError, match="a key without a passphrase"):
        WebConfig(file)


def test_a_bad_file_at_start_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "web.yml").write_text("tls: true\n", encoding="utf-8")
    command = [sys.executable, "-m", "ase_exporter", "serve", "--web.listen-address=127.0.0.1:0"]
    ended = subprocess.run(
        [*command, f"--web.config.file={tmp_path / 'web.yml'}"],
        capture_output=True,
        text=True,
        timeout=60,
        env={name: value for name, value in os.environ.items() if not name.startswith("ASE_")},
    )
    assert ended.returncode == 2
    assert ended.stderr.endswith("web.yml:1: tls: unknown key\n")
    assert ended.stderr.count("\n") == 1


def test_the_example_in_the_documentation_is_valid(tmp_path: Path) -> None:
    page = (DOCS / "security.md").read_text(encoding="utf-8")
    example = page.partition("```yaml\n")[2].partition("```")[0].replace("$2y$10$...", HASH)
    settings = yaml_files.parse(example, WebSettings, "security.md")
    assert settings.tls_server_config
    assert settings.tls_server_config.client_auth_type == "RequireAndVerifyClientCert"
    assert settings.basic_auth_users == {"prometheus": HASH}


def test_go_names_of_cipher_suites_are_translated_for_openssl(folder: Path, authority: Authority) -> None:
    authority.sign("server")
    (folder / "suites.yml").write_text(
        good(cipher_suites="[TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]", max_version="TLS12"), encoding="utf-8"
    )
    context = WebConfig(folder / "suites.yml").current_context()
    assert "ECDHE-ECDSA-AES256-GCM-SHA384" in {suite["name"] for suite in context.get_ciphers()}
    assert "ECDHE-RSA-AES128-SHA" not in {suite["name"] for suite in context.get_ciphers()}


def test_bcrypt_runs_once_for_a_correct_password_and_each_time_for_a_wrong_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checked: list[bytes] = []
    real = bcrypt.checkpw

    def check(password: bytes, stored: bytes) -> bool:
        checked.append(password)
        return real(password, stored)

    monkeypatch.setattr("bcrypt.checkpw", check)

    async def ask() -> list[bool]:
        passwords, users = Passwords(), {"scraper": HASH}
        given = [("scraper", PASSWORD), ("scraper", "wrong"), ("stranger", PASSWORD)] * 2
        return [await passwords.match(users, user, password.encode()) for user, password in given]

    assert asyncio.run(ask()) == [True, False, False, True, False, False]
    # An unknown user takes as long as a wrong password, so that the time does not tell which users exist.
    assert [password.decode() for password in checked] == [PASSWORD, "wrong", PASSWORD, "wrong", PASSWORD]
