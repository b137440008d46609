"""Filters for the list of changes, parsed from command-line options or a URL's query."""

import time
from collections.abc import Mapping

from ase_exporter.changes.change import HOST, KINDS
from ase_exporter.changes.store import ChangeFilter
from ase_exporter.config.times import moment_option
from ase_exporter.errors import UserError

MAX_LIMIT = 100_000


def parse_filter(parameters: Mapping[str, str], limit: int, mark: str = "") -> ChangeFilter:
    """A filter from target, kind, text, since, until and limit; other parameters are ignored.

    limit: used where the parameters hold none. Raises UserError that names the bad parameter, with mark before it: `--`
    of an option.
    """
    now = time.time()
    target = parameters.get("target") or None
    since = moment_option(f"{mark}since", parameters["since"], now) if parameters.get("since") else None
    until = (
        moment_option(f"{mark}until", parameters["until"], now, since) if parameters.get("until") else None
    )
    if since is not None and until is not None and until < since:
        raise UserError(f"{mark}until: {parameters['until']!r}: expected a time after {mark}since")
    if (kind := parameters.get("kind", "")) and kind not in KINDS:
        raise UserError(f"{mark}kind: {kind!r}: expected one of {', '.join(sorted(KINDS))}")
    return ChangeFilter(
        target="" if target == HOST else target,
        kind=kind,
        text=parameters.get("text", ""),
        since=since,
        until=until,
        limit=_limit(parameters["limit"]) if parameters.get("limit") else limit,
    )


def _limit(text: str) -> int:
    if not text.isdecimal() or len(text) > len(str(MAX_LIMIT)) or not 1 <= int(text) <= MAX_LIMIT:
        raise UserError(f"limit: {text!r}: expected a number from 1 to {MAX_LIMIT}")
    return int(text)
