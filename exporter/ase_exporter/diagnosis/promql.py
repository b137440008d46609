"""PromQL for what diagnosis.measures calculates of readings."""

import re
from collections.abc import Callable, Sequence

from ase_exporter.catalogue.wait_parts import wait_parts
from ase_exporter.diagnosis.catalogue import MeasureDefinition, Selection, catalogue, threshold
from ase_exporter.diagnosis.measures import pattern
from ase_exporter.untrusted.encoders import promql

# What the series of a selection with these label matchers are: rates, or values.
Read = Callable[[Selection, str], str]


def rows_query(
    measure: MeasureDefinition,
    selector: str,
    read: Read,
    *,
    plus: Sequence[Selection] = (),
    of_server: bool = False,
) -> str:
    """The rows of a measure by the labels of its `by`, before one of them is kept.

    selector: label matchers of the server. read: such as `over` a range. plus: what is added to the numerator, and
    has to be known, too. of_server: each row is divided by the sum of the whole server.
    """
    by = measure.by
    found = " + ".join(grouped(each, by, selector, read) for each in (measure, *plus))
    if measure.per:
        whole = grouped(measure.per, () if of_server else by, selector, read)
        least = "> 0" if measure.per.at_least is None else f">= {threshold(measure.per.at_least)}"
        found = f"({found}) / {'on () group_left () ' if of_server else ''}({whole} {least})"
    if measure.beside:
        floor = f">= {threshold(measure.beside.at_least or '0')}"
        found = f"{found} and {grouped(measure.beside, by, selector, read)} {floor}"
    if measure.times is not None:
        found = f"{threshold(measure.times)} * ({found})"
    if measure.unit == "ratio":
        found = f"clamp_max({found}, 1)"
    if measure.one_minus:
        found = f"1 - {found}"
    if measure.at_most:
        whole = rows_query(catalogue().measures[measure.at_most], selector, read)
        found = f"clamp_max({found}, scalar({whole}))"
    return found


def grouped(selection: Selection, by: Sequence[str], selector: str, read: Read) -> str:
    """The sums of a selection by the values of these labels."""
    limits = [selector, *(_matcher(label, text) for label, text in (selection.where or {}).items())]
    kinds = wait_parts().of_account() if selection.of_account else [""]
    series = [read(selection, ", ".join(filter(None, [*limits, kind]))) for kind in kinds]
    labels = f" by ({', '.join(by)})" if by else ""
    found = f"sum{labels} ({' or '.join(series)})"
    return f"({found} or {grouped(selection.instead, by, selector, read)})" if selection.instead else found


def _matcher(label: str, text: str) -> str:
    found = pattern(text)
    matches, differs = ("=", "!=") if re.fullmatch(r"[\w ]*", found) else ("=~", "!~")
    return f"{label}{differs if text.startswith('!') else matches}{promql(found)}"


def over(window: str) -> Read:
    """Rates, and means of gauges, over a range such as [5m]."""

    def read(selection: Selection, matchers: str) -> str:
        function = "rate" if selection.rate else "min_over_time" if selection.lasting else "avg_over_time"
        return f"{function}({selection.metric}{{{matchers}}}{window})"

    return read


def window_of(seconds: float) -> Read:
    """The range of a query that ends when it is asked."""
    return over(f"[{max(1, int(seconds * 1000))}ms]")
