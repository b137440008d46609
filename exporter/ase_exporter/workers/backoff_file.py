"""Keeps login backoffs in the state directory, so that restarts of the exporter do not get a login locked.

The file holds a salted scrypt hash of each refused password, not the password.
"""

import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ase_exporter.ase.login_backoff import HOURLY, Account, LoginBackoff
from ase_exporter.clock import SYSTEM_CLOCK, Clock
from ase_exporter.regular_files import read_text

log = logging.getLogger(__name__)

FILE = "logins.json"
# Seconds. A clock that was wrong when the file was written must not stop logins for longer.
MAX_PAUSE = 60.0


class BackoffFile:
    """The file in a state directory; without a directory nothing is kept."""

    def __init__(self, directory: Path | None, clock: Clock = SYSTEM_CLOCK) -> None:
        self._path = directory / FILE if directory else None
        self._clock = clock

    def load(self) -> dict[Account, list[LoginBackoff]]:
        """The backoffs of the exporter before; none if there is no file or it is damaged."""
        if self._path is None:
            return {}
        try:
            entries: list[dict[str, Any]] = json.loads(read_text(self._path))
            backoffs: dict[Account, list[LoginBackoff]] = {}
            for account, backoff in map(self._read, entries):
                backoffs.setdefault(account, []).append(backoff)
            return backoffs
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            log.error(
                "state directory: %s cannot be read (%s); starting without it", FILE, type(error).__name__
            )
            return {}

    def save(self, backoffs: Mapping[Account, list[LoginBackoff]]) -> None:
        """Write all backoffs."""
        if self._path is None:
            return
        entries = [
            account._asdict() | self._entry(backoff) for account, each in backoffs.items() for backoff in each
        ]
        new = self._path.with_suffix(".new")
        try:
            with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
                json.dump(entries, file)
                file.flush()
                os.fsync(file.fileno())
            new.replace(self._path)
        except OSError as error:
            log.error("state directory: %s cannot be written: %s", FILE, error.strerror)

    def _entry(self, backoff: LoginBackoff) -> dict[str, object]:
        left = backoff.until - self._clock.monotonic()
        return {
            "password": backoff.hashed(),
            "times": backoff.times,
            "until": self._clock.time() + left,
            "directory": backoff.directory,
            "uncertain": backoff.uncertain,
        }

    def _read(self, entry: dict[str, Any]) -> tuple[Account, LoginBackoff]:
        directory, uncertain = bool(entry["directory"]), bool(entry.get("uncertain"))
        longest = HOURLY if directory or uncertain else MAX_PAUSE
        left = min(float(entry["until"]) - self._clock.time(), longest)
        account = Account(str(entry["host"]), int(entry["port"]), str(entry["user"]))
        until = self._clock.monotonic() + left
        stored = str(entry["password"])
        return account, LoginBackoff("", int(entry["times"]), until, directory, uncertain, stored)


NO_FILE = BackoffFile(None)
