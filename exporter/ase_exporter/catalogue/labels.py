"""RowLabels: the label values of a table's rows."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ase_exporter.catalogue.facts import ServerFacts
from ase_exporter.catalogue.lookups import lookup
from ase_exporter.catalogue.model import Label
from ase_exporter.metrics.columns import Columns

LabelValues = tuple[str, ...]

# Tells the instances of Cluster Edition apart.
INSTANCE_LABEL = "instance_id"

# Label values are cached per distinct row; the cache is cleared when it is larger than this.
_MAX_CACHED = 50_000


class RowLabels:
    """The labels of a group of metrics. names: sorted, as exposed. indexes: of the columns they are made from."""

    def __init__(self, labels: Mapping[str, Label], indexes: Mapping[str, int], facts: ServerFacts) -> None:
        self.names = tuple(sorted(labels))
        columns = list(dict.fromkeys(label.column for label in labels.values() if label.column in indexes))
        self.indexes = [indexes[column] for column in columns]
        self._makers = [_maker(labels[name], columns, facts) for name in self.names]
        self._cache: dict[tuple[Any, ...], LabelValues] = {}

    def values(self, table: Columns) -> list[LabelValues]:
        """The label values of each row."""
        cache = self._cache
        if len(cache) > _MAX_CACHED:
            cache.clear()
        values = []
        for cells in table.rows(self.indexes):
            made = cache.get(cells)
            if made is None:
                made = cache[cells] = tuple([make(cells) for make in self._makers])
            values.append(made)
        return values

    def rest(self, values: LabelValues, kept: str) -> LabelValues:
        """The label values of the series for all rows without one of their own: `rest`, except for label `kept`."""
        return tuple(
            [value if name == kept else "rest" for name, value in zip(self.names, values, strict=True)]
        )


def _maker(label: Label, columns: Sequence[str], facts: ServerFacts) -> Callable[[tuple[Any, ...]], str]:
    """A function from the cells of a row to the value of one label."""
    absent = label.absent or ""
    if label.column not in columns:
        return lambda cells: absent
    index = columns.index(label.column)
    translate = lookup(label.lookup, facts) if label.lookup else None

    def make(cells: tuple[Any, ...]) -> str:
        cell = cells[index]
        if cell is None:
            return absent
        text = translate(cell) if translate else str(cell).strip()
        return label.map.get(text, text)

    return make
