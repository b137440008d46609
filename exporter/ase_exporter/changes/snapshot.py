"""What one look at a server or a host found, and what differs between two looks: pure, no I/O."""

import json
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

# Kinds whose objects people make and remove. Objects of other kinds (options, say) come and go with the
# server's version, which is a change of its own.
_CREATED_KINDS = frozenset({"cache", "binding", "engine", "thread_pool", "database", "hugepages"})
LONGEST_VALUE = 200


class Setting(NamedTuple):
    """A value and, where the server tells both, the value it runs with until the next restart."""

    value: str
    run: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """All objects of one kind, as one source tells of them: object -> attribute ('' for the object itself).

    source: the statement or file. Parts are only compared when both come from the same source, so that a
    server which answers a fallback for a while does not seem to have changed.
    """

    kind: str
    source: str
    objects: Mapping[str, Mapping[str, Setting]]


# key of the part (the kind, and its scope where a kind is read in several parts) -> part
Snapshot = Mapping[str, Part]


@dataclass(frozen=True, slots=True)
class Event:
    """A row of sybsecurity..ch_events. at: Unix time by our clock, as exact as two clocks agree.

    heard: whether an earlier look brought it too; None for the first look, which cannot know.
    """

    at: float
    type: str
    target: str
    element: str
    old: str
    new: str
    who: str
    heard: bool | None = None


@dataclass(frozen=True, slots=True)
class Look:
    """One look. at: Unix time; snapshot: encoded, or None where it equals the one sent before.

    moments: kind -> Unix time at which its present value came to be, for kinds that tell (a restart).
    """

    at: float
    snapshot: bytes | None
    moments: Mapping[str, float] = field(default_factory=dict)
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that is no longer as it was; '' for what is absent."""

    kind: str
    name: str
    old: str
    new: str


def encode(snapshot: Snapshot) -> bytes:
    """A snapshot in few bytes, the same for the same content."""
    data = {
        key: [
            part.kind,
            part.source,
            {
                name: {attribute: list(setting) for attribute, setting in attributes.items()}
                for name, attributes in part.objects.items()
            },
        ]
        for key, part in snapshot.items()
    }
    return zlib.compress(json.dumps(data, sort_keys=True, separators=(",", ":")).encode(), 6)


def decode(data: bytes) -> dict[str, Part]:
    """What `encode` made. ValueError if it is something else."""
    try:
        return {
            key: Part(
                kind,
                source,
                {
                    name: {attribute: Setting(*setting) for attribute, setting in attributes.items()}
                    for name, attributes in objects.items()
                },
            )
            for key, (kind, source, objects) in json.loads(zlib.decompress(data)).items()
        }
    except (zlib.error, TypeError, AttributeError) as error:
        raise ValueError(f"not a snapshot: {error}") from error


def merge(old: Snapshot, new: Snapshot) -> dict[str, Part]:
    """The new snapshot, with the old one's parts where the new look could not read them."""
    merged = {**old, **new}
    databases = new["database"].objects if "database" in new else None
    if databases is not None:
        merged = {
            key: part
            for key, part in merged.items()
            if key in new or part.kind != "binding" or key.partition(":")[2] in ("", *databases)
        }
    return merged


def compare(old: Snapshot, new: Snapshot) -> list[Difference]:
    """What changed between two looks, by kind and name. Parts that only one look could read say nothing."""
    differences: list[Difference] = []
    for key in sorted(old.keys() & new.keys()):
        before, after = old[key], new[key]
        if before.source != after.source:
            continue
        for name in sorted(before.objects.keys() | after.objects.keys()):
            was, now = before.objects.get(name), after.objects.get(name)
            if was is not None and now is not None:
                differences += _attributes(after.kind, name, was, now)
            elif after.kind in _CREATED_KINDS:
                differences.append(Difference(after.kind, name, _summary(was), _summary(now)))
    return [difference for difference in differences if not _follows(difference, differences)]


def shorten(text: str, length: int = LONGEST_VALUE) -> str:
    """A value in one line of bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _follows(difference: Difference, differences: Sequence[Difference]) -> bool:
    """Whether another difference says the same already.

    A restart clears the counters. An engine of the threaded kernel is a thread of a pool: one engine is told
    by its number, several by the pool's size.
    """
    kinds = Counter(other.kind for other in differences)
    resized = any(_resizes_pool(other) for other in differences)
    return (
        (difference.kind == "counters_cleared" and kinds["restart"] > 0)
        or (_resizes_pool(difference) and kinds["engine"] == 1)
        or (difference.kind == "engine" and kinds["engine"] > 1 and resized)
    )


def _resizes_pool(difference: Difference) -> bool:
    return difference.kind == "thread_pool" and difference.name.endswith(": size")


def _attributes(
    kind: str, name: str, was: Mapping[str, Setting], now: Mapping[str, Setting]
) -> Iterable[Difference]:
    known = was.keys() | now.keys() if kind in _CREATED_KINDS else was.keys() & now.keys()
    resized = any(
        attribute.endswith("size") and was.get(attribute) != now.get(attribute) for attribute in known
    )
    for attribute in sorted(known):
        old, new = was.get(attribute, Setting("")), now.get(attribute, Setting(""))
        # The server sets the wash area anew by itself when it resizes a pool.
        if resized and attribute.endswith("wash"):
            continue
        label = f"{name}: {attribute}" if attribute else name
        if old.value != new.value:
            yield Difference(kind, label, shorten(old.value), shorten(new.value))
        elif old.run != new.run and new.run == new.value and old.run is not None:
            # Only a run value that arrives at the configured one is somebody's change taking effect; run
            # values that move elsewhere move by themselves.
            yield Difference(kind, f"{label} (run value)", shorten(old.run), shorten(new.run))


def _summary(attributes: Mapping[str, Setting] | None) -> str:
    if attributes is None:
        return ""
    if "" in attributes:
        return shorten(attributes[""].value)
    return shorten(", ".join(f"{name} {setting.value}" for name, setting in sorted(attributes.items())))
