"""Tables of instant queries, for Grafana 9.3 and later."""

from collections.abc import Sequence
from dataclasses import dataclass
from string import ascii_uppercase
from typing import Any

from dashboards.panels import COLUMNS, Thresholds, by_name, defaults_json, panel_json, steps
from dashboards.queries import Json, rows
from dashboards.sources import described, reason

DASH: Json = {"index": 9, "text": "–", "color": "text"}
UNKNOWN: Json = {"type": "special", "options": {"match": "nan", "result": DASH}}
# Label of a table -> the dashboard that shows more of it, to which a click on a cell leads.
MORE_ABOUT = {
    "instance": "ase-server",
    "spinlock": "ase-contention",
    "cache": "ase-contention",
    "database": "ase-storage",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: a label, or the value of a query.

    bar: draw a gauge; thresholds: colour the cell; none: value that means no data.
    """

    title: str
    label: str = ""
    expr: str = ""
    unit: str = ""
    thresholds: Thresholds = ()
    base: str = "green"
    maximum: float | None = None
    bar: bool = False
    none: str = ""
    width: int | None = None
    decimals: int | None = None

    def override(self, link: str) -> Json:
        """Return how cells look. link: target of a click, "" for none."""
        properties: dict[str, Any] = {"noValue": "–"}
        if self.unit:
            properties["unit"] = self.unit
        elif self.label:
            # Labels may look like numbers: the hash of a statement would be shown as 1.00 Bil.
            properties["unit"] = "string"
        if self.decimals is not None:
            properties["decimals"] = self.decimals
        if self.bar:
            properties |= {"min": 0, "max": self.maximum}
        properties["mappings"] = [] if self.label else [UNKNOWN]
        if self.none:
            properties["mappings"].append({"type": "value", "options": {self.none: DASH}})
        if self.thresholds:
            properties["thresholds"] = steps(self.thresholds, self.base)
            properties["color"] = {"mode": "thresholds"}
            properties["custom.displayMode"] = "gradient-gauge" if self.bar else "color-text"
        if link:
            properties["links"] = [{"title": self.title, "url": link, "targetBlank": False}]
        if self.width:
            properties["custom.width"] = self.width
        return by_name(self.title, **properties)


def labels(**titles: str) -> list[Column]:
    """Columns of labels. titles: by label; a trailing _ keeps a name apart from a word of Python."""
    return [Column(label=label.rstrip("_"), title=title) for label, title in titles.items()]


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table of instant queries, merged on their common labels; only `columns` are shown.

    rows: a query of which only labels are shown. sort: titles of the sort columns, descending, or ascending after "-".
    """

    title: str
    description: str
    columns: Sequence[Column]
    rows: str = ""
    empty: str = ""
    sort: Sequence[str] = ()
    width: int = COLUMNS
    height: int = 8

    def json(self) -> Json:
        exprs = [each for each in (self.rows, *(column.expr for column in self.columns)) if each]
        queries = [rows(each) for each in exprs]
        # As Grafana names them.
        names = {
            each: f"Value #{ascii_uppercase[at]}" if len(exprs) > 1 else "Value"
            for at, each in enumerate(exprs)
        }
        shown = [column.label or names[column.expr] for column in self.columns]
        empty = self.empty or reason(queries)
        organized = {
            "excludeByName": {},
            "indexByName": {name: index for index, name in enumerate(shown)},
            "renameByName": {name: column.title for name, column in zip(shown, self.columns, strict=True)},
        }
        sort = [
            {"displayName": each.removeprefix("-"), "desc": not each.startswith("-")} for each in self.sort
        ]
        return panel_json(
            "table",
            self.title,
            described(self.description, queries),
            queries,
            {
                "defaults": defaults_json("short", empty, steps((), "text"), "thresholds")
                | {"custom": {"align": "auto", "displayMode": "auto", "filterable": False, "inspect": False}},
                "overrides": [column.override(self._link(column.label)) for column in self.columns],
            },
            {"frameIndex": 0, "showHeader": True, "sortBy": sort},
        ) | {
            "transformations": [
                {"id": "merge", "options": {}},
                {"id": "filterFieldsByName", "options": {"include": {"names": shown}}},
                {"id": "organize", "options": organized},
            ]
        }

    def _link(self, label: str) -> str:
        """Return the address of the dashboard that shows more of a label, for the row's server or machine; or ""."""
        of_row = next((column.title for column in self.columns if column.label == "instance"), "")
        if of_row == "Machine":
            uid = "ase-hugepages" if label == "instance" else ""
            chosen = "${host_job:queryparam}&var-host=${__data.fields.Machine}"
        else:
            uid = MORE_ABOUT.get(label, "")
            server = f"var-instance=${{__data.fields.{of_row}}}" if of_row else "${instance:queryparam}"
            chosen = f"${{job:queryparam}}&{server}"
        return f"/d/{uid}?${{__url_time_range}}&${{datasource:queryparam}}&{chosen}" if uid else ""
