"""Annotations from the command line, sent to an exporter, which posts them to Grafana."""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from ase_exporter.changes.change import Change
from ase_exporter.errors import UserError
from ase_exporter.regular_files import read_text, trusting
from ase_exporter.untrusted.answers import ask, no_answer
from ase_exporter.untrusted.entry import one_line
from ase_exporter.untrusted.redaction import remember, without_credentials

TIMEOUT = 10.0
# Bytes: far more than the longest history takes.
MAX_ANSWER = 64 << 20
# By method and status of an answer; what an exporter refuses otherwise, it explains.
_EXPECTED = {
    ("GET", 401): ": expected --user and --password-file",
    ("POST", 401): ": expected --user and --password-file",
    ("GET", 404): ": expected the address of an exporter at --url",
}


@dataclass(frozen=True, slots=True)
class ExporterClient:
    """A client of an exporter. All methods raise UserError."""

    url: str
    user: str = ""
    password_file: Path | None = None
    ca_file: Path | None = None

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            shown = without_credentials(self.url)
            raise UserError(f"--url: {shown!r}: expected a URL such as http://127.0.0.1:10150")
        if self.password_file and not self.user:
            raise UserError("--password-file: expected --user with it")

    def annotate(self, change: Change) -> None:
        """Send an annotation. Idempotent: the same id may be sent again."""
        body = {name: getattr(change, name) for name in ("id", "target", "tags", "who", "at")}
        self.request("POST", "/annotations", json=body | {"text": change.name})

    def finish(self, change_id: str, end: float, failed: str) -> None:
        """Turn an annotation into a region that ends at a Unix time; failed: '' or how it failed."""
        self.request("POST", f"/annotations/{change_id}/finish", json={"end": end, "failed": failed})

    def request(self, method: str, path: str, *, accepted: int = 200, **content: Any) -> bytes:
        """Send a request; returns the body of the answer. While the exporter is started again, requests wait for it.

        accepted: a status whose answer says why. Raises UserError if the exporter rejects it or cannot be reached.
        """
        shown = f"{without_credentials(self.url).rstrip('/')}{path}"
        try:
            with httpx2.Client(
                auth=(self.user, self._password()) if self.user else None, verify=self._verify()
            ) as client:
                limits = {"max_bytes": MAX_ANSWER, "seconds": TIMEOUT}
                status, body = ask(client, method, f"{self.url.rstrip('/')}{path}", **limits, **content)
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = f"{no_answer(error)}: expected an exporter that runs (ase-exporter serve) at --url"
            raise UserError(f"{shown}: {reason}") from None
        if not httpx2.codes.is_success(status) and status != accepted:
            reason = one_line(" ".join(body.decode(errors="replace").split()))[:200]
            raise UserError(f"{shown}: HTTP {status}: {reason}{_EXPECTED.get((method, status), '')}")
        return body

    def _verify(self) -> ssl.SSLContext | bool:
        try:
            return trusting(self.ca_file) if self.ca_file else True
        except OSError as error:
            raise UserError(f"--ca-file: {self.ca_file}: {error.strerror or error}") from error

    def _password(self) -> str:
        if self.password_file is None:
            raise UserError("--user: expected --password-file with it")
        try:
            password = read_text(self.password_file).rstrip("\r\n")
        except OSError as error:
            raise UserError(f"--password-file: {self.password_file}: {error.strerror}") from error
        remember(password)
        return password
