"""The windows before and after a change, as hidden variables of Change impact: the rule of `compare --around`.

"Before" ends when the change was not there yet, "after" begins $settle seconds after it was seen. Both are up to
$window seconds long and stop at other changes, at restarts and where there are no data. Changes that follow each other
within $settle seconds count as one. Times are Unix seconds; subqueries round them to RESOLUTION.
"""

from dashboards.queries import DATASOURCE, SELECTOR, Json

RESOLUTION = "5s"
# How far before and after a change its neighbours are looked for.
REACH = "2h"

_KINDS = f'{SELECTOR},kind!~"annotation|counters_cleared",name!~".* \\\\(at the next restart\\\\)"'
_SEEN = f"ase_change_timestamp_seconds{{{_KINDS}}}"
_NOT_BEFORE = f"ase_change_not_before_timestamp_seconds{{{_KINDS}}}"
_START = f"ase_start_timestamp_seconds{{{SELECTOR}}}"
_SCRAPED = f"(timestamp(ase_up{{{SELECTOR}}}) and ase_up{{{SELECTOR}}} == 1)"


def _seen(at: str) -> str:
    """When changes were seen, as known at a time. A repeated change hides its earlier self, so the time matters."""
    return f"last_over_time({_SEEN}[1h] @ {at})"


def _not_before(at: str) -> str:
    """When these changes were not there yet; exporters before 0.1.0 did not say."""
    return f"(last_over_time({_NOT_BEFORE}[1h] @ {at}) or {_seen(at)})"


def _quiet(*known: str) -> str:
    """The time, where no change may be happening or settling, as known at these times."""
    busy = " or ".join(
        f"count({_not_before(at)} <= time() and {_seen(at)} >= time() - $settle)" for at in known
    )
    return f"(vector(time()) unless on () ({busy}))"


def _extreme(function: str, *bounds: str) -> str:
    """The lowest or highest of some bounds, of which any may be missing."""
    labelled = (
        f'label_replace({function}({bound}), "bound", "{number}", "", "")'
        for number, bound in enumerate(bounds)
    )
    return f"{function}({' or '.join(labelled)})"


def _variable(name: str, expr: str, none: str) -> Json:
    """A hidden variable with the value of an expression, or `none` without data: queries must stay valid."""
    query = f"query_result(clamp_min({expr}, 0) or vector({none}))"
    return {
        "name": name,
        "label": name.replace("_", " "),
        "type": "query",
        "datasource": DATASOURCE,
        "definition": query,
        "query": {"query": query, "refId": name},
        "regex": r"/\} ([0-9.]+) /",
        "hide": 2,
        "refresh": 2,
        "sort": 0,
        "includeAll": False,
        "multi": False,
        "current": {},
    }


def _length(start: str, end: str) -> str:
    """Whole seconds between two times, at least 1: a range must not be empty."""
    return f"floor(clamp_min(vector(({end}) - ({start})), 1))"


_BEFORE_TO = f"max(max_over_time({_quiet('$change', 'end()')}[{REACH}:{RESOLUTION}] @ $change))"
_BEFORE_FROM = _extreme(
    "max",
    "vector($before_to - $window)",
    f"({_seen('$change')} < $before_to) + $settle",
    f"({_seen('end()')} < $before_to) + $settle",
    f"(last_over_time({_START}[1h] @ $before_to) < $before_to) + $settle",
    f"min_over_time({_SCRAPED}[${{window}}s:{RESOLUTION}] @ $before_to)",
)
_SETTLED = f"({_quiet('end()')} > $change + $settle)"
_AFTER_FROM = f"min(min_over_time({_SETTLED}[{REACH}:{RESOLUTION}] @ $change offset -{REACH}))"
_UP_TO_WINDOW = f"[${{window}}s:{RESOLUTION}] @ $after_from offset -${{window}}s"
_AFTER_TO = _extreme(
    "min",
    "vector($after_from + $window)",
    f"{_not_before('end()')} > $after_from",
    f"min_over_time(({_NOT_BEFORE} > $after_from){_UP_TO_WINDOW})",
    f"min_over_time(({_START} > $after_from){_UP_TO_WINDOW})",
    f"max_over_time({_SCRAPED}{_UP_TO_WINDOW})",
)

VARIABLES = (
    _variable("before_to", _BEFORE_TO, "0"),
    _variable("before_from", _BEFORE_FROM, "0"),
    _variable("before", _length("$before_from", "$before_to"), "1"),
    _variable("after_from", _AFTER_FROM, "0"),
    _variable("after_to", _AFTER_TO, "0"),
    _variable("after", _length("$after_from", "$after_to"), "1"),
)
