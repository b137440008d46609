"""Who blocks whom: chains of sessions as trees. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ase_exporter.sessions.session import Session

# A process by its spid, as a number or as a label.
Process = TypeVar("Process", int, str)


@dataclass(frozen=True, slots=True)
class Link:
    """One session of a tree. depth: 0 for one that nobody blocks. blocks: how many wait for it, also indirectly."""

    session: Session
    depth: int
    blocks: int


def blocking_trees(sessions: Iterable[Session]) -> list[Link]:
    """All chains, each blocker above those it blocks; the one for which others have waited longest, in sum, first.

    In a deadlock that is not resolved yet, or where the snapshot caught a session twice, a chain ends where it began.
    """
    by_spid = {each.spid: each for each in sessions}
    below: defaultdict[int, list[Session]] = defaultdict(list)
    for each in by_spid.values():
        if each.blocked_by:
            below[each.blocked_by].append(each)
    for blocker in below.keys() - by_spid.keys():
        by_spid[blocker] = Session(blocker, 0)
    chains = [
        (each.spid, each.blocked_by, each.seconds or 0.0) for waiting in below.values() for each in waiting
    ]
    seen: set[int] = set()
    return [link for root in chain_heads(chains) for link in _tree(by_spid[root], below, seen)]


def whole_trees(links: Iterable[Link]) -> list[list[Link]]:
    found: list[list[Link]] = []
    for each in links:
        if each.depth == 0:
            found.append([])
        found[-1].append(each)
    return found


def relevant_sessions(sessions: Sequence[Session], most: int) -> list[Session]:
    """At most so many, in their order: blockers and whom they block, the longest in their state, the most CPU."""
    if len(sessions) <= most:
        return list(sessions)
    blocks = {link.session.spid: link.blocks for link in blocking_trees(sessions)}
    by_relevance = zip(
        sorted(sessions, key=lambda each: (-blocks.get(each.spid, 0), not each.blocked_by)),
        sessions,
        sorted(sessions, key=lambda each: -(each.cpu or 0.0)),
        strict=True,
    )
    chosen = list(dict.fromkeys(each.spid for row in by_relevance for each in row))
    kept = frozenset(chosen[:most])
    return [each for each in sessions if each.spid in kept]


def chain_heads(blocked: Sequence[tuple[Process, Process, float]]) -> list[Process]:
    """The heads of chains; that for which others have waited longest, in sum, first: short waits end by themselves.

    blocked: process, by whom it is blocked, and for how long.
    """
    blocked_by = {spid: by for spid, by, _ in blocked}
    roots: dict[Process, Process] = {}
    waited: defaultdict[Process, float] = defaultdict(float)
    for spid, _, seconds in blocked:
        path = [spid]
        seen = {spid}
        while path[-1] not in roots and blocked_by.get(path[-1], path[0]) not in seen:
            path.append(blocked_by[path[-1]])
            seen.add(path[-1])
        root = roots.get(path[-1], path[-1])
        roots.update(dict.fromkeys(path, root))
        waited[root] += seconds
    return sorted(waited, key=lambda root: -waited[root])


def _tree(root: Session, below: dict[int, list[Session]], seen: set[int]) -> Iterator[Link]:
    """The tree below a session that is in none yet, without recursion: chains may be long."""
    if root.spid in seen:
        return
    order: list[tuple[Session, int]] = []
    parents: list[int] = []
    # The place of the last session of each depth.
    last = {-1: 0}
    ahead = [(root, 0)]
    while ahead:
        session, depth = ahead.pop()
        if session.spid in seen:
            continue
        seen.add(session.spid)
        parents.append(last[depth - 1])
        last[depth] = len(order)
        order.append((session, depth))
        waiting = sorted(below.get(session.spid, ()), key=lambda each: (each.seconds or 0.0, -each.spid))
        ahead += [(each, depth + 1) for each in waiting]
    blocks = [0] * len(order)
    for place in reversed(range(1, len(order))):
        blocks[parents[place]] += blocks[place] + 1
    for (session, depth), number in zip(order, blocks, strict=True):
        yield Link(session, depth, number)
