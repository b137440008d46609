"""Limits of one's own: each server, cache or database is judged by its own, and all others by those of all."""

import json
import os
import re
import subprocess
from itertools import product
from pathlib import Path

import pytest
from tests.alerts.shipped import ALERTS, NAMES
from tests.needs import needs_prometheus

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
# A few in every run; the nightly one has all.
SAMPLE = {"AseSpaceLow", "AseConnectionsNearLimit", "AseDeviceSlow"}
SPINLOCKS = """
data_cache: 10%
limits:
  - {server: BILLING, data_cache: 5%}
  - {server: BILLING, spinlock: log cache, data_cache: 20%}
"""


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
    ("text", "message"),
    [
        ("limits: {server: A}", "limits: expected a list of {server: NAME, PARAMETER: VALUE}"),
        ("limits: [{server: A}]", "limits[0]: expected {server: NAME, PARAMETER: VALUE}"),
        ("limits: [{data_cache: 5%}]", "limits[0]: expected {server: NAME, PARAMETER: VALUE}"),
        ("limits: [{server: 1, data_cache: 5%}]", "limits[0]: server: expected text without quotes"),
        ("limits: [{server: 'a\"b', data_cache: 5%}]", "limits[0]: server: expected text without quotes"),
        ("limits: [{server: A, data_cash: 5%}]", "limits[0]: data_cash: expected data_cache"),
        ("limits: [{server: A, cache_warning: 5%}]", "cache_warning: expected spinlock.cache_warning"),
        ("limits: [{server: A, server.down_for: 5m}]", "limits[0]: server.down_for: expected "),
        (
            "limits: [{server: A, data_cache: 500%}]",
            "spinlock.cache_warning: 5: expected a ratio from 0 to 1",
        ),
        (
            "limits: [{server: A, cache: c, data_cache: 5%}]",
            "cache: what spinlock.cache_warning limits has no such",
        ),
        (
            "limits: [{server: A, data_cache: 60%}]",
            "limits of A: spinlock.cache_warning 0.6 is over spinlock.critical 0.5",
        ),
        (
            "limits: [{server: A, log.warning: 90%}, {server: A, database: d, log.critical: 85%}]",
            "limits of A, d: log.warning 0.9 is over log.critical 0.85",
        ),
        ("spinlock.critical: 5%", "spinlock.cache_warning 0.1 is over spinlock.critical 0.05"),
        ("data_cash: 5%", "data_cash: expected data_cache"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    with pytest.raises(UserError, match=re.escape(message)) as raised:
        own(file, [])
    assert str(raised.value).startswith(str(file))
    assert "\n" not in str(raised.value)


def test_settings_come_after_the_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("data_cache: 15%\nspinlock.critical: 0.6\n")
    found = own(file, ["data_cache=0.2"])
    assert found.values == {"spinlock.cache_warning": "0.2", "spinlock.critical": "0.6"}


def written_rules(directory: Path, thresholds: Thresholds) -> None:
    for name, text in rule_files(15, own_rule_files(thresholds)).items():
        (directory / name).write_text(text)


def run(test: Path) -> None:
    environment = os.environ | {"TMPDIR": str(test.parent)}
    done = subprocess.run(
        ["promtool", "test", "rules", test], capture_output=True, text=True, env=environment, timeout=600
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


# Waits of 1,000 grabs a second: on the cache of BILLING 7 %, then 4.5 %, then 3 %.
TIME_LINE = {
    ("BILLING", "hot"): "0+1050x80 84000+675x80 138000+450x80",
    ("BILLING", "log cache"): "0+2250x240",
    ("OTHER", "hot"): "0+1050x80 84000+1800x80 228000+1350x80",
    ("OTHER", "log cache"): "0+1050x240",
}


@needs_prometheus
def test_a_server_fires_at_its_own_limit_and_the_others_at_theirs(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(SPINLOCKS)
    written_rules(tmp_path, own(file, []))
    series = []
    for (server, spinlock), waits in TIME_LINE.items():
        labels = f'{{instance="{server}", job="ase", class="data_cache", spinlock="{spinlock}"}}'
        for name, values in (("grabs", "0+15000x240"), ("waits", waits), ("spins", "0+9000000x240")):
            series.append({"series": f"ase_spinlock_{name}_total{labels}", "values": values})
    listed = 'ase:spinlock_contended:ratio{instance="%s", job="ase", class="data_cache", spinlock="hot"}'
    checks = [
        {"expr": "ase:spinlock_contended:ratio", "eval_time": at, "exp_samples": samples}
        for at, samples in {
            # Over its own limit, which is half of the others'.
            "15m": [{"labels": listed % "BILLING", "value": 0.07}],
            # It stays until it is clearly below its own limit; the other one is over the limit of all.
            "35m": [
                {"labels": listed % "BILLING", "value": 0.045},
                {"labels": listed % "OTHER", "value": 0.12},
            ],
            # It is; and 9 % is not clearly below 10 %.
            "55m": [{"labels": listed % "OTHER", "value": 0.09}],
        }.items()
    ]
    test = {
        "rule_files": [str(tmp_path / name) for name in ("spinlocks.rules.yaml", "spinlocks.alerts.yaml")],
        "evaluation_interval": "15s",
        "group_eval_order": ["ase_spinlocks", "ase_spinlock_alerts"],
        "tests": [{"interval": "15s", "input_series": series, "promql_expr_test": checks}],
    }
    (tmp_path / "limits.test.yaml").write_text(json.dumps(test))
    run(tmp_path / "limits.test.yaml")


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
    written_rules(tmp_path, Thresholds(nonsense, limits))
    text = test.read_text().replace("../rules/", f"{tmp_path}/")
    (tmp_path / test.name).write_text(text)
    run(tmp_path / test.name)
