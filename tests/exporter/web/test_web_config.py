"""The web configuration file: TLS, client certificates, basic auth, headers, and reload on change."""

import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import bcrypt
import httpx2
import pytest
from tests.exporter.running_exporter import RunningExporter, exporter
from tests.exporter.web.authority import Authority
from tests.planted import WEB_FILE

from ase_exporter.errors import UserError
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


@dataclass(frozen=True)
class Served:
    """An exporter that watches a file, and the authority that it trusts."""

    running: RunningExporter
    authority: Authority
    file: Path

    def write(self, text: str) -> None:
        """Replace the file as editors and configuration managers do."""
        new = self.file.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.rename(self.file)

    def get(
        self,
        client: str | None = "client",
        auth: tuple[str, str] | None = ("scraper", PASSWORD),
        expired: bool = False,
        max_version: ssl.TLSVersion = ssl.TLSVersion.MAXIMUM_SUPPORTED,
    ) -> httpx2.Response:
        """Ask for metrics, with a client's certificate and a password."""
        context = ssl.create_default_context(cafile=str(self.authority.file))
        context.maximum_version = max_version
        if client:
            context.load_cert_chain(*self.authority.sign(client, expired=expired))
        url = f"{self.running.url}/metrics"
        return httpx2.get(url, auth=auth, verify=context, trust_env=False, timeout=60)


@pytest.fixture(scope="module")
def exporting(folder: Path, authority: Authority) -> Iterator[Served]:
    authority.sign("server")
    file = folder / "web.yml"
    file.write_text(good(), encoding="utf-8")
    with exporter(folder, "{}", [f"--web.config.file={file}"]) as process:
        yield Served(process, authority, file)


@pytest.fixture
def served(exporting: Served) -> Iterator[Served]:
    """Its file is restored after the test."""
    yield exporting
    exporting.write(good())
    assert exporting.get().status_code == 200


def test_the_right_certificate_and_password_get_an_answer(served: Served) -> None:
    answer = served.get()
    assert answer.status_code == 200
    assert "ase_exporter_web_config_last_reload_successful 1.0" in answer.text
    assert answer.headers["X-Frame-Options"] == "deny"


@pytest.mark.parametrize(
    "auth", [None, ("scraper", "wrong"), ("stranger", PASSWORD), ("", ""), ("scraper", "x" * 5000)]
)
def test_no_or_wrong_credentials_are_401(served: Served, auth: tuple[str, str] | None) -> None:
    answer = served.get(auth=auth)
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"].startswith("Basic ")
    assert answer.headers["X-Frame-Options"] == "deny"


def test_missing_expired_and_foreign_certificates_and_plain_http_are_rejected(
    served: Served, tmp_path: Path
) -> None:
    with pytest.raises(httpx2.TransportError):
        served.get(client=None)
    with pytest.raises(httpx2.TransportError):
        served.get(client="late", expired=True)
    context = ssl.create_default_context(cafile=str(served.authority.file))
    context.load_cert_chain(*Authority(tmp_path, "stranger").sign("client"))
    # Nor plain HTTP.
    for url in (served.running.url, served.running.url.replace("https", "http")):
        with pytest.raises(httpx2.TransportError):
            httpx2.get(url, auth=("scraper", PASSWORD), verify=context, trust_env=False, timeout=60)


def test_min_version_is_enforced(served: Served) -> None:
    assert served.get(max_version=ssl.TLSVersion.TLSv1_2).status_code == 200
    served.write(good(min_version="TLS13"))
    with pytest.raises(httpx2.TransportError):
        served.get(max_version=ssl.TLSVersion.TLSv1_2)


def test_a_new_password_and_a_new_certificate_need_no_restart(served: Served) -> None:
    other = bcrypt.hashpw(b"other", bcrypt.gensalt(4)).decode()
    served.write(good("VerifyClientCertIfGiven").replace(HASH, other))
    assert served.get().status_code == 401
    assert served.get(client=None, auth=("scraper", "other")).status_code == 200
    before = ssl.get_server_certificate(("127.0.0.1", int(served.running.url.rpartition(":")[2])))
    served.authority.sign("server")
    after = ssl.get_server_certificate(("127.0.0.1", int(served.running.url.rpartition(":")[2])))
    assert before != after


def test_a_bad_file_keeps_the_old_one_and_a_metric_says_so(served: Served) -> None:
    for bad in (
        "nonsense: true\n",
        good(cert_file="none.pem"),
        USERS,
        "basic_auth_users: {scraper: plain}\n",
    ):
        served.write(bad)
        answer = served.get()
        assert answer.status_code == 200
        assert "ase_exporter_web_config_last_reload_successful 0.0" in answer.text
        assert served.get(auth=None).status_code == 401
    assert "web.yml:1: nonsense: unknown key" in served.running.log
    served.write(good())
    assert "ase_exporter_web_config_last_reload_successful 1.0" in served.get().text


@pytest.mark.parametrize("spoilt", ["web.yml", "server.pem", "server.key"])
def test_after_a_crash_the_last_good_files_go_on_to_protect_who_is_served(
    served: Served, spoilt: str
) -> None:
    file = served.file.with_name(spoilt)
    right = file.read_bytes()
    file.write_text("nonsense: true\n", encoding="utf-8")
    try:
        served.running.processes()[1].kill()
        served.running.wait_for("ended by signal 9")
        assert "ase_exporter_web_config_last_reload_successful 0.0" in served.get().text
        assert served.get(auth=None).status_code == 401
        with pytest.raises(httpx2.TransportError):
            served.get(client=None)
    finally:
        file.write_bytes(right)
    assert "ase_exporter_web_config_last_reload_successful 1.0" in served.get().text


# Mistakes in settings: tests/exporter/config/wrong_settings.yaml.
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (good(cert_file="gone.pem"), "tls_server_config.cert_file: .*gone.pem: No such file"),
        (good(cert_file="web.yml"), "tls_server_config.cert_file: cannot be used"),
        (good(key_file="other.key"), "tls_server_config.cert_file: cannot be used: key values mismatch"),
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


def test_go_names_of_cipher_suites_are_translated_for_openssl(folder: Path, authority: Authority) -> None:
    authority.sign("server")
    (folder / "suites.yml").write_text(
        good(cipher_suites="[TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384]", max_version="TLS12"), encoding="utf-8"
    )
    context = WebConfig(folder / "suites.yml").current_context()
    assert "ECDHE-ECDSA-AES256-GCM-SHA384" in {suite["name"] for suite in context.get_ciphers()}
    assert "ECDHE-RSA-AES128-SHA" not in {suite["name"] for suite in context.get_ciphers()}
