"""The web configuration file as it is now: reloaded when it, or a certificate that it names, has changed."""

import logging
import os
import ssl
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

from ase_exporter.config.web import CIPHER_SUITES, TlsServer, WebSettings
from ase_exporter.errors import UserError
from ase_exporter.regular_files import read_bytes
from ase_exporter.web.loading import keep, kept

log = logging.getLogger(__name__)

_VERSIONS = {"TLS12": ssl.TLSVersion.TLSv1_2, "TLS13": ssl.TLSVersion.TLSv1_3}
_VERIFY_MODES = {
    "NoClientCert": ssl.CERT_NONE,
    "VerifyClientCertIfGiven": ssl.CERT_OPTIONAL,
    "RequireAndVerifyClientCert": ssl.CERT_REQUIRED,
}
# Modification time, size and inode; None if there is no file.
_FileState = tuple[int, int, int] | None
_Loaded = tuple[WebSettings, ssl.SSLContext | None]


class WebConfig:
    """Settings and TLS context. ok: whether the last load succeeded; if not, the previous settings stay."""

    def __init__(self, path: Path | None = None, memory: Sequence[int] = ()) -> None:
        """Load the file, if there is one, or what was loaded last if it is bad now. Raises UserError.

        memory: descriptors, each of which keeps the file, or one of those that it names, for the next process.
        """
        self._path = path
        self._memory = memory
        self._settings = WebSettings()
        self._context: ssl.SSLContext | None = None
        self._files: dict[Path, _FileState] = {}
        self.ok = True
        if path is not None:
            try:
                self._use(path, *self._load(path))
            except UserError as error:
                bad, old = self._files, [*map(kept, memory)]
                if not old or not old[0]:
                    raise
                self._settings, self._context = self._load(old[0], old[1:])
                self._files = bad
                self._note_problem(error)

    def settings(self) -> WebSettings:
        """The current settings; loads the file first if it has changed. Called for every request."""
        if self._path is not None and any(_state(path) != state for path, state in self._files.items()):
            try:
                settings, context = self._load(self._path)
                if (context is None) != (self._context is None):
                    raise UserError(
                        f"{self._path}: tls_server_config: TLS is switched on and off by a restart only"
                    )
                self._use(self._path, settings, context)
                log.info("web configuration loaded")
            except UserError as error:
                self._note_problem(error)
        return self._settings

    def _use(self, path: Path, settings: WebSettings, context: ssl.SSLContext | None) -> None:
        self._settings, self._context, self.ok = settings, context, True
        tls = settings.tls_server_config
        files = tls.files(path.parent).values() if tls else ()
        for file, descriptor in zip((path, *files), self._memory, strict=False):
            keep(file, descriptor)

    def _note_problem(self, error: UserError) -> None:
        self.ok = False
        log.error("web configuration not loaded, keeping the old one: %s", error)

    def tls(self) -> ssl.SSLContext | None:
        """A context that serves each new connection with the current settings; None without TLS."""
        return None if self._context is None else ReloadingContext.of(self.current_context)

    def current_context(self) -> ssl.SSLContext:
        """The TLS context of the current settings. Raises RuntimeError without TLS."""
        self.settings()
        if self._context is None:
            raise RuntimeError("this server has no TLS")
        return self._context

    def _load(self, path: Path, instead: Sequence[Path | None] = ()) -> _Loaded:
        """instead: of the files that it names."""
        self._files = {path: _state(path)}
        # pydantic and YAML take 10 MiB: only for those who have such a file.
        from ase_exporter.config import yaml_files

        settings = yaml_files.load(path, WebSettings)
        tls = settings.tls_server_config
        if tls is None:
            return settings, None
        files = tls.files(path.parent)
        files |= {key: file for key, file in zip(files, instead, strict=False) if file}
        self._files |= {file: _state(file) for file in files.values()}
        return settings, server_context(tls, path, files)


def _state(path: Path) -> _FileState:
    try:
        status = os.stat(path)  # noqa: PTH116  # faster than Path.stat
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


def server_context(settings: TlsServer, file: Path, paths: Mapping[str, Path]) -> ssl.SSLContext:
    """The context for these settings of that file. Raises UserError, which names the file and the key."""
    for key, path in paths.items():
        try:
            read_bytes(path)
        except OSError as error:
            raise UserError(f"{file}: tls_server_config.{key}: {path}: {error.strerror}") from error
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = _VERSIONS[settings.min_version]
    context.maximum_version = _VERSIONS[settings.max_version]
    if settings.prefer_server_cipher_suites:
        context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE
    else:
        context.options &= ~ssl.OP_CIPHER_SERVER_PREFERENCE
    key = "cert_file"
    try:
        # Without a password, OpenSSL would ask at the terminal for that of an encrypted key.
        context.load_cert_chain(paths["cert_file"], paths["key_file"], password="")
        if "client_ca_file" in paths:
            key = "client_ca_file"
            context.load_verify_locations(paths[key])
        key = "cipher_suites"
        if settings.cipher_suites:
            context.set_ciphers(":".join(CIPHER_SUITES[suite] for suite in settings.cipher_suites))
    except (ssl.SSLError, ValueError) as error:
        reason = getattr(error, "reason", None) or "expected PEM, and a key without a passphrase"
        raise UserError(
            f"{file}: tls_server_config.{key}: cannot be used: {str(reason).lower().replace('_', ' ')}"
        ) from error
    context.verify_mode = _VERIFY_MODES[settings.client_auth_type]
    return context


class ReloadingContext(ssl.SSLContext):
    """A context that serves each new connection with the current one of a function.

    asyncio keeps one context as long as it listens.
    """

    _current: Callable[[], ssl.SSLContext]

    @classmethod
    def of(cls, current: Callable[[], ssl.SSLContext]) -> Self:
        """The context that delegates to the current one."""
        context = cls(ssl.PROTOCOL_TLS_SERVER)
        context._current = current
        return context

    def wrap_bio(self, *arguments: Any, **options: Any) -> ssl.SSLObject:
        """Start the server's side of one connection."""
        return self._current().wrap_bio(*arguments, **options)
