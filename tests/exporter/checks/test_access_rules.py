"""In every scenario, `check` explains what access rules hide from the exporter's login and an administrator sees."""

import pytest
from tests.exporter.simulated import PASSWORD, Simulated, run, scrape

from ase_exporter.catalogue.gaps import Gap
from ase_exporter.changes.detect import ConfigWatcher
from ase_exporter.changes.snapshot import decode
from ase_exporter.checks.target_check import CollectorFailure, TargetReport
from ase_exporter.config import Auth

# The others take long, or differ little. `fleet` has the others' servers, `hostile` has tests of its own.
SCENARIOS = ["failures", "operations"]
FURTHER = ["idle", "quiet-oltp", "memscale", "storm", "vldb"]


def read(server: Simulated, user: str) -> tuple[set[str], set[str], set[str]]:
    """What a login collects and sees changes of: metrics, parts of a snapshot, and kinds that it says are not seen."""
    # In one snapshot, as `check` does it, all databases may refuse.
    watch = ConfigWatcher(60.0, max_refused=100)
    target = server.scraper(Auth(user=user, password=PASSWORD))
    target.watch = watch
    result = scrape(target, 120.0)
    target.close()
    assert result.summary.up
    assert result.config_snapshot is not None
    metrics = {family.name for families in result.collected.values() for family in families if family.samples}
    return metrics, set(decode(result.config_snapshot.encoded_parts)), set(watch.missing)


@pytest.mark.parametrize(
    "scenario", [*SCENARIOS, *(pytest.param(s, marks=pytest.mark.slow) for s in FURTHER)]
)
def test_what_the_login_does_not_see_is_explained(scenario: str) -> None:
    with run("16.0 SP04", scenario, speed=0.0) as server:
        server.advance(600.0)
        all_metrics, all_parts, _ = read(server, "sa")
        for user in ("monitor", "nobody"):
            assert_explained(all_metrics, all_parts, read(server, user), server.check(user).report())


def assert_explained(
    all_metrics: set[str],
    all_parts: set[str],
    seen: tuple[set[str], set[str], set[str]],
    report: TargetReport,
) -> None:
    """all_metrics, all_parts: what an administrator reads; seen: what the login does, by `read`."""
    metrics, parts, unseen = seen
    reasons: list[Gap | CollectorFailure] = [*report.gaps, *report.failures]
    explained = {metric for each in reasons for metric in each.metrics}
    assert all_metrics - metrics <= explained
    closed = {name for name, _ in report.closed_databases}
    lost = {part.partition(":") for part in all_parts - parts}
    assert {database for _, _, database in lost if database} <= closed
    assert {kind for kind, _, database in lost if not database} <= unseen
