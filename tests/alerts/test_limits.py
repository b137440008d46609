"""Limits of one's own: each server, cache or database is judged by its own, and all others by those of all."""

import os
import re
from itertools import product
from pathlib import Path

import pytest
from tests.alerts.shipped import ALERTS, NAMES
from tests.needs import needs_prometheus
from tests.programs import said_by

from ase_exporter.assets import load_yaml
from ase_exporter.errors import UserError
from ase_exporter.rules.definitions import own_rule_files
from ase_exporter.rules.intervals import rule_files
from ase_exporter.rules.limits import Limit, Scope, Thresholds, limitable, own, scopes
from ase_exporter.rules.parameters import parameters

# The cache of one server, a database of another, and two servers that overlap with them.
LIMITS = [
    Limit({"instance": "A"}, {"spinlock.cache_warning": "0.05", "space.warning": "0.8"}),
    Limit({"instance": "A", "spinlock": "log cache"}, {"spinlock.cache_warning": "0.2"}),
    Limit({"spinlock": "log cache"}, {"spinlock.other_warning": "0.3"}),
    Limit({"instance": "B", "spinlock": "hot"}, {"spinlock.cache_warning": "0.15"}),
    Limit({"instance": "B"}, {"spinlock.other_warning": "0.25"}),
]
WRONG = load_yaml(Path(__file__).with_name("wrong_limits.yaml").read_text(encoding="utf-8"))
# A few in every run; the nightly one has all.
SAMPLE = {"AseSpaceLow", "AseConnectionsNearLimit", "AseDeviceSlow"}


def holds(scope: Scope, series: dict[str, str]) -> bool:
    return all(series[label] == value for label, value in scope.equal.items()) and not any(
        series[label] in values for label, values in scope.other.items()
    )


def test_every_series_has_the_limits_of_the_last_that_fits_and_of_no_other() -> None:
    used = {"spinlock.cache_warning", "spinlock.other_warning"}
    found = scopes(LIMITS, used)
    for instance, spinlock in product(["A", "B", "C"], ["log cache", "hot", "cold"]):
        series = {"instance": instance, "spinlock": spinlock}
        wanted = {
            name: value
            for limit in LIMITS
            if limit.where.items() <= series.items()
            for name, value in limit.values.items()
            if name in used
        }
        (scope,) = (each for each in found if holds(each, series))
        assert dict(scope.values) == wanted


def test_a_rule_without_the_parameter_is_left_as_it_is() -> None:
    assert scopes(LIMITS, {"cpu.busy"}) == [Scope()]
    written = own_rule_files(Thresholds({}, LIMITS))
    shipped = rule_files(15)
    heading = written["cpu.alerts.yaml"].splitlines()[0]
    assert heading.startswith(
        "# With instance=A spinlock.cache_warning=0.05 space.warning=0.8, instance=A spinlock="
    )
    changed = {name for name, text in written.items() if text != f"{heading}\n{shipped[name]}"}
    assert changed == {"spinlocks.alerts.yaml", "space.alerts.yaml"}


@pytest.mark.parametrize(
    ("how", "text", "message"), [(how, *each) for how, listed in WRONG.items() for each in listed]
)
def test_a_wrong_file_or_setting_is_refused_in_one_line(
    tmp_path: Path, how: str, text: str, message: str
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(UserError, match=re.escape(message)) as raised:
        own(file) if how == "file" else own(None, [text])
    assert str(raised.value).startswith(str(file)) == (how == "file")
    assert "\n" not in str(raised.value)


def test_a_file_has_thresholds_and_limits_of_some_servers(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    limits = "[{server: A, spinlock: log cache, data_cache: 5%}]"
    file.write_text(f"data_cache: 20%\nspinlock.critical: 0.6\nlimits: {limits}\n")
    found = own(file)
    assert found.values == {"spinlock.cache_warning": "0.2", "spinlock.critical": "0.6"}
    of_a = Limit({"instance": "A", "spinlock": "log cache"}, {"spinlock.cache_warning": "0.05"})
    assert list(found.limits) == [of_a]


@needs_prometheus
@pytest.mark.parametrize(
    "alert", [name if name in SAMPLE else pytest.param(name, marks=pytest.mark.slow) for name in NAMES]
)
def test_servers_whose_limits_are_the_shipped_ones_fire_as_shipped(tmp_path: Path, alert: str) -> None:
    """All other servers have nonsense for a limit, so that one which is forgotten changes what fires."""
    test = ALERTS / "tests" / f"{alert}.test.yaml"
    servers = sorted(set(re.findall(r'instance="([^"]+)"', test.read_text())))
    shipped = {name: parameters()[name] for name in limitable()}
    nonsense = {name: str(round(float(value) * 0.37, 9)) for name, value in shipped.items()}
    limits = [Limit({"instance": server}, shipped) for server in servers]
    for name, text in rule_files(15, own_rule_files(Thresholds(nonsense, limits))).items():
        (tmp_path / name).write_text(text)
    (tmp_path / test.name).write_text(test.read_text().replace("../rules/", f"{tmp_path}/"))
    said_by("promtool", "test", "rules", tmp_path / test.name, env=os.environ | {"TMPDIR": str(tmp_path)})
