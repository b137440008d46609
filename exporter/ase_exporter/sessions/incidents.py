"""Incidents: what was kept of the moment at which a finding began. A bounded number of bounded files."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from operator import itemgetter
from pathlib import Path
from typing import Any

import msgspec

from ase_exporter.errors import UserError
from ase_exporter.regular_files import read_bytes, write_bytes
from ase_exporter.sessions.encode import snapshot_from, snapshot_json
from ase_exporter.sessions.session import Snapshot
from ase_exporter.untrusted.entry import load_json, one_line

FOLDER = "incidents"
# Sessions of one incident, and bytes of its file.
MAX_SESSIONS, MAX_BYTES = 200, 1 << 20
_NAME = re.compile(r"\d{8}T\d{6}Z-[\w.:-]{1,128}\.json")
_UNSAFE = re.compile(r"[^\w.:-]")


class _Row(msgspec.Struct):
    spid: int


class _Content(msgspec.Struct):
    """What is shown of the content of a file, and its types."""

    target: str
    time: datetime
    finding: str
    sessions: list[_Row]
    blocking: list[_Row] = []
    statements: list[dict[str, Any]] = []
    active: dict[str, float] = {}
    account: dict[str, float] = {}
    next: dict[str, list[Any]] = {}
    later: dict[str, float] = {}
    bad: list[str] = []


@dataclass(frozen=True, slots=True)
class Incident:
    """One that was kept. id: of its file. content: as `Incidents.keep` writes it."""

    id: str
    content: Mapping[str, Any]

    @property
    def target(self) -> str:
        return str(self.content.get("target", ""))

    @property
    def finding(self) -> str:
        return str(self.content.get("finding", ""))

    @property
    def at(self) -> float:
        """Unix time."""
        return datetime.fromisoformat(self.content["time"]).timestamp()

    @property
    def snapshot(self) -> Snapshot:
        """Who ran what. Raises UserError if the file holds something else."""
        try:
            return snapshot_from(self.content)
        except ValueError as error:
            raise UserError(f"incident {self.id}: cannot be read: {error}") from error


class Incidents:
    """The incidents below a state directory, the newest `most` of them."""

    def __init__(self, directory: Path, most: int) -> None:
        self._folder = directory / FOLDER
        self._most = most

    def keep(self, target: str, finding: str, snapshot: Snapshot, content: Mapping[str, Any]) -> str:
        """Write one, and forget the oldest of the targets that have most, beyond the limit; returns its id.

        Raises OSError.

        finding: its first word. content: what is known besides, such as `account` (seconds per second by part, as
        recorded), `next` (steps that the diagnosis advises), `bad` (names of findings) and `later` (active sessions
        after the time over which statements were read). Text of statements is left out.
        """
        at = datetime.fromtimestamp(snapshot.at, UTC)
        name = f"{at:%Y%m%dT%H%M%SZ}-{_UNSAFE.sub('_', target)[:128]}"
        found = {
            "target": target,
            "time": at.isoformat(timespec="seconds"),
            "finding": one_line(finding),
            **content,
            **snapshot_json(snapshot.without_text(), MAX_SESSIONS),
        }
        data = json.dumps(found, ensure_ascii=False).encode()
        if len(data) > MAX_BYTES:
            raise OSError(f"an incident of {len(data)} bytes")
        self._folder.mkdir(mode=0o700, exist_ok=True)
        write_bytes(self._folder / f"{name}.json", data)
        for old in self._superfluous():
            old.unlink(missing_ok=True)
        return name

    def all(self) -> Iterator[Incident]:
        """The newest first. A file that cannot be read is left out."""
        for path in self._files():
            try:
                yield self._read(path)
            except UserError:
                continue

    def bad(self) -> dict[str, frozenset[str]]:
        """What was bad about each target when its newest was kept: names of findings."""
        found: dict[str, frozenset[str]] = {}
        for each in self.all():
            found.setdefault(each.target, frozenset(each.content.get("bad", ())))
        return found

    def one(self, name: str) -> Incident:
        """The one of that id. Raises UserError if there is none, or its file is damaged."""
        path = self._folder / f"{name}.json"
        if not _NAME.fullmatch(path.name) or path not in self._files():
            raise UserError("no such incident is kept; /incidents lists them")
        return self._read(path)

    def _superfluous(self) -> list[Path]:
        """Files beyond the limit: a server that is always in trouble takes nothing of the others away."""
        places = Counter[str]()
        order = []
        for path in self._files():
            target = path.stem.partition("-")[2]
            order.append((places[target], path))
            places[target] += 1
        # By place; within one, the newest first.
        order.sort(key=itemgetter(0))
        return [path for _, path in order[self._most :]]

    def _files(self) -> list[Path]:
        found = self._folder.glob("*.json") if self._folder.is_dir() else ()
        return sorted((path for path in found if _NAME.fullmatch(path.name)), reverse=True)

    @staticmethod
    def _read(path: Path) -> Incident:
        try:
            content = load_json(read_bytes(path, MAX_BYTES))
            msgspec.convert(content, _Content)
        except (OSError, ValueError) as error:
            raise UserError(f"incident {path.stem}: cannot be read: {error}") from error
        return Incident(path.stem, content)
