"""Settings of the changes part: how often to look, how long to remember, and Grafana's API."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from ase_exporter.errors import UserError
from ase_exporter.settings import Model, Seconds


class GrafanaConfig(Model):
    """Where to post annotations. The token is read at each post, so it may be rotated.

    timeout: of one request; longest_pause: between two tries while Grafana is away. tags: put on every
    annotation besides those that say what changed. ca_file: of the authority that signed Grafana's
    certificate, if the system does not know it.
    """

    url: str
    token_file: Path
    tags: tuple[str, ...] = ()
    timeout: Annotated[Seconds, Field(gt=0)] = 10.0
    longest_pause: Annotated[Seconds, Field(gt=0)] = 60.0
    ca_file: Path | None = None

    @field_validator("url")
    @classmethod
    def _http(cls, value: str) -> str:
        if not value.startswith(("http://", "https://")) or "@" in value:
            raise ValueError("expected an http:// or https:// address without a password in it")
        return value.rstrip("/")

    @field_validator("ca_file")
    @classmethod
    def _certificates(cls, value: Path | None) -> Path | None:
        if value is not None:
            # OpenSSL takes 4 MB: not for workers, which never talk to Grafana.
            import ssl

            try:
                ssl.create_default_context(cafile=value)
            except OSError as error:
                raise ValueError(f"expected a PEM file of certificates: {error.strerror or error}") from error
        return value

    def read_token(self) -> str:
        """The token as it is now; UserError if its file cannot be read."""
        try:
            token = self.token_file.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
            raise UserError(f"Grafana token file {self.token_file}: {reason}") from error
        if not token.isascii() or not token.isprintable() or not token:
            raise UserError(f"Grafana token file {self.token_file}: expected one line with a token")
        return token


class ChangesConfig(Model):
    """Looking for changes. interval: between two looks at a target; keep, keep_most: how long and how many
    changes are remembered; recent: how long a change stands in the metrics."""

    enabled: bool = True
    interval: Annotated[Seconds, Field(ge=1)] = 60.0
    keep: Annotated[Seconds, Field(ge=3600)] = 400 * 86400.0
    keep_most: Annotated[int, Field(ge=100)] = 100_000
    recent: Annotated[Seconds, Field(ge=60)] = 6 * 3600.0
    grafana: GrafanaConfig | None = None
