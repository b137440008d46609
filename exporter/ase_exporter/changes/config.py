"""Settings of the changes part: how often to look, how long to remember, and Grafana's API."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from annotated_types import Ge, Gt

from ase_exporter.checks import Check, Seconds, Strict
from ase_exporter.errors import UserError


def _http(url: str) -> str:
    if not url.startswith(("http://", "https://")) or "@" in url:
        raise ValueError("expected an http:// or https:// address without a password in it")
    return url.rstrip("/")


def _certificates(file: Path) -> Path:
    # OpenSSL takes 4 MB: only for those who have such a file.
    import ssl

    try:
        ssl.create_default_context(cafile=file)
    except OSError as error:
        raise ValueError(f"expected a PEM file of certificates: {error.strerror or error}") from error
    return file


@dataclass(frozen=True, kw_only=True, slots=True)
class GrafanaConfig(Strict):
    """Where to post annotations. The token is read at each post, so it may be rotated.

    timeout: of one request; longest_pause: between two tries while Grafana is away. tags: put on every
    annotation besides those that say what changed. ca_file: of the authority that signed Grafana's
    certificate, if the system does not know it.
    """

    url: Annotated[str, Check(_http)]
    token_file: Path
    tags: tuple[str, ...] = ()
    timeout: Annotated[Seconds, Gt(0)] = 10.0
    longest_pause: Annotated[Seconds, Gt(0)] = 60.0
    ca_file: Annotated[Path, Check(_certificates)] | None = None

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


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangesConfig(Strict):
    """Looking for changes. interval: between two looks at a target; keep, keep_most: how long and how many
    changes are remembered; recent: how long a change stands in the metrics."""

    enabled: bool = True
    interval: Annotated[Seconds, Ge(1)] = 60.0
    keep: Annotated[Seconds, Ge(3600)] = 400 * 86400.0
    keep_most: Annotated[int, Ge(100)] = 100_000
    recent: Annotated[Seconds, Ge(60)] = 6 * 3600.0
    grafana: GrafanaConfig | None = None
