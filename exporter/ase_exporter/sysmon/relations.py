"""The rows of a section by their place in the grammar, and the rows that belong to one of them."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from ase_exporter.sysmon.grammar import place
from ase_exporter.sysmon.structure import Row, Section

Names = tuple[str, ...]
Term = tuple[Names, str]


def terms(text: str) -> tuple[Term, ...]:
    """Places joined by ' + ', each the sub-headings and the label of rows, joined by ' / '."""
    places = [tuple(term.split(" / ")) for term in text.split(" + ")]
    return tuple((parts[:-1], parts[-1]) for parts in places)


class Rows:
    """The rows of one section."""

    def __init__(self, section: Section) -> None:
        self.by_place: defaultdict[Term, list[Row]] = defaultdict(list)
        self.blocks: defaultdict[Names, dict[Names, None]] = defaultdict(dict)
        for row in section.rows:
            path, label = place(section.name, row.path, row.label)
            self.by_place[path, label].append(row)
            for depth in range(len(path) + 1):
                self.blocks[path[:depth]][row.path[:depth]] = None

    def of(self, pattern: Names, path: Names, wanted: Sequence[Term]) -> Iterator[Row]:
        """The rows at these places below the same names as a path, as far as the places share its pattern."""
        for term, label in wanted:
            shared = 0
            while shared < min(len(path), len(term)) and pattern[shared] == term[shared]:
                shared += 1
            for row in self.at(term, label):
                if row.path[:shared] == path[:shared]:
                    yield row

    def at(self, path: Names, label: str) -> Iterator[Row]:
        """The rows at a place; a label `*` means every row there that is no total."""
        if label != "*":
            yield from self.by_place.get((path, label), ())
            return
        for (found, name), rows in self.by_place.items():
            if found == path and not name.startswith(("Total ", "Pool Summary", "Server Summary", "Summary")):
                yield from rows
