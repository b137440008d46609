"""The login backoffs of all targets, which survive workers, reloads and restarts."""

from typing import NamedTuple

from ase_exporter.ase.login_backoff import LoginBackoff, LoginBackoffs
from ase_exporter.config import Auth, Config, Target
from ase_exporter.workers.backoff_file import NO_FILE, Account, BackoffFile


class LoginKey(NamedTuple):
    """One login to one server, whatever the target is called."""

    host: str
    port: int
    auth: Auth


class BackoffRegister:
    """The backoffs of one configuration. A login whose `auth` has changed starts without one.

    backoffs: those that last, by login. halted: servers, by host and port, where sp_sysmon is not run again.
    previous: the register of the configuration before. file: where the first register of the process begins.
    """

    def __init__(
        self, config: Config, previous: "BackoffRegister | None" = None, file: BackoffFile = NO_FILE
    ) -> None:
        self._auth, logins = config.auth, list(config.auth.values())
        known = previous.backoffs if previous else {}
        self.backoffs: dict[LoginKey | None, LoginBackoff] = {
            key: each for key, each in known.items() if key and key.auth in logins
        }
        self.halted: set[tuple[str, int]] = set(previous.halted) if previous else set()
        self._file: BackoffFile = previous._file if previous else file
        # Of the process before, until a login is tried.
        self._restored: dict[Account, LoginBackoff] = {} if previous else file.load()

    def of(self, target: Target) -> LoginBackoffs:
        """The backoffs of a target's logins."""
        scrape, sysmon = self._keys(target)
        halted = (target.host, target.port) in self.halted
        return LoginBackoffs(self._find(scrape), self._find(sysmon) if sysmon else None, halted)

    def adopt(self, other: "BackoffRegister", target: Target) -> None:
        """Take over what another register knows of a target's logins."""
        for key in self._keys(target):
            if key in other.backoffs:
                self.backoffs[key] = other.backoffs[key]
        self.halted |= other.halted
        self._save()

    def note(self, target: Target, latest: LoginBackoffs, *, up: bool) -> None:
        """Keep what a scrape of the target reported. up: the server answered, so backoffs that are gone have ended.

        Of a target that was not reached, no backoff says nothing: another one may have the same login.
        """
        keys, before = self._keys(target), dict(self.backoffs)
        ended = False
        if up:
            for each in filter(None, keys):
                self.backoffs.pop(each, None)
                ended |= self._restored.pop(_account(each), None) is not None
        for key, backoff in zip(keys, (latest.scrape, latest.sysmon), strict=True):
            if key and backoff:
                self.backoffs[key] = backoff
        if latest.sysmon_halted:
            self.halted.add((target.host, target.port))
        if ended or self.backoffs != before:
            self._save()

    def _find(self, key: LoginKey) -> LoginBackoff | None:
        return self.backoffs.get(key) or self._restored.get(_account(key))

    def _save(self) -> None:
        current = {_account(key): backoff for key, backoff in self.backoffs.items() if key}
        self._file.save(self._restored | current)

    def _keys(self, target: Target) -> tuple[LoginKey, LoginKey | None]:
        """The keys of the login for scrapes and of the one that runs sp_sysmon, if there is one."""
        place = target.host, target.port
        sysmon = LoginKey(*place, self._auth[target.sysmon.auth]) if target.sysmon else None
        return LoginKey(*place, self._auth[target.auth]), sysmon


def _account(key: LoginKey) -> Account:
    return Account(key.host, key.port, key.auth.user)
