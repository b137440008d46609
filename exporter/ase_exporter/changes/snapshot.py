"""Configuration snapshots of a server or a host, and the differences between two of them. Pure, no I/O."""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from ase_exporter.untrusted.entry import one_line

# Kinds whose objects people create and remove. Objects of other kinds (options, for example) come and go with the
# server's version, which is reported as a change itself.
_CREATED_KINDS = frozenset({"cache", "binding", "engine", "thread_pool", "database", "hugepages"})
MAX_VALUE = 200
# What follows the name of a setting that is without effect until then.
AT_RESTART = " (at the next restart)"


class Setting(NamedTuple):
    """A configured value and, where the server reports both, the run value until the next restart."""

    value: str
    run: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """All objects of one kind from one source: object -> attribute -> setting.

    The attribute is '' for the object itself. source: the statement or file. Only parts of the same source are
    compared, so that a server which answers a fallback for a while does not seem to have changed.
    """

    kind: str
    source: str
    objects: Mapping[str, Mapping[str, Setting]]


# The content of a snapshot: key -> part. The key is the kind, or kind:scope for a kind that is read in several parts.
Parts = Mapping[str, Part]
# Bytes of one: far more than a server has settings.
MAX_DECODED = 64 << 20
_decoder = msgspec.json.Decoder(dict[str, Part])


@dataclass(frozen=True, slots=True)
class Event:
    """A row of sybsecurity..ch_events. at: Unix time on our clock, as exact as the two clocks agree.

    seen_before: whether the previous snapshot had the event; None in the first snapshot.
    """

    at: float
    type: str
    target: str
    element: str
    old: str
    new: str
    who: str
    seen_before: bool | None = None


@dataclass(frozen=True, slots=True)
class ConfigSnapshot:
    """The configuration of one server or host at one time.

    at: Unix time. encoded_parts: see `encode`. moments: kind -> Unix time since which its value holds, for kinds whose
    source has that time (a restart). monotonic: when it was taken by the monotonic clock, if known: the wall clock may
    have jumped since the snapshot before. last_read: key -> Unix time of the last reading of a part that the snapshot
    before lacked.
    """

    at: float
    encoded_parts: bytes
    moments: Mapping[str, float] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    monotonic: float | None = None
    last_read: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Difference:
    """One value that differs between two snapshots; '' if it is absent. part: the key of the part that it is in."""

    kind: str
    name: str
    old: str
    new: str
    part: str = field(default="", compare=False)


def encode(parts: Parts) -> bytes:
    """Parts as compressed JSON; equal parts give equal bytes."""
    return zlib.compress(msgspec.json.encode(parts, order="sorted"), 6)


def decode(data: bytes) -> dict[str, Part]:
    """The parts that `encode` encoded. Raises ValueError for other data."""
    unpacking = zlib.decompressobj()
    try:
        content = unpacking.decompress(data, MAX_DECODED)
        if not unpacking.eof:
            raise ValueError("not an encoded snapshot: cut off, or too large")
        return _decoder.decode(content)
    except (zlib.error, TypeError, msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not an encoded snapshot: {error}") from error


def merge(old: Parts, new: Parts) -> dict[str, Part]:
    """The new parts, completed by the old ones that could not be read this time."""
    merged = {**old, **new}
    databases = new["database"].objects if "database" in new else None
    if databases is not None:
        merged = {
            key: part
            for key, part in merged.items()
            if key in new or part.kind != "binding" or key.partition(":")[2] in ("", *databases)
        }
    return merged


def compare(old: Parts, new: Parts) -> list[Difference]:
    """Differences by kind and name. Parts that only one of the two snapshots has are not compared."""
    differences: list[Difference] = []
    for key in sorted(old.keys() & new.keys()):
        before, after = old[key], new[key]
        if before.source != after.source:
            continue
        for name in sorted(before.objects.keys() | after.objects.keys()):
            was, now = before.objects.get(name), after.objects.get(name)
            if was is not None and now is not None:
                differences += _attributes(key, after.kind, name, was, now)
            elif after.kind in _CREATED_KINDS:
                differences.append(Difference(after.kind, name, _summary(was), _summary(now), key))
    following = _following(differences)
    return [each for each in differences if each.kind not in following]


def bounded(differences: Iterable[Difference], most: int) -> list[Difference]:
    """The first differences of each kind: a server that renames everything each time must not flood the history."""
    found = Counter[str]()
    kept = []
    for each in differences:
        found[each.kind] += 1
        if found[each.kind] <= most:
            kept.append(each)
    return kept


def shorten(text: str, length: int = MAX_VALUE) -> str:
    """A value as one line of limited length."""
    line = one_line(" ".join(text.split()))
    return line if len(line) <= length else line[: length - 1] + "…"


def _following(differences: Iterable[Difference]) -> set[str]:
    """The kinds of differences that follow from others, and are left out.

    A restart clears the counters. An engine of the threaded kernel is a thread of a pool, and comes with its size.
    """
    following = set()
    for each in differences:
        if each.kind == "restart":
            following.add("counters_cleared")
        elif each.kind == "thread_pool" and each.name.endswith(": size"):
            following.add("engine")
    return following


def _attributes(
    part: str, kind: str, name: str, was: Mapping[str, Setting], now: Mapping[str, Setting]
) -> Iterable[Difference]:
    known = was.keys() | now.keys() if kind in _CREATED_KINDS else was.keys() & now.keys()
    resized = any(
        attribute.endswith("size") and was.get(attribute) != now.get(attribute) for attribute in known
    )
    for attribute in sorted(known):
        old, new = was.get(attribute, Setting("")), now.get(attribute, Setting(""))
        # The server recalculates the wash area itself when it resizes a pool.
        if resized and attribute.endswith("wash"):
            continue
        label = f"{name}: {attribute}" if attribute else name
        if old.value != new.value:
            label += AT_RESTART if new.run is not None and new.run == old.run != new.value else ""
            yield Difference(kind, label, shorten(old.value), shorten(new.value), part)
        elif old.run != new.run and new.run == new.value and old.run is not None:
            # A run value that reaches the configured value is a change taking effect. Other movements of run
            # values are the server's own.
            yield Difference(kind, f"{label} (run value)", shorten(old.run), shorten(new.run), part)


def _summary(attributes: Mapping[str, Setting] | None) -> str:
    if attributes is None:
        return ""
    if "" in attributes:
        return shorten(attributes[""].value)
    return shorten(", ".join(f"{name} {setting.value}" for name, setting in sorted(attributes.items())))
