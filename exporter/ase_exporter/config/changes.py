"""Settings of change detection, the history of changes, and annotations in Grafana."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge

from ase_exporter.config.fields import Seconds, Strict, Validator
from ase_exporter.errors import UserError
from ase_exporter.regular_files import read_text, trusting
from ase_exporter.untrusted.redaction import remember


def http_address(url: str) -> str:
    if not url.startswith(("http://", "https://")) or "@" in url:
        raise ValueError("expected an http:// or https:// address without a password in it")
    return url.rstrip("/")


def _certificates(file: Path) -> Path:
    try:
        trusting(file)
    except OSError as error:
        raise ValueError(f"expected a PEM file of certificates: {error.strerror or error}") from error
    return file


@dataclass(frozen=True, kw_only=True, slots=True)
class GrafanaConfig(Strict):
    """Annotations in Grafana.

    url: Grafana's address. token_file: a file with an API token, read for each annotation, so that it may be rotated.
    ca_file: certificates (PEM) of the authority that signed Grafana's, if the system does not trust it.
    """

    url: Annotated[str, Validator(http_address)]
    token_file: Path
    ca_file: Annotated[Path, Validator(_certificates)] | None = None

    def read_token(self) -> str:
        """The current token. Raises UserError if its file cannot be read."""
        try:
            token = read_text(self.token_file).strip()
        except OSError as error:
            raise UserError(f"Grafana token file {self.token_file}: {error.strerror}") from error
        if not token.isascii() or not token.isprintable() or not token:
            raise UserError(f"Grafana token file {self.token_file}: expected one line with a token")
        remember(token)
        return token


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangesConfig(Strict):
    """Detection of configuration changes.

    interval: seconds between two snapshots of a target. retention, max_changes: age in seconds and number of the
    changes that the history keeps. recent: seconds for which the metrics show a change.
    """

    enabled: bool = True
    interval: Annotated[Seconds, Ge(1)] = 60.0
    retention: Annotated[Seconds, Ge(3600)] = 400 * 86400.0
    max_changes: Annotated[int, Ge(100)] = 100_000
    recent: Annotated[Seconds, Ge(60)] = 6 * 3600.0
    grafana: GrafanaConfig | None = None
