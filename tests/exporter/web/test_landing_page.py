"""The landing page leads from each server to its changes, sessions and dashboard."""

from ase_exporter.scraping.result import ScrapeSummary, TargetState
from ase_exporter.web.app import landing_page


def test_each_server_leads_to_its_changes_and_dashboard() -> None:
    summary = ScrapeSummary(up=True, series=7, unreadable=("spinlocks", "waits"))
    states = {"A/B": TargetState(summary, at=0.0)}
    text = landing_page(states, changed={"A/B": 2}, grafana="https://grafana")
    assert 'href="changes?target=A/B">2 recent changes<' in text
    assert 'href="https://grafana/d/ase-server?var-instance=A/B"' in text
    assert "spinlocks and 1 more cannot be read" in text
