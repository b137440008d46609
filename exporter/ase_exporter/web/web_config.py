"""The web configuration file as it is now: reloaded when it, or a certificate that it names, has changed."""

import logging
import os
import ssl
from pathlib import Path

from ase_exporter.config.web import WebSettings
from ase_exporter.errors import UserError
from ase_exporter.web.tls import ReloadingContext, server_context

log = logging.getLogger(__name__)

# Modification time, size and inode; None if there is no file.
_FileState = tuple[int, int, int] | None


class WebConfig:
    """Settings and TLS context. ok: whether the last load succeeded; if not, the previous settings stay."""

    def __init__(self, path: Path | None = None) -> None:
        """Load the file, if there is one. Raises UserError."""
        self._path = path
        self._settings = WebSettings()
        self._context: ssl.SSLContext | None = None
        self._files: dict[Path, _FileState] = {}
        self.ok = True
        if path is not None:
            self._settings, self._context = self._load(path)

    def settings(self) -> WebSettings:
        """The current settings; loads the file first if it has changed. Called for every request."""
        if self._path is not None and any(_state(path) != state for path, state in self._files.items()):
            try:
                settings, context = self._load(self._path)
                if (context is None) != (self._context is None):
                    raise UserError(
                        f"{self._path}: tls_server_config: TLS is switched on and off by a restart only"
                    )
                self._settings, self._context, self.ok = settings, context, True
                log.info("web configuration loaded")
            except UserError as error:
                self.ok = False
                log.error("web configuration not loaded, keeping the old one: %s", error)
        return self._settings

    def tls(self) -> ssl.SSLContext | None:
        """A context that serves each new connection with the current settings; None without TLS."""
        return None if self._context is None else ReloadingContext.of(self.current_context)

    def current_context(self) -> ssl.SSLContext:
        """The TLS context of the current settings. Raises RuntimeError without TLS."""
        self.settings()
        if self._context is None:
            raise RuntimeError("this server has no TLS")
        return self._context

    def _load(self, path: Path) -> tuple[WebSettings, ssl.SSLContext | None]:
        self._files = {path: _state(path)}
        # pydantic and YAML take 10 MiB: only for those who have such a file.
        from ase_exporter.config import yaml_files

        settings = yaml_files.load(path, WebSettings)
        tls = settings.tls_server_config
        if tls is None:
            return settings, None
        self._files |= {file: _state(file) for file in tls.files(path.parent).values()}
        return settings, server_context(tls, path)


def _state(path: Path) -> _FileState:
    try:
        status = os.stat(path)  # noqa: PTH116  # faster than Path.stat
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
