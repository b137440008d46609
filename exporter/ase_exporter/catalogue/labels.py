"""From the cells of a row to the texts of its labels."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.lookups import lookup
from ase_exporter.catalogue.model import Label
from ase_exporter.table import Table

Row = Sequence[Any]
Texts = tuple[str, ...]

# Tells the instances of Cluster Edition apart.
INSTANCE_LABEL = "instance_id"

# Label texts are made once per distinct row; a table with more distinct rows than this starts over.
_MOST_KNOWN = 50_000


class Labels:
    """The labels of some metrics: names in the order of the wire, and their texts per row.

    places: of the columns that they are made of.
    """

    def __init__(self, labels: Mapping[str, Label], indexes: Mapping[str, int], facts: ServerFacts) -> None:
        self.names = tuple(sorted(labels))
        columns = list(dict.fromkeys(label.column for label in labels.values() if label.column in indexes))
        self.places = [indexes[column] for column in columns]
        self._makers = [_maker(labels[name], columns, facts) for name in self.names]
        self._known: dict[tuple[Any, ...], Texts] = {}

    def texts(self, table: Table) -> list[Texts]:
        """Label values of each row."""
        known = self._known
        if len(known) > _MOST_KNOWN:
            known.clear()
        texts = []
        for raw in table.rows(self.places):
            text = known.get(raw)
            if text is None:
                text = known[raw] = tuple([make(raw) for make in self._makers])
            texts.append(text)
        return texts

    def rest(self, texts: Texts, kept: str) -> Texts:
        """The series of what has no series of its own: `rest` everywhere but in the label `kept`."""
        return tuple([text if name == kept else "rest" for name, text in zip(self.names, texts, strict=True)])


def _maker(label: Label, columns: Sequence[str], facts: ServerFacts) -> Callable[[tuple[Any, ...]], str]:
    absent = label.absent or ""
    if label.column not in columns:
        return lambda raw: absent
    place = columns.index(label.column)
    translate = lookup(label.lookup, facts) if label.lookup else None

    def make(raw: tuple[Any, ...]) -> str:
        value = raw[place]
        if value is None:
            return absent
        text = translate(value) if translate else str(value).strip()
        return label.map.get(text, text)

    return make
