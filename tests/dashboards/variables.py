"""Variables of a dashboard, resolved as Grafana resolves them: in order, by queries at the end of the time range."""

import re
from collections.abc import Mapping
from typing import Any

import httpx2

Json = dict[str, Any]
_NAME = re.compile(r"\$(?:(\w+)|\{(\w+)\})")


def substituted(expr: str, values: Mapping[str, str]) -> str:
    """The expression with variables replaced, as Grafana would send it."""
    return _NAME.sub(lambda match: values.get(match[1] or match[2], match[0]), expr)


def ask(url: str, query: str, at: float) -> list[Json]:
    """The series that Prometheus answers at a Unix time; an error fails the test."""
    asked = {"query": query, "time": f"{at:.3f}"}
    answer = httpx2.get(f"{url}/api/v1/query", params=asked, trust_env=False, timeout=60)
    assert answer.is_success, (query, answer.text)
    result: list[Json] = answer.json()["data"]["result"]
    return result


def choices(url: str, variable: Json, values: Mapping[str, str], at: float) -> list[str]:
    """The values of a variable with query_result(...), the first of which is chosen by default."""
    inner = re.fullmatch(r"query_result\((.*)\)", variable["query"]["query"], re.DOTALL)
    assert inner, variable
    pattern = re.compile(variable["regex"].strip("/").replace("(?<", "(?P<"))
    found = []
    for series in ask(url, substituted(inner[1], values), at):
        labels = {name: value for name, value in series["metric"].items() if name != "__name__"}
        name = series["metric"].get("__name__", "")
        pairs = ",".join(f' {label}="{value}"' for label, value in labels.items())
        text = f"{name}{{{pairs}}}"
        moment, value = series["value"]
        if match := pattern.search(f"{text} {value} {round(float(moment) * 1000)}"):
            found.append(match["value"] if "value" in pattern.groupindex else match[1])
    return found


def resolved(url: str, dashboard: Json, at: float, given: Mapping[str, str]) -> dict[str, str]:
    """The values of all variables: given, the default of a custom variable, or the first of a query's."""
    values = dict(given)
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "custom":
            values.setdefault(variable["name"], variable["current"]["value"])
    for variable in dashboard["templating"]["list"]:
        if variable["type"] == "query" and variable["name"] not in values:
            found = choices(url, variable, values, at)
            values[variable["name"]] = found[0] if found else ""
    return values
