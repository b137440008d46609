"""A login that the server refused: when it may be tried again, so that no account gets locked."""

import random
from dataclasses import dataclass, field

# ASE may lock a login after a few failures, whenever they happen, so a password that was refused this often
# is not tried again until it has changed or the configuration is loaded anew.
LOGIN_ATTEMPTS = 2
LOGIN_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """The password, how often in a row it was refused, and when it may be tried again (monotonic seconds)."""

    password: str = field(repr=False)
    times: int
    until: float

    def forbids(self, password: str, now: float) -> str:
        """Why this password is not to be tried now; '' if it may be."""
        if password != self.password:
            return ""
        if self.times >= LOGIN_ATTEMPTS:
            return f"refused {self.times} times; waiting for a new password or a reload"
        return "was refused; waiting" if now < self.until else ""


@dataclass(frozen=True, slots=True)
class Refusals:
    """Those of one target: of the login that scrapes, and of the one that runs sp_sysmon."""

    scrape: Refusal | None = None
    sysmon: Refusal | None = None


def refused(before: Refusal | None, password: str, now: float) -> Refusal:
    """One more. The pause is not the same for all, so that many targets do not come back at once."""
    times = before.times if before and before.password == password else 0
    return Refusal(password, times + 1, now + LOGIN_PAUSE * random.uniform(1.0, 2.0))
